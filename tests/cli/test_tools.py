from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import one_line, ran, ran_apart

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "provenance"
OLD, NEW = EXAMPLES / "tools.json", EXAMPLES / "tools-next.json"

MODULE = '''
def search_docs(q: str, limit: int = 10) -> list:
    """Search."""

def renamed(query: str, limit: int = 10) -> list:
    """Search."""

renamed.__name__ = "search_docs"
TOOLS = [search_docs]
NEXT = [renamed]
'''


def test_fingerprint(capsys):
    """A line for each tool and one for all of them; with --json what the library gives."""
    done = ran(capsys, "tools", "fingerprint", OLD)
    found = json.loads(ran(capsys, "tools", "fingerprint", "--json", OLD).out)
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["search_docs", "get_page", "all"]
    assert found["order"] == ["search_docs", "get_page"]
    assert found["digest"][:12] in done.out
    assert found["tools"]["get_page"]["contract"][:12] in done.out


def test_diff_reports_the_renamed_argument(capsys):
    """The line that somebody acts on: who still sends q, and what it is called now."""
    done = ran(capsys, "tools", "diff", OLD, NEW)
    assert done.code == 1
    (line,) = [line for line in done.out.splitlines() if "search_docs.q " in line]
    assert line.split()[0] == "high"
    assert "a caller that still sends q does not send query" in line
    assert "looks renamed to search_docs.query" in line
    assert ran(capsys, "tools", "diff", OLD, OLD).code == 0
    found = json.loads(ran(capsys, "tools", "diff", "--json", OLD, NEW).out)
    assert [cause["reason"] for cause in found["causes"]] == ["contract", "description"]
    assert found["changes"][0]["pattern"] == "renamed"


def test_pin_and_check(capsys, tmp_path):
    """3 without a pin, 0 the same, 1 a change."""
    pin = ["--pin", tmp_path / "tools.pin.json"]
    missing = ran(capsys, "tools", "check", *pin, OLD)
    assert missing.code == 3
    assert "toolpulse tools pin writes one" in missing.out
    assert ran(capsys, "tools", "pin", *pin, OLD).code == 0
    assert ran(capsys, "tools", "check", *pin, OLD).code == 0
    assert ran(capsys, "tools", "check", *pin, NEW).code == 1
    assert ran(capsys, "tools", "diff", pin[1], NEW).code == 1
    assert ran(capsys, "tools", "diff", pin[1], OLD).code == 0


def test_what_callers_survive_does_not_fail_a_check(capsys, tmp_path):
    """A tool more is news and no failure; --fail-on says otherwise."""
    pin = ["--pin", tmp_path / "pin.json"]
    plain = json.loads(OLD.read_text("utf-8"))
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps({"tools": plain["tools"][:1]}), "utf-8")
    ran(capsys, "tools", "pin", *pin, fewer)
    done = ran(capsys, "tools", "check", *pin, OLD)
    assert done.code == 0
    assert done.out.startswith("CHANGED  added: get_page")
    assert ran(capsys, "tools", "check", *pin, "--fail-on", "info", OLD).code == 1
    found = json.loads(ran(capsys, "tools", "check", *pin, "--json", OLD).out)
    assert (found["code"], found["primary"]) == (0, "added")


def test_live_functions(tmp_path):
    """The functions of a program are its definitions; the module is found from where the command runs."""
    (tmp_path / "my_tools.py").write_text(MODULE, "utf-8")
    assert ran_apart("tools", "pin", "my_tools:TOOLS", cwd=tmp_path).code == 0
    assert ran_apart("tools", "check", "my_tools:search_docs", cwd=tmp_path).code == 0
    done = ran_apart("tools", "check", "my_tools:NEXT", cwd=tmp_path)
    assert done.code == 1
    assert "looks renamed to search_docs.query" in done.out


def test_a_file_goes_before_a_module(capsys, tmp_path, monkeypatch):
    """A file may be called like one; what lies there is what is meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json:dumps").write_text(OLD.read_text("utf-8"), "utf-8")
    assert "search_docs" in ran(capsys, "tools", "fingerprint", "json:dumps").out


@pytest.mark.parametrize("source", ["no_such_module_here:TOOLS", "json:no_such_name", "json.decoder:NaN"])
def test_what_cannot_be_imported_ends_with_4(capsys, source):
    """The type of the error is enough; a module's own text may be anything."""
    done = ran(capsys, "tools", "fingerprint", source)
    assert (done.code, done.out) == (4, "")
    assert source in one_line(done.err)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ('{"tools": 3}', "a list of tool definitions is needed"),
        ('[{"name": "f", "type": "function"}]', "f: its parameters were not written down"),
        ('[{"name": "f", "parameters": {"minimum": NaN}}]', "$[0].parameters.minimum: nan"),
        ('[{"name": "f", "parameters": null}, {"name": "f", "parameters": null}]', "two tools are named f"),
        ('{"kind": "tool pin"}', "schema is missing"),
        ('{"kind": "tool pin", "schema": 9}', "schema 9"),
        ('{"kind": "tool pin", "schema": 1}', "not a tool pin"),
    ],
)
@pytest.mark.parametrize("action", [["fingerprint"], ["check", "--pin", OLD], ["pin", "--pin", "no/such/folder/x"]])
def test_what_cannot_be_judged_ends_with_4(capsys, tmp_path, text, said, action):
    """Before anything is written or compared; one line with the file's name."""
    file = tmp_path / "defs.json"
    file.write_text(text, "utf-8")
    done = ran(capsys, "tools", *action, file)
    assert (done.code, done.out) == (4, "")
    assert said in one_line(done.err)
    assert "defs.json" in done.err


def test_a_pin_that_cannot_be_written_is_wrong_use(capsys, tmp_path):
    """The folder is the caller's."""
    done = ran(capsys, "tools", "pin", "--pin", tmp_path / "none" / "pin.json", OLD)
    assert done.code == 64
    assert "--pin" in one_line(done.err)


def test_hostile_names_are_shown_harmless(capsys, tmp_path):
    """Tools are named by servers."""
    file = tmp_path / "defs.json"
    file.write_text(json.dumps([{"name": "\x1b[31mred", "parameters": {}}]), "utf-8")
    for action in (["fingerprint", file], ["diff", OLD, file], ["pin", "--pin", tmp_path / "p", file]):
        assert "\x1b" not in ran(capsys, "tools", *action).out
