from __future__ import annotations

import io
import os
import pty
import sys

import pytest
from cli_runs import program
from cli_stores import BAD, GOOD, as_json, broken, files, fill, printed, refused

from toolpulse import Monitor


def test_forgotten_is_forgotten(any_db, capsys):
    """A tool that was rewritten is learned anew, and a process that watches it begins again, too."""
    broken(any_db)
    broken(any_db, tool="app.other")
    with Monitor(any_db, background=False, sinks=[]) as monitor:
        monitor.observe("app.search_docs", BAD)
        (line,) = printed(capsys, any_db, "forget", "search_docs", "--yes")
        assert line == "forgot app.search_docs; running processes follow within one flush interval, and learn anew"
        assert [one["tool"] for one in as_json(capsys, any_db, "status")["tools"]] == ["app.other"]
        assert not [line for line in printed(capsys, any_db, "log", "--json") if "search_docs" in line]
        monitor.observe("app.search_docs", BAD)
        assert monitor.health().tools["app.search_docs"].state == "learning"
    assert "is not a tool" in refused(capsys, 64, any_db, "forget", "nothing", "--yes")


def test_one_key_or_all(db, capsys):
    """The variants of a tool are baselines of their own."""
    for key in ("a", "b", "c"):
        fill(db, (GOOD, 12), key=key)
    assert "has no key 'd'; it has 'a', 'b', 'c'" in refused(
        capsys, 64, db, "forget", "search_docs", "--key", "d", "--yes"
    )
    assert printed(capsys, db, "forget", "search_docs", "--key", "b", "--yes")[0].startswith(
        "forgot app.search_docs [b];"
    )
    found = as_json(capsys, db, "forget", "search_docs", "--yes")
    assert found == {"schema": 1, "tool": "app.search_docs", "forgotten": ["a", "c"]}
    assert printed(capsys, db, "status") == ["no tools"]


def test_forgetting_needs_a_yes(db, tmp_path, capsys, monkeypatch):
    """In a script the flag says it; nothing is asked where nobody answers."""
    broken(db)
    before = files(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert "--yes" in refused(capsys, 64, db, "forget", "search_docs")
    monkeypatch.setattr(sys, "stdin", None)
    assert "--yes" in refused(capsys, 64, db, "forget", "search_docs")
    assert files(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals there")
@pytest.mark.parametrize(
    ("answer", "said"), [("y", "forgot app.search_docs"), ("n", "nothing was forgotten"), ("", "nothing")]
)
def test_a_terminal_is_asked(db, capsys, answer, said):
    """A person confirms; anything but yes is a no, and no fault."""
    broken(db)
    child, terminal = pty.fork()
    if child == 0:
        words = program("forget", "search_docs", "--db", db)
        os.execvpe(words[0], words, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"})
    seen = b""
    try:
        while b"[y/N]" not in seen:
            seen += os.read(terminal, 1000)
        os.write(terminal, answer.encode() + b"\n")
        while True:
            seen += os.read(terminal, 1000)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert b"Forget app.search_docs: baseline, incidents, decisions and events?" in seen
    assert said in seen.decode()
    assert bool(as_json(capsys, db, "status")["tools"]) == (answer != "y")
