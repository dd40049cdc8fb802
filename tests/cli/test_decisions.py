from __future__ import annotations

import getpass
import io
import os
import pty
import sys

import pytest
from cli_runs import program, ran
from cli_stores import BAD, GOOD, HOSTILE, as_json, broken, files, fill, printed, refused

from toolpulse import Monitor
from toolpulse._base.canonical import digest
from toolpulse.stores import open_store


def known(url, tool="app.search_docs", key=""):
    """What a store knows of a tool, and its one incident."""
    store = open_store(url)
    try:
        now = store.load(tool, key)
    finally:
        store.close()
    (incident,) = now.incidents.values()
    return now, incident


def test_what_is_accepted_is_learned(any_db, capsys):
    """The planned release is the new normal, for this process and every other one."""
    with Monitor(any_db, background=False, sinks=[]) as monitor:
        for response, times in ((GOOD, 20), (BAD, 7)):
            for _ in range(times):
                monitor.observe("app.search_docs", response)
        (incident,) = monitor.incidents()
        assert printed(capsys, any_db, "accept", "search_docs", "--reason", "planned", "--who", "mia") == [
            f"ACCEPTED  search_docs  2 changes  {incident.id}",
            "  id",
            "  score",
            "7 quarantined responses are learned now; running processes follow within one flush interval",
        ]
        monitor.flush()
        (followed,) = monitor.incidents()
        assert followed.status == "accepted"
        (decision,) = monitor.decisions()
        assert (decision.action, decision.reason, decision.who) == ("accept", "planned", "mia")
        monitor.observe("app.search_docs", BAD)
        assert monitor.health().tools["app.search_docs"].calls == 28
    now, _ = known(any_db)
    assert sum(row.count for row in now.rows.values()) == 28
    assert not now.quarantined


def test_one_change_of_an_incident(db, capsys):
    """The other stays open; its path may be given as anybody writes paths."""
    broken(db)
    _, incident = known(db)
    assert printed(capsys, db, "accept", incident.id, '["score"]', "--reason", "x") == [
        f"ACCEPTED  search_docs  1 change  {incident.id}",
        "  score",
        "responses that show it are learned; running processes follow within one flush interval",
    ]
    now, incident = known(db)
    assert incident.status == "open"
    assert now.quarantined
    assert "it has id, score" in refused(capsys, 64, db, "accept", incident.id, "note", "--reason", "x")
    assert "not a path" in refused(capsys, 64, db, "accept", incident.id, "a..b", "--reason", "x")
    assert "1 quarantined response" not in printed(capsys, db, "accept", incident.id, "id", "--reason", "x")[-1]


@pytest.mark.parametrize(
    ("action", "status", "then"),
    [("reject", "rejected", "never learned"), ("ignore", "ignored", "no longer reported")],
)
def test_what_is_kept_out(db, capsys, action, status, then):
    """Neither lets anything be learned."""
    broken(db)
    before, incident = known(db)
    lines = printed(capsys, db, action, incident.id, "--reason", "x")
    assert lines[0] == f"{status.upper()}  search_docs  2 changes  {incident.id}"
    assert then in lines[-1]
    now, incident = known(db)
    assert incident.status == status
    assert now.quarantined == before.quarantined
    assert as_json(capsys, db, action, "search_docs", "--reason", "x")["decisions"] == []


@pytest.mark.parametrize("action", ["reject", "ignore"])
def test_what_was_accepted_before_stays_known(db, capsys, action):
    """A decision takes back nothing that was learned; whoever wants it out is told how."""
    broken(db)
    _, incident = known(db)
    printed(capsys, db, "accept", incident.id, "--reason", "too fast")
    line = printed(capsys, db, action, incident.id, "--reason", "x")[-1]
    assert "responses that show it are never learned" not in line
    assert "stays known" in line
    assert "baseline import --replace" in line
    assert "toolpulse forget" in line
    assert len(known(db)[0].rows) == 2
    broken(db, tool="app.other")
    assert "stays known" not in printed(capsys, db, action, "other", "--reason", "x")[-1]


def test_names_that_start_with_a_dash(db, capsys):
    """A server may call a tool or a field anything; whoever types it is told how."""
    fill(db, ({"-x": 1, "y": 1}, 20), ({"-x": "s", "y": "s"}, 2), tool="--x")
    for argv in (
        ["accept", "--x", "--reason", "a"],
        ["forget", "--x", "--yes"],
        ["baseline", "export", "--x", "-o", "f"],
    ):
        assert "a dash goes last, after --" in refused(capsys, 64, db, *argv)
    assert "after --" not in refused(capsys, 64, db, "accept", "--reason", "a")
    line = refused(capsys, 64, db, "accept", "--reason", "a")
    assert "INCIDENT|TOOL" in line
    assert "CHANGE" not in line
    incident = known(db, "--x")[1].id
    code, out, err = ran(capsys, "reject", "--reason", "a", "--db", db, "--", "--x", '["-x"]')
    assert (code, err) == (0, "")
    assert out.splitlines()[0].endswith(incident)
    assert out.splitlines()[1] == '  ["-x"]'
    assert ran(capsys, "forget", "--yes", "--db", db, "--", "--x").code == 0


