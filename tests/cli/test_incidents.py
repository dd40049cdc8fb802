from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from cli_runs import one_line, ran
from cli_stores import BAD, GOOD, HOSTILE, broken, change, fill, printed, refused, spoil

from toolpulse import Consumer
from toolpulse.cli._kit.times import clock


def listed(capsys, url, *argv) -> list[dict]:
    """Incidents as objects."""
    return [json.loads(line) for line in printed(capsys, url, "incidents", *argv, "--json")]


def test_an_incident_reads_as_the_log_has_it(any_db, capsys):
    """The same form as everywhere, with the id that a decision needs, and the counts of now, not of the last event."""
    broken(any_db)
    fill(any_db, (GOOD, 3), (BAD, 2))
    (found,) = listed(capsys, any_db)
    began = clock(datetime.fromisoformat(found["first_time"]))
    assert printed(capsys, any_db, "incidents") == [
        f"HIGH  search_docs  2 changes  since {began}  9 calls (75%)  {found['id']}",
        "  id     integer -> string  20 of 20 before",
        "  score  number -> string   20 of 20 before",
    ]


def test_an_incident_as_an_object(db, capsys):
    """A program gets all of it: who is hit how hard, each change with its evidence, each decision."""
    fill(db, (GOOD, 20), (BAD, 3), consumers=[Consumer("web", ignore=["score"]), Consumer("billing")])
    (one,) = listed(capsys, db)
    printed(capsys, db, "reject", one["id"], "score", "--reason", "a bug", "--who", "mia")
    (one,) = listed(capsys, db)
    assert (one["schema"], one["tool"], one["key"], one["status"]) == (1, "app.search_docs", "", "open")
    assert (one["risk"], one["risks"], one["count"], one["share"]) == (
        "high",
        {"billing": "high", "web": "high"},
        3,
        1.0,
    )
    assert [(c["path"], c["rule_id"], c["evidence"]) for c in one["changes"]] == [
        ("id", "kind-changed", "20 of 20 before"),
        ("score", "kind-changed", "20 of 20 before"),
    ]
    (decision,) = one["decisions"]
    assert (decision["action"], decision["reason"], decision["who"]) == ("reject", "a bug", "mia")
    assert one["first_time"] <= one["last_time"]
    assert "  decision: reject score: a bug (mia)" in printed(capsys, db, "incidents")


def test_open_ones_and_all(db, capsys):
    """What is over or decided is history; so are additions, which are reported once and never asked about."""
    broken(db, tool="app.open")
    broken(db, tool="app.rejected")
    fill(db, (GOOD, 20), ({**GOOD, "new": 1}, 1), tool="app.noted")
    fill(db, (GOOD, 20), (BAD, 10), (GOOD, 60), tool="app.resolved")
    printed(capsys, db, "reject", "rejected", "--reason", "x")
    assert [one["tool"] for one in listed(capsys, db)] == ["app.open"]
    everything = {one["tool"]: one["status"] for one in listed(capsys, db, "--all")}
    assert everything == {f"app.{name}": name for name in ("open", "rejected", "noted", "resolved")}
    heads = [line for line in printed(capsys, db, "incidents", "--all") if line and not line.startswith(" ")]
    assert [line.split()[-2] for line in heads if "open" not in line] == ["rejected", "noted", "resolved"]
    printed(capsys, db, "reject", "open", "--reason", "x")
    assert printed(capsys, db, "incidents") == ["no open incidents"]
    assert listed(capsys, db) == []
    assert printed(capsys, db, "incidents", "--all", "--tool", "nothing") == ["no incidents"]


def test_filters(db, capsys):
    """Each filter alone and together."""
    broken(db, tool="app.high")
    fill(db, (GOOD, 20), ({**GOOD, "note": None}, 2), tool="web.investigate")
    for flags, expected in [
        ((), ["app.high", "web.investigate"]),
        (("--risk", "high"), ["app.high"]),
        (("--risk", "investigate,availability"), ["web.investigate"]),
        (("--tool", "web.*"), ["web.investigate"]),
        (("high",), ["app.high"]),
        (("web.investigate",), ["web.investigate"]),
        (("high", "--risk", "investigate"), []),
        (("--since", "30m"), ["app.high", "web.investigate"]),
        (("--since", (datetime.now(UTC) + timedelta(hours=1)).isoformat()), []),
    ]:
        assert [one["tool"] for one in listed(capsys, db, *flags)] == expected, flags


