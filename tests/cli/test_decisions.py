from __future__ import annotations

import getpass

import pytest
from cli_runs import ran
from cli_stores import BAD, GOOD, HOSTILE, as_json, broken, files, fill, known, printed, refused

from toolpulse import Monitor


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
