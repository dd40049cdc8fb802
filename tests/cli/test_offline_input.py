from __future__ import annotations

import gzip
import io
import json
import sys

import pytest
from cli_baselines import BEFORE, check
from cli_runs import one_line, ran, ran_apart, write_lines

from toolpulse import Baseline, Consumer

BAD_BASELINES = [
    (b"", "not JSON"),
    (b"[]", "stands where an object should"),
    (b"{}", "schema is missing"),
    (b'{"schema": true}', "schema"),
    (b'{"schema": "1"}', "schema"),
    (b'{"schema": 2}', "schema 2"),
    (b'{"schema": 1}', "not a baseline"),
    (b'{"schema": 1, "x": ', "not JSON"),
    (b"\xff", "not UTF-8"),
    (b"\x1f\x8b\x08", "not UTF-8"),
]


@pytest.mark.parametrize(("data", "reason"), BAD_BASELINES)
def test_a_bad_baseline_is_4_and_one_line(learned, capsys, data, reason):
    """Schema is checked in its order before any content, for show as for check."""
    (learned / "b.json").write_bytes(data)
    for argv in (["show", learned / "b.json"], ["check", "--baseline", learned / "b.json", learned / "after.jsonl"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (4, "")
        assert one_line(err).startswith(f"toolpulse: {learned / 'b.json'}: ")
        assert reason in err


def _broken(change) -> bytes:
    stored = json.loads(Baseline.learn(BEFORE).to_json())
    change(stored)
    return json.dumps(stored).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b["rows"][0].update(fingerprint="0" * 64),
        lambda b: b["rows"][0].update(count=0),
        lambda b: b["rows"][0].update(count=True),
        lambda b: b["rows"][0].update(shape=7),
        lambda b: b["rows"][0].update(cuts=["a..b"]),
        lambda b: b["limits"].update(depth=0),
        lambda b: b.update(unwrap="maybe"),
        lambda b: b.update(maps=["a["]),
        lambda b: b.update(consumers=[{"name": "x", "numeric": "sloppy"}]),
        lambda b: b.update(consumers=[{"nome": "x"}]),
        lambda b: b.update(consumers=[{"name": "x"}, {"name": "x"}]),
        lambda b: b.update(extra=1),
        lambda b: b["rows"][0].update(shape=json.loads("[" * 400 + "]" * 400), fingerprint="0" * 64),
    ],
)
def test_a_tampered_baseline_is_4(learned, capsys, change):
    """A merge conflict settled by hand must not be judged against as if nothing had happened."""
    (learned / "b.json").write_bytes(_broken(change))
    code, out, err = ran(capsys, "check", "--baseline", learned / "b.json", learned / "after.jsonl")
    assert (code, out) == (4, "")
    assert "b.json: " in one_line(err)


def test_bad_input_is_4_and_one_line(learned, capsys):
    """Each way a file can be bad names the file, and the line where there is one."""
    good = b'{"a": 1}\n'
    cut = gzip.compress(good * 1000)[:-30]
    cases = {
        "missing.jsonl": None,
        "empty.jsonl": b"",
        "blank.jsonl": b"\n \n",
        "middle.jsonl": good + b'{"a": \n' + good,
        "middle.jsonl.gz": gzip.compress(good + b'{"a": \n' + good),
        "cut.jsonl.gz": cut,
        "nan.json": b'{"a": NaN}',
        "binary.json": b"\x00\x01\x02",
        "esc\x1b[31m.json": b"{",
    }
    for name, data in cases.items():
        if data is not None:
            (learned / name).write_bytes(data)
        for argv in (
            ["learn", learned / name, "-o", learned / "x.json"],
            ["check", "--baseline", learned / "b.json", learned / name, "--json"],
        ):
            code, out, err = ran(capsys, *argv)
            assert (code, out) == (4, ""), name
            assert one_line(err).startswith("toolpulse: ")
            if name.startswith("middle"):
                assert f"{name}:2: not JSON" in err
    assert not (learned / "x.json").exists()
    for argv in (["learn", learned, "-o", "x.json"], ["show", learned], ["show", learned / "no.json"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (4, "")
        assert one_line(err)


def test_standard_input(learned, capsys, monkeypatch):
    """``-`` makes it a filter, gzip included."""
    for data in ((learned / "after.jsonl").read_bytes(), gzip.compress((learned / "after.jsonl").read_bytes())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code, out, _ = ran(capsys, "check", "--baseline", learned / "b.json", "-", "--json")
        assert code == 1
        assert json.loads(out)["findings"][0]["file"] == "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert "first <stdin>:4" in ran(capsys, "check", "--baseline", learned / "b.json", "-").out


HOSTILE = [
    "\x1b[31mred",
    "a\nHIGH forged",
    "\u202ereversed",
    "[bold]markup[/bold]",
    ":smile:",
    "\x9b2J",
    "k" * 300,
    "",
    "\ud800",
]


def test_hostile_keys_are_harmless(tmp_path, capsys):
    """Key names come from a tool: none may steer a terminal, forge a line or be read as markup."""
    for name in ("r", "after"):
        rows = [dict.fromkeys(HOSTILE, "x" if name == "r" else 1)]
        write_lines(tmp_path / f"{name}.jsonl", *rows)
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    for result in (
        check(capsys, tmp_path),
        check(capsys, tmp_path, "--json"),
        ran(capsys, "show", tmp_path / "b.json"),
        ran(capsys, "show", tmp_path / "b.json", "--json"),
    ):
        assert all(line.isprintable() and line.isascii() for line in result.out.splitlines())
        assert not any(line.startswith("HIGH forged") for line in result.out.splitlines())
        assert "[bold]markup[/bold]" in result.out
        assert ":smile:" in result.out


def test_a_hostile_consumer_name_is_harmless(tmp_path, capsys):
    """A committed baseline comes from a pull request."""
    hostile = [Consumer("x\x1b[2J\ny"), Consumer("y", numeric="strict")]
    Baseline.learn([{"a": 1}] * 3, consumers=hostile).save(tmp_path / "b.json")
    write_lines(tmp_path / "after.jsonl", {"a": "x"})
    for out in (check(capsys, tmp_path).out, ran(capsys, "show", tmp_path / "b.json").out):
        assert all(line.isprintable() for line in out.splitlines())


def test_long_paths_are_not_cut(tmp_path):
    """A path that ends in dots cannot be searched for; a pipe has no width."""
    deep = {"a": 1}
    for _ in range(20):
        deep = {"a_rather_long_field_name": deep}
    write_lines(tmp_path / "r.jsonl", deep)
    write_lines(tmp_path / "after.jsonl", json.loads(json.dumps(deep).replace("1", '"x"')))
    assert ran_apart("learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json").code == 0
    done = ran_apart("check", "--baseline", tmp_path / "b.json", tmp_path / "after.jsonl", COLUMNS="40")
    assert done.code == 1
    assert ".".join(["a_rather_long_field_name"] * 20) + ".a  integer -> string" in done.out
    assert "\x1b" not in done.out


def test_an_ascii_terminal_gets_escapes_and_no_crash(tmp_path):
    """LANG=C is what cron has."""
    write_lines(tmp_path / "r\u00e9\u4e2d.jsonl", {"a": 1})
    done = ran_apart(
        "learn", tmp_path / "r\u00e9\u4e2d.jsonl", "-o", tmp_path / "\u4e2d.json", PYTHONIOENCODING="ascii"
    )
    assert done.code == 0
    assert "\\u4e2d.json" in done.out