def test_one_that_is_still_seen_is_recent(db, capsys):
    """What began long ago and goes on is news of today."""
    broken(db)
    change(db, 'UPDATE toolpulse_incidents SET body = REPLACE(body, \'"first_time":"2\', \'"first_time":"1\')')
    assert len(listed(capsys, db, "--since", "1h")) == 1
    assert f"since 1{str(datetime.now().year)[1:]}-" in printed(capsys, db, "incidents")[0]


def test_names_that_are_not_unique(db, capsys):
    """Two tools of one name must not be mixed up, neither in what is shown nor in what is asked for."""
    broken(db, tool="app.get")
    broken(db, tool="web.get")
    heads = [line.split()[1] for line in printed(capsys, db, "incidents") if line.startswith("HIGH")]
    assert sorted(heads) == ["app.get", "web.get"]
    line = refused(capsys, 64, db, "incidents", "get")
    assert "app.get" in line
    assert "web.get" in line
    assert "not a tool" in refused(capsys, 64, db, "incidents", "nothing")
    assert len(listed(capsys, db, "web.get")) == 1


def test_hostile_names_are_harmless(db, capsys):
    """Tools, keys, fields and consumers may be named by servers nobody controls."""
    names = [HOSTILE, "\u202e\x00\ud800", '"; DROP TABLE toolpulse_rows; --']
    bad = dict.fromkeys(names, 1)
    fill(db, (bad, 20), (dict.fromkeys(names, "x"), 2), tool=HOSTILE, key=HOSTILE, consumers=[Consumer(HOSTILE)])
    lines = printed(capsys, db, "incidents")
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("HIGH forged") for line in lines)
    assert len(lines) == 5
    (one,) = listed(capsys, db)
    assert (one["tool"], one["key"]) == (HOSTILE, HOSTILE)
    assert len(one["changes"]) == 3


def test_times_that_are_none(db, capsys):
    """A store edited by hand is shown as far as it goes."""
    broken(db)
    change(db, "UPDATE toolpulse_incidents SET body = REPLACE(body, 'first_time\":\"2', 'first_time\":\"x')")
    assert "since 0001-01-01" in printed(capsys, db, "incidents")[0]


def test_what_cannot_be_read_is_4(db, capsys):
    """A text that nobody here wrote ends in one line that leads on, and shows nothing of itself."""
    broken(db)
    change(db, "UPDATE toolpulse_incidents SET body = 's3cr3t'")
    line = refused(capsys, 4, db, "accept", "search_docs", "--reason", "x")
    code, out, err = ran(capsys, "incidents", "--db", db)
    assert (code, out) == (4, "no open incidents\n")
    for told_of in (line, one_line(err)):
        assert "toolpulse doctor" in told_of
        assert "s3cr3t" not in told_of


def test_one_tool_that_cannot_be_read_hides_no_other(any_db, capsys):
    """Three hundred tools are not in the dark because the texts of one of them were damaged."""
    broken(any_db)
    broken(any_db, tool=HOSTILE)
    spoil(any_db, HOSTILE)
    for argv in (["incidents"], ["status"], ["incidents", "--json"], ["status", "--json"]):
        code, out, err = ran(capsys, *argv, "--db", any_db)
        assert code == 4
        assert "search_docs" in out
        assert "owned" not in out
        assert "toolpulse doctor" in one_line(err)
        assert "owned" in err
        # who asks about other tools is not kept from an answer, and does not hear of this one
        printed(capsys, any_db, *argv, "--tool", "search_docs")
    printed(capsys, any_db, "incidents", "search_docs")
    (one,) = listed(capsys, any_db, "search_docs")
    code, out, err = ran(capsys, "doctor", "--json", "--db", any_db)
    assert (code, err) == (1, "")
    assert json.loads(out)["store"]["incidents"] == 1
    assert "ACCEPTED" in printed(capsys, any_db, "accept", one["id"], "--reason", "x")[0]
    assert "toolpulse doctor" in refused(capsys, 4, any_db, "accept", HOSTILE, "--reason", "x")


@pytest.mark.parametrize("flags", [["--risk", "red"], ["--since", "yesterday"], ["a", "b"]])
def test_wrong_use(capsys, flags):
    """As for every command."""
    code, out, err = ran(capsys, "incidents", *flags)
    assert (code, out) == (64, "")
    assert one_line(err).startswith("toolpulse: ")
