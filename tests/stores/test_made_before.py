"""What the first version kept can be opened by this one, and it goes on from there."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from shared_stores import GOOD, Told

from toolpulse import Baseline, Monitor, Risk, events
from toolpulse._base.paths import format_path
from toolpulse.stores import open_store
from toolpulse.stores.sql.schema import SCHEMA

FOLDER = Path(__file__).parent / "made_before"
KNOWN = json.loads((FOLDER / "known.json").read_text("ascii"))
"""What the code that made the files knew by them."""

CLOCK = 1_790_000_100.0
"""Seconds since 1970; long enough after the files were made that no lease lasts."""

TEXT_ID = {"id": "1", "name": "x", "tags": ["a"]}


def statements(name):
    """The statements of a file."""
    return (FOLDER / name).read_text("ascii").removesuffix(";\n").split(";\n")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """A store on a database that was made before."""
    made = [*statements(f"{request.param}.sql"), *statements("rows.sql")]
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "made.db")) as connection:
            connection.executescript(";\n".join(made))
        url = f"sqlite:///{tmp_path}/made.db"
    else:
        url = request.getfixturevalue("postgres_url")
        import psycopg

        with psycopg.connect(url) as connection:
            for statement in made:
                connection.execute(statement)
    with closing(open_store(url, clock=lambda: CLOCK)) as opened:
        yield opened


def said_of(incident):
    """An incident, in the words of the file."""
    counts = (incident.count, incident.opened, incident.last, incident.reported_at_count, incident.report_count)
    return [incident.status, *counts]


def of_tool(now):
    """What is known of a tool, in the words of the file."""
    return {
        "observations": now.observations,
        "learned": sorted([row.shape.fingerprint, row.count, row.first, row.last] for row in now.rows.values()),
        "quarantined": sorted([one.row.shape.fingerprint, one.row.count] for one in now.quarantined.values()),
        "incidents": {i.id: said_of(i) for i in now.incidents.values()},
        "decisions": {d.id: [d.action, d.incident, d.reason, d.who] for d in now.decisions.values()},
        "maps": [format_path(decision.path) for decision in now.maps_learned],
        "merged": now.merged.observations.count if now.merged else 0,
        "errors": now.calls.errors,
        "cuts": sorted(map(list, now.cuts)),
    }


def test_a_store_of_before_is_known_as_it_was(store):
    """An upgrade must lose nothing, and read nothing as something else."""
    assert [[*name, of_tool(store.load(*name))] for name in store.tools()] == KNOWN["tools"]
    assert [event.id for event in store.events()] == KNOWN["events"]
    assert [event.id for event in store.claim("w", 1000)] == KNOWN["waiting"]
    assert store.schema == SCHEMA
    assert len(store.incidents()) == sum(len(now["incidents"]) for _, _, now in KNOWN["tools"])
    assert store.check() == []


def test_a_store_of_before_is_written_and_read_again_as_it_was(store):
    """What is converted at reading has to be the same once it was written by this version."""
    for name in store.tools():
        before = store.load(*name)
        with store.transaction(*name) as opened:
            opened.save(before)
    store.close()
    assert [[*name, of_tool(store.load(*name))] for name in store.tools()] == KNOWN["tools"]
    assert store.check() == []


def test_a_monitor_goes_on_from_a_store_of_before_and_tells_nothing_anew(store):
    """Whoever upgrades must not be told again of what he knows, and what waited to be sent is sent."""
    told = Told()
    with Monitor(store, sinks=[told], background=False) as monitor:
        for tool in ("open", "accepted", "ignored", "rejected", "unsent"):
            monitor.observe(tool, TEXT_ID)
            monitor.observe(tool, GOOD)
        monitor.flush()
        assert [event.id for event in told.events] == KNOWN["waiting"]
        assert store.load("open", "").observations == 67
        for _ in range(3):
            monitor.observe("open", {**GOOD, "id": None})
        monitor.flush()
        assert [event.tool for event in told.events[len(KNOWN["waiting"]) :]] == ["open"]
        (incident,) = monitor.incidents("unsent")
        monitor.accept(incident.id)
        assert len(store.load("unsent", "").rows) == 2
    assert store.check() == []


def test_a_baseline_file_of_before_is_read():
    """Baselines are committed beside the code of those who use them."""
    baseline = Baseline.load(FOLDER / "baseline.json")
    assert baseline.observations == 43
    assert [format_path(decision.path) for decision in baseline.maps_learned] == ["stock"]
    assert baseline.check([{**GOOD, "stock": {"new": 1}}]).risk == Risk.QUIET
    assert baseline.check([{**TEXT_ID, "stock": {"new": 1}}], consumer="reader").risk == Risk.HIGH
    made, written = json.loads((FOLDER / "baseline.json").read_bytes()), json.loads(baseline.to_json())
    limits = {name: written["limits"][name] for name in made["limits"]}
    assert {**written, "limits": limits} == made, "but for limits that came later"


def test_an_event_log_of_before_is_read():
    """Logs are kept for longer than a version is."""
    lines = (FOLDER / "drift.jsonl").read_bytes().splitlines()
    sent = [name for name in KNOWN["events"] if name not in KNOWN["waiting"]]
    read = [events.decode(line) for line in lines]
    assert [event.id for event in read] == sent
    assert [events.encode(event) for event in read] == lines
