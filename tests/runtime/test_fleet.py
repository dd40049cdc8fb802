from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from fleet import EVERYWHERE, GOOD, HERE_ONLY, TOOL, expected, launch
from scripts import environment, logged

from toolpulse import shape_of
from toolpulse.stores import open_store
from toolpulse.stores.base import LEASE

pytestmark = [pytest.mark.attack, pytest.mark.quick, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")]

LATER = 10 * LEASE


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A new database of each kind."""
    return f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def sqlite_url(tmp_path):
    """A new file."""
    return f"sqlite:///{tmp_path}/t.db"


def assert_exact(url, folder, processes, calls):
    """What is in the store and in the drift log is what the processes saw together, no more and no less."""
    store = open_store(url, clock=lambda: time.time() + LATER)
    known = store.load(TOOL, "")
    rows = [*known.rows.values(), *(held.row for held in known.quarantined.values())]
    shapes, errors = expected(processes, calls)
    assert known.merged is None
    assert known.observations == shapes.total() == processes * calls - errors
    assert _counts(rows) == shapes
    assert (min(row.first for row in rows), max(row.last for row in rows)) == (1, known.observations)
    assert (known.calls.calls, known.calls.errors) == (processes * calls, errors)
    assert known.calls.types == {"ToolError": errors}
    assert_told_once(store, known, folder, shapes)
    assert store.check() == []
    assert sum(store.traffic(TOOL, "", 0).values()) == known.observations
    store.close()


def _counts(rows):
    counts = Counter()
    for row in rows:
        counts[row.shape.fingerprint] += row.count
    return counts


def assert_told_once(store, known, folder, shapes):
    """Each break is one incident with all its sightings, and each event that is kept was given to the sink, once."""
    breaks = {i.findings[0].path: i for i in known.incidents.values() if i.risk.is_news}
    assert len(breaks) == sum(incident.risk.is_news for incident in known.incidents.values())
    assert breaks.keys() == {"id", "tags"}
    for path, response in {"id": EVERYWHERE, "tags": HERE_ONLY}.items():
        assert breaks[path].count == shapes[shape_of(response).fingerprint]
        assert len(breaks[path].keys) == 1
    told = logged(folder)
    ids = [event.id for event in told]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {event.id for event in store.events()}
    statuses = Counter((event.status, event.incident) for event in told)
    assert statuses["learned", None] == 1
    assert {incident: n for (status, incident), n in statuses.items() if status == "open"} == {
        incident.id: 1 for incident in breaks.values()
    }
    assert store.claim("somebody", 100) == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_fleet_counts_and_tells_as_one(method, url, tmp_path):
    """Any number of processes on one store must add up to the last call, and none tells what another told."""
    launch(url=url, folder=str(tmp_path), processes=4, calls=1500, method=method, ends=["close", "normal"])
    assert_exact(url, tmp_path, 4, 1500)


def test_workers_of_a_pre_fork_server_count_and_tell_as_one(url, tmp_path):
    """The master observes, then forks in the middle of a flush; no call of it may count twice or be lost."""
    ends = ["close", "os._exit", "normal", "SIGTERM"]
    launch(url=url, folder=str(tmp_path), processes=4, calls=1000, method="prefork", ends=ends)
    assert_exact(url, tmp_path, 4, 1000)


def test_processes_that_leave_in_every_documented_way_lose_nothing(sqlite_url, tmp_path):
    """By os._exit after a flush, by SIGTERM with a handler, by close and by coming to an end."""
    ends = ["os._exit", "SIGTERM", "close", "normal"]
    launch(url=sqlite_url, folder=str(tmp_path), processes=4, calls=600, method="fork", ends=ends)
    assert_exact(sqlite_url, tmp_path, 4, 600)


def test_tasks_of_a_process_pool_count_and_tell_as_one(sqlite_url, tmp_path):
    """A pool's processes take one task after the other and leave without exit handlers of the interpreter."""
    launch(url=sqlite_url, folder=str(tmp_path), processes=5, calls=400, method="pool", ends=["normal"])
    assert_exact(sqlite_url, tmp_path, 5, 400)


def _start(folder, code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", code, *arguments],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


STARTING = """
import multiprocessing, sys
from toolpulse.stores import open_store
from toolpulse.stores.sql.schema import SCHEMA

def begin(urls, together):
    for url in urls:
        store = open_store(url)
        together.wait(20)
        with store.transaction("t", "", "w"):
            pass
        assert store.schema == SCHEMA
        store.close()

urls, context = sys.argv[1:], multiprocessing.get_context("fork")
together = context.Barrier(5)
processes = [context.Process(target=begin, args=(urls, together)) for _ in range(5)]
for process in processes:
    process.start()
for process in processes:
    process.join()
assert [process.exitcode for process in processes] == [0] * 5
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_start_together_make_the_tables_once(kind, request, tmp_path):
    """A fleet that is deployed for the first time starts all at once, and the first transaction of none may fail."""
    if kind == "sqlite":
        urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(100)]
    else:
        server = request.getfixturevalue("postgres")
        databases = [server.new_database() for _ in range(10)]
        urls = [server.url(name) for name in databases]
    assert _start(tmp_path, STARTING, *urls).communicate(timeout=90) == ("", "")


IMPORTING = """
import sys, threading, time

class Finder:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            print(name, flush=True)

sys.meta_path.insert(0, Finder())
from toolpulse import Monitor
from toolpulse.sinks.jsonl import JsonlSink
with Monitor(sys.argv[1], sinks=[JsonlSink()], flush_interval=0.01) as monitor:
    for number in range(30):
        monitor.observe("t", {"a": number, "b": [1]})
    monitor.observe("t", {"a": "x"})
    while monitor.health().waiting or monitor.health().sinks["JsonlSink"] != "ok":
        time.sleep(0.005)
"""


def test_no_module_is_imported_by_a_thread_of_ours(url, tmp_path):
    """A child that is forked meanwhile would wait for that module, or that codec, for ever."""
    assert _start(tmp_path, IMPORTING, url).communicate(timeout=60) == ("", "")
    assert [event.status for event in logged(tmp_path)] == ["learned", "open"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_large_fleet_counts_and_tells_as_one(url, tmp_path):
    """The figure that the documentation promises: eight processes with twenty thousand calls each."""
    launch(
        url=url, folder=str(tmp_path), processes=8, calls=20_000, method="spawn", ends=["close", "normal"], timeout=800
    )
    assert_exact(url, tmp_path, 8, 20_000)


RUNNING = """
import json, sys, time
from pathlib import Path
from toolpulse import DriftError, Monitor
from toolpulse.sinks.jsonl import JsonlSink

name, url = sys.argv[1:]
GOOD, BREAK = {good!r}, {broken!r}
monitor = Monitor(url, sinks=[JsonlSink(name + ".jsonl")], flush_interval=0.05,
                  on_drift="raise" if name == "raising" else "log")
raised = 0

def observe(response):
    global raised
    try:
        monitor.observe({tool!r}, response)
    except DriftError:
        raised += 1

for _ in range(40):
    observe(GOOD)
observe(BREAK)
assert monitor.flush(60)
Path(name + ".ready").touch()
deadline = time.monotonic() + 60
while [i.status for i in monitor.incidents()] != ["accepted"]:
    assert time.monotonic() < deadline, monitor.incidents()
    if name != "idle":
        observe(GOOD)
        observe(BREAK)
    time.sleep(0.01)
accepted, before = monitor.incidents()[0].count, raised
for _ in range(50):
    if name != "idle":
        observe(BREAK)
assert monitor.flush(60)
print(json.dumps({{
    "raised before": before, "raised after": raised - before, "incidents": monitor.health().tools[{tool!r}].incidents,
    "swallowed": monitor.health().swallowed, "decisions": [d.reason for d in monitor.decisions()],
}}))
monitor.close()
"""

DECIDING = """
import sys, time
from toolpulse._base.times import iso_time
from toolpulse.runtime.decisions import decide
from toolpulse.stores import open_store
store = open_store(sys.argv[1])
(taken,) = decide(store, "accept", {tool!r}, reason="meant so", who="me", time=iso_time(time.time()))
store.close()
"""


def _of_a_tool(code):
    return code.format(good=GOOD, broken=EVERYWHERE, tool=TOOL)


def test_a_decision_reaches_every_process(url, tmp_path):
    """Whoever accepts a change does so once, for processes that are calling and for one that is idle."""
    names = ["calling", "raising", "idle"]
    running = {name: _start(tmp_path, _of_a_tool(RUNNING), name, url) for name in names}
    try:
        while not all((tmp_path / f"{name}.ready").exists() for name in names):
            assert all(process.poll() in (None, 0) for process in running.values())
            time.sleep(0.02)
        deciding = _start(tmp_path, _of_a_tool(DECIDING), url)
        assert deciding.communicate(timeout=60)[1] == ""
        said = {}
        for name, process in running.items():
            out, err = process.communicate(timeout=100)
            assert process.returncode == 0, err
            said[name] = json.loads(out)
            assert err == ""
    finally:
        for process in running.values():
            process.kill()
    assert said["raising"].pop("raised before") > 0
    for one in said.values():
        one.pop("raised before", None)
        assert one == {"raised after": 0, "incidents": 0, "swallowed": 0, "decisions": ["meant so"]}
    store = open_store(url)
    known = store.load(TOOL, "")
    assert [incident.status for incident in known.incidents.values()] == ["accepted"]
    assert known.quarantined == {}
    told = [event for log in sorted(tmp_path.glob("*.jsonl")) for event in logged(tmp_path, log.name)]
    # on_drift="raise" judges beside the store while it learns, so `learned` may be told by two, under one id
    assert Counter({event.id: event.status for event in told}.values()) == {"learned": 1, "open": 1, "accepted": 1}
    assert Counter(event.status for event in told)["open"] == 1
    store.close()
