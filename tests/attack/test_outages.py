"""Databases that are locked or full of others for long, met with the settings of production."""

from __future__ import annotations

import time
from contextlib import ExitStack

import psycopg
import pytest
from programs import whole

from toolpulse.stores import open_store

pytestmark = pytest.mark.attack

LOCK = 20.0
"""Seconds for which somebody else holds the file: four times as long as a transaction waits for it."""

CALLING = """
url = sys.argv[1]
monitor = Monitor(url, sinks=[JsonlSink("drift.jsonl")])
calls, slowest = 0, 0.0

def observe(response):
    global calls, slowest
    began = time.perf_counter()
    monitor.observe("t", response)
    slowest = max(slowest, time.perf_counter() - began)
    calls += 1

for _ in range(20):
    observe(GOOD)
assert monitor.flush(60)
Path("running").touch()
while not Path("stop").exists():
    observe(BREAK if calls % 10 == 0 else GOOD)
    if monitor.health().store == "retrying":
        Path("down").touch()
    time.sleep(0.001)
ok = monitor.flush(60)
health = monitor.health()
print(json.dumps([calls, slowest, ok, health.store, health.waiting]))
monitor.close()
"""


def _nothing_is_lost(program, folder, url):
    (folder / "stop").touch()
    (calls, slowest, *state), warnings = program.result()
    assert state == [True, "ok", 0]
    assert slowest < 1.0
    assert len(warnings) == 1
    store = open_store(url)
    known = whole(store)
    assert known.observations == known.calls.calls == calls
    assert [incident.count for incident in known.incidents.values()] == [
        held.row.count for held in known.quarantined.values()
    ]
    store.close()


def test_a_file_that_is_locked_for_twenty_seconds_costs_no_call(start, tmp_path):
    """A backup holds the file as long as it takes: calls go on at their own speed, and all is there afterwards."""
    import sqlite3

    url = f"sqlite:///{tmp_path}/t.db"
    program = start(CALLING, url)
    program.wait_for("running")
    other = sqlite3.connect(tmp_path / "t.db", isolation_level=None, timeout=60)
    other.execute("BEGIN IMMEDIATE")
    until = time.monotonic() + LOCK
    program.wait_for("down")
    program.wait_until(lambda: time.monotonic() > until)
    other.execute("ROLLBACK")
    other.close()
    _nothing_is_lost(program, tmp_path, url)


def test_a_server_without_a_free_connection_costs_no_call(start, postgres, postgres_url, tmp_path):
    """Another program takes all connections there are, the monitor's too, and keeps them for a while."""
    program = start(CALLING, postgres_url)
    program.wait_for("running")
    with ExitStack() as taken:
        first = taken.enter_context(psycopg.connect(postgres_url, autocommit=True))
        while not (tmp_path / "down").exists():
            try:
                taken.enter_context(psycopg.connect(postgres_url))
            except psycopg.OperationalError:
                _cut_ours(first)
    _nothing_is_lost(program, tmp_path, postgres_url)


def _cut_ours(connection):
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolpulse'")