def test_a_decision_as_an_object(db, capsys):
    """A bot that decides gets what was decided and how many responses are learned."""
    broken(db)
    _, incident = known(db)
    found = as_json(capsys, db, "accept", "search_docs", "--reason", "x", "--who", "bot")
    (decision,) = found.pop("decisions")
    assert found == {"schema": 1, "action": "accept", "target": "app.search_docs", "learned": 7}
    assert (decision["incident"], decision["reason"], decision["who"]) == (incident.id, "x", "bot")
    assert decision["time"].endswith("Z")
    again = as_json(capsys, db, "accept", incident.id, "--reason", "x")
    assert (again["decisions"], again["learned"]) == ([], 0)


def test_decided_already(db, capsys):
    """Two people on call do the same thing; the second one is told, and nothing changes."""
    broken(db)
    _, incident = known(db)
    printed(capsys, db, "accept", incident.id, "--reason", "first")
    before, _ = known(db)
    (line,) = printed(capsys, db, "accept", incident.id, "--reason", "second")
    assert "decided before" in line
    assert known(db)[0].decisions == before.decisions
    (line,) = printed(capsys, db, "reject", "search_docs", "--reason", "third")
    assert "nothing is open" in line


def test_the_start_of_an_id(db, capsys):
    """Nobody types twelve digits; four are enough where they say which."""
    broken(db)
    _, incident = known(db)
    assert "is not an incident" in refused(capsys, 64, db, "accept", incident.id[:3], "--reason", "x")
    assert printed(capsys, db, "accept", incident.id[:4], "--reason", "x")[0].endswith(incident.id)


def test_what_stands_for_several_is_refused(db, capsys, monkeypatch):
    """A decision about the wrong thing is worse than none: all candidates are named."""
    monkeypatch.setattr("toolpulse.state.incidents.digest", lambda data: f"abcd{digest(data)}")
    broken(db, tool="app.get")
    broken(db, tool="web.get")
    ids = sorted(known(db, tool)[1].id for tool in ("app.get", "web.get"))
    assert all(name.startswith("abcd") for name in ids)
    for text, names in (("abcd", ids), ("get", ["app.get", "web.get"])):
        line = refused(capsys, 64, db, "reject", text, "--reason", "x")
        assert f"{', '.join(names)}; say which" in line
    broken(db, tool="its.abcd")
    assert "its.abcd" in refused(capsys, 64, db, "reject", "abcd", "--reason", "x")
    broken(db, tool="abcd")
    assert printed(capsys, db, "reject", "abcd", "--reason", "x")[0].split()[1] == "abcd"


@pytest.mark.parametrize("target", ["nothing", "abc", "0000", "0" * 12, "", "search", "docs", "\x1b[2J"])
def test_an_unknown_target_is_wrong_use(db, tmp_path, capsys, target):
    """Nothing is decided, nothing is written."""
    broken(db)
    before = files(tmp_path)
    assert "is not an incident or a tool" in refused(capsys, 64, db, "accept", target, "--reason", "x")
    assert files(tmp_path) == before


@pytest.mark.parametrize("flags", [[], ["--reason", ""], ["--reason", " \t"], ["--reason", "x", "--who", ""]])
def test_a_decision_has_a_reason(db, tmp_path, capsys, flags):
    """The audit trail is for whoever asks why, in a year."""
    broken(db)
    before = files(tmp_path)
    refused(capsys, 64, db, "accept", "search_docs", *flags)
    assert files(tmp_path) == before


def test_words_that_are_no_text_are_refused(db, capsys):
    """An argument in another encoding would stop every sink of the fleet."""
    broken(db)
    assert "text" in refused(capsys, 64, db, "accept", "search_docs", "--reason", "caf\udce9")


def test_who_is_the_login_name(db, capsys, monkeypatch):
    """Whoever is logged in decides; where the system knows no name, nobody is named."""
    broken(db)
    monkeypatch.setattr(getpass, "getuser", lambda: "mia")
    (decision,) = as_json(capsys, db, "accept", "search_docs", "--reason", "x")["decisions"]
    assert decision["who"] == "mia"

    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    (decision,) = as_json(capsys, db, "reject", known(db)[1].id, "--reason", "x")["decisions"]
    assert decision["who"] == ""


def test_hostile_words_are_harmless(db, capsys):
    """A reason may come from a ticket, a name from a server."""
    fill(db, ({HOSTILE: 1}, 20), ({HOSTILE: "x"}, 2), tool=HOSTILE, key=HOSTILE)
    for argv in (["accept"], ["incidents", "--all"]):
        extra = [HOSTILE, "--reason", HOSTILE, "--who", HOSTILE] if argv == ["accept"] else []
        lines = printed(capsys, db, *argv, *extra)
        assert all(line.isprintable() for line in lines)
        assert not any(line.startswith("HIGH forged") for line in lines)
    as_json(capsys, db, "ignore", HOSTILE, "--reason", HOSTILE)


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
