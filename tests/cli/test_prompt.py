from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from cli_runs import one_line, ran

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "provenance"
SPEC = json.loads((EXAMPLES / "answer.json").read_text("utf-8"))


@pytest.fixture
def spec(tmp_path):
    """Write a spec that differs from the published one, and say where."""

    def write(name="spec.json", **change):
        path = tmp_path / name
        path.write_text(json.dumps({**SPEC, **change}), "utf-8")
        return path

    return write


def test_the_published_fingerprint(capsys, spec):
    """A script takes the one line; notes are on the other stream."""
    done = ran(capsys, "prompt", "fingerprint", spec())
    assert (done.code, done.out) == (0, "11ea553565b5\n")
    assert "schema is a label" in one_line(done.err)
    assert ran(capsys, "prompt", "fingerprint", spec(temperature=0)).out == "11ea553565b5\n"
    full = ran(capsys, "prompt", "fingerprint", "--full", spec()).out
    assert full == "11ea553565b5b03c9f7b98a150a4142c3d4a11f0f46cf4f432908adf23ebbf00\n"
    assert ran(capsys, "prompt", "fingerprint", "--length", "16", spec()).out == full[:16] + "\n"


def test_key_from_the_environment(capsys, spec, monkeypatch):
    """A key on the command line would be in the shell's history."""
    monkeypatch.setenv("PROMPT_KEY", "k")
    done = ran(capsys, "prompt", "fingerprint", "--full", "--json", "--key-env", "PROMPT_KEY", spec())
    found = json.loads(done.out)
    assert found["fingerprint"] == "646beea99014a992cfa1d586a321e6e70d09dd46692809001e30d230f66a4d55"
    assert (found["schema"], found["kind"], found["keyed"]) == (1, "release", True)
    for value in ("", None):
        monkeypatch.setenv("PROMPT_KEY", value) if value is not None else monkeypatch.delenv("PROMPT_KEY")
        done = ran(capsys, "prompt", "fingerprint", "--key-env", "PROMPT_KEY", spec())
        assert done.code == 64
        assert "PROMPT_KEY is empty or not set" in one_line(done.err)


def test_rendered_text(capsys, tmp_path):
    """The request's fingerprint is of the file's bytes, the last line break included."""
    file = tmp_path / "rendered.txt"
    file.write_bytes(b"abc")
    assert ran(capsys, "prompt", "fingerprint", "--rendered", file).out == "ba7816bf8f01\n"
    file.write_bytes(b"abc\n")
    assert ran(capsys, "prompt", "fingerprint", "--rendered", file).out != "ba7816bf8f01\n"


def test_standard_input(capsys, monkeypatch):
    """A spec that a program prints need not become a file."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(SPEC).encode()), "utf-8"))
    assert ran(capsys, "prompt", "fingerprint", "-").out == "11ea553565b5\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model": "m", "system": "", "template": "", "temperature": NaN}', "$.temperature: nan"),
        ('{"model": "m", "system": "", "template": "", "temperature": true}', "$.temperature: a number is needed"),
        ('{"model": "m", "model": "n"}', "$.model: key given twice"),
        ('{"model": "m"}', "no system and no template"),
        ("[]", "a spec is an object, not list"),
        ('{\n"model" 1}', "spec.json:2: not JSON"),
        ("", "not JSON"),
    ],
)
def test_what_cannot_be_judged_ends_with_4(capsys, tmp_path, text, said):
    """One line that names the file or the field, and no value."""
    file = tmp_path / "spec.json"
    file.write_text(text, "utf-8")
    done = ran(capsys, "prompt", "fingerprint", file)
    assert (done.code, done.out) == (4, "")
    assert said in one_line(done.err)


def test_a_file_that_is_not_there(capsys, tmp_path):
    """The name is shown as it was given."""
    done = ran(capsys, "prompt", "diff", tmp_path / "none.json", tmp_path / "none.json")
    assert done.code == 4
    assert "none.json: No such file" in one_line(done.err)


def test_partial(capsys, tmp_path):
    """A spec without its text is taken where somebody says so."""
    file = tmp_path / "spec.json"
    file.write_text('{"model": "m"}', "utf-8")
    assert ran(capsys, "prompt", "fingerprint", "--partial", file).code == 0


def test_diff(capsys, spec):
    """0 the same, 1 changed; values only when asked for."""
    same = ran(capsys, "prompt", "diff", spec(), spec("b.json", temperature=0))
    assert (same.code, same.out) == (0, "SAME  both are 11ea553565b5\n")
    other = spec("b.json", system="hunter2")
    done = ran(capsys, "prompt", "diff", spec(), other)
    assert done.code == 1
    assert done.out.splitlines()[1] == "  system  string  the value differs"
    found = json.loads(ran(capsys, "prompt", "diff", "--json", spec(), other).out)
    assert (found["schema"], found["code"], found["primary"]) == (1, 1, "changed")
    assert found["causes"] == [{"reason": "changed", "where": "", "names": ["system"]}]
    assert "hunter2" not in done.out + json.dumps(found)
    assert "hunter2" in ran(capsys, "prompt", "diff", "--values", spec(), other).out


def test_the_ledger(capsys, spec, tmp_path):
    """3 without a record, 0 the same, 1 changed or a label used twice."""
    store = ["--store", tmp_path / "ledger"]
    assert ran(capsys, "prompt", "check", *store, "answer", spec()).code == 3
    assert ran(capsys, "prompt", "record", *store, "--label", "v1", "answer", spec()).code == 0
    assert ran(capsys, "prompt", "check", *store, "answer", spec()).code == 0
    changed = ran(capsys, "prompt", "check", *store, "answer", spec("b.json", temperature=1))
    assert changed.code == 1
    assert "temperature" in changed.out
    reused = ran(capsys, "prompt", "record", *store, "--label", "v1", "answer", spec("b.json", temperature=1))
    assert reused.code == 1
    assert reused.out.startswith("LABEL REUSED")
    bumped = ran(capsys, "prompt", "record", *store, "--label", "v2", "--json", "answer", spec())
    assert bumped.code == 0
    assert json.loads(bumped.out)["primary"] == "empty_bump"


def test_wrong_use(capsys, spec, tmp_path):
    """A bad name, a bad length and a folder that cannot be written are the caller's, so 64."""
    (tmp_path / "file").write_text("", "utf-8")
    for words in (
        ["prompt"],
        ["prompt", "fingerprint", "--length", "65", spec()],
        ["prompt", "fingerprint", "--length", "0", spec()],
        ["prompt", "record", "../x", spec()],
        ["prompt", "record", "--store", tmp_path / "file", "answer", spec()],
    ):
        done = ran(capsys, *words)
        assert (done.code, done.out) == (64, ""), words
        assert one_line(done.err.splitlines()[-1])


def test_hostile_names_are_shown_harmless(capsys, tmp_path):
    """A field's name may hold what a terminal acts on."""
    sides = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"\x1b[31m": name}), "utf-8")
        sides.append(path)
    done = ran(capsys, "prompt", "diff", *sides)
    assert done.code == 1
    assert "\x1b" not in done.out
