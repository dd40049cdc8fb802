from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cli_stores import GOOD, as_json, broken, fill, printed


def test_the_figures_of_a_tool(any_db, capsys):
    """What somebody asks first: is it watched, how much, is anything broken."""
    broken(any_db, fail=2)
    fill(any_db, (GOOD, 4), tool="app.fetch", key="kind=a")
    found = as_json(capsys, any_db, "status")
    fetch, search = found["tools"]
    times = [datetime.fromisoformat(one.pop(name)) for one in (fetch, search) for name in ("first", "last")]
    assert all(timedelta(0) <= datetime.now(UTC) - at + timedelta(seconds=1) < timedelta(minutes=5) for at in times)
    assert search == {
        "tool": "app.search_docs",
        "key": "",
        "state": "watching",
        "calls": 29,
        "errors": 2,
        "observations": 27,
        "learned": 1,
        "quarantined": 1,
        "last_24h": 27,
        "incidents": 1,
        "risk": "high",
    }
    assert (fetch["key"], fetch["state"], fetch["incidents"], fetch["risk"]) == ("kind=a", "learning", 0, None)
    assert found["total"] == {
        "tools": 2, "calls": 33, "errors": 2, "observations": 31, "last_24h": 31, "incidents": 1,
    }  # fmt: skip
    assert found["schema"] == 1


def test_a_line_for_each_tool(db, capsys):
    """A person reads it in columns, with the total below."""
    broken(db, fail=2)
    fill(db, (GOOD, 4), tool="app.fetch", key="kind=a")
    head, fetch, search, blank, total = printed(capsys, db, "status")
    assert head.split() == "tool state calls errors 24h shapes first seen last seen open incidents".split()
    assert fetch.startswith("fetch [kind=a]  learning, 4 of 10      4       0    4  1 ")
    assert search.startswith("search_docs     watching              29       2   27  1 and 1 quarantined ")
    assert search.endswith("  1, worst high")
    assert fetch.endswith("  -")
    assert (blank, total) == ("", "2 tools, 33 calls, 2 errors, 1 open incident")


def test_decided_incidents_are_not_open(db, capsys):
    """Whoever decided wants to see zero."""
    broken(db)
    printed(capsys, db, "reject", "search_docs", "--reason", "a bug of theirs")
    (one,) = as_json(capsys, db, "status")["tools"]
    assert (one["incidents"], one["risk"]) == (0, None)
