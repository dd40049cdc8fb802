from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sqlite3
import sys
import tracemalloc
from pathlib import Path

import pytest

from toolpulse import Baseline, Limits, Monitor
from toolpulse.shape import Walker
from toolpulse.shape.stream import StreamRecord
from toolpulse.shape.text import MOST
from toolpulse.stores import open_store

pytestmark = [pytest.mark.attack, pytest.mark.quick]

sys.path.insert(0, str(Path(__file__).parents[2]))
FAMILIES = importlib.import_module("benchmarks.bench_worst").families()
sys.path.pop(0)

CALLS = 300_000
"""Calls of functions, Python's own included, that a walk may make: a response met for the first time takes half."""


def calls(function):
    """How many functions were called."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in {"call", "c_call"}

    gc.disable()  # a collection calls what others registered with it
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("family", FAMILIES)
def test_no_response_costs_more_than_the_budget(family):
    """A response may come from anyone; what it costs its caller is bounded by counted work, met before or not."""
    value, walker = FAMILIES[family](), Walker()
    assert calls(lambda: walker.observe(value, "auto")) < CALLS
    assert calls(lambda: walker.observe(value, "auto")) < CALLS


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cut_does_not_depend_on_what_was_met_before(family):
    """One response has one shape in every process, though one remembers half of it and another nothing."""
    value, known = FAMILIES[family](), Walker()
    first = known.observe(value, "auto")
    assert known.observe(value, "auto") == first
    part = Walker()
    if isinstance(value, list):
        part.observe(value[len(value) // 2 :])
        assert part.observe(value, "auto") == first
    assert Walker().observe(value, "auto") == first


def test_databases_written_before_there_was_a_limit_of_text_load(tmp_path):
    """A stored tool is older than the library that reads it; the limit its reading does not name is the usual one."""
    place = f"sqlite:///{tmp_path / 'calls.db'}"
    options = {"store": place, "sinks": [], "background": False}
    with Monitor(**options, limits=Limits(elements=7)) as monitor:
        for _ in range(30):
            monitor.observe("search", {"rows": [{"id": 1}]})
    with contextlib.closing(sqlite3.connect(tmp_path / "calls.db")) as database, database:
        [(state,)] = database.execute("select state from toolpulse_tools").fetchall()
        written = json.loads(state)
        assert written["reading"]["limits"].pop("text") == MOST
        database.execute("update toolpulse_tools set state = ?", (json.dumps(written),))
    store = open_store(place)
    try:
        held = store.load("search", "")
    finally:
        store.close()
    assert held.reading.limits == Limits(elements=7)


def test_baselines_written_before_there_was_a_limit_of_text_load(tmp_path):
    """A committed baseline is older than the library that reads it; the limit it does not name is the usual one."""
    path = tmp_path / "search.json"
    Baseline.learn([{"id": 1}] * 20, limits=Limits(elements=7)).save(path)
    written = json.loads(path.read_text("utf-8"))
    assert written["limits"].pop("text") == MOST
    path.write_text(json.dumps(written), "utf-8")
    loaded = Baseline.load(path)
    assert loaded.limits == Limits(elements=7)
    loaded.save(path)
    assert json.loads(path.read_text("utf-8"))["limits"]["text"] == MOST
    assert Baseline.load(path).limits == Limits(elements=7)


def test_a_stream_ends_within_the_budget_of_one_response():
    """The end of a stream sorts what its items showed; items that each stay within the budget must not add up there."""
    stream = StreamRecord(Walker(), "none")
    for item in range(100):
        stream.add({f"a{item}x{n}b": [{f"c{item}x{m}{'d' * 200}": 1} for m in range(20)] for n in range(30)})
    assert calls(lambda: stream.observation(complete=True)) < CALLS // 10
    seen = stream.observation(complete=True)
    assert "work" in {cut.limit for cut in seen.truncations}


def test_many_cuts_in_a_stream_are_one():
    """Each item may be cut in hundreds of places; all of them together are not kept."""
    stream = StreamRecord(Walker(Limits(depth=2)), "none")
    for item in range(100):
        stream.add({f"a{item}x{n}b": {"c": [[]]} for n in range(30)})
    seen = stream.observation(complete=True)
    assert [(cut.path, cut.limit) for cut in seen.truncations] == [("$", "work")]


def test_extra_fields_are_not_copied():
    """A model takes whatever fields a response has; reading it must not take time by their number."""
    pydantic = pytest.importorskip("pydantic")
    open_model = pydantic.create_model("Open", __config__=pydantic.ConfigDict(extra="allow"), id=(int, 1))
    large = open_model(**{f"{n}w": n for n in range(200_000)})
    walker = Walker()
    tracemalloc.start()
    try:
        seen = walker.observe(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert [cut.limit for cut in seen.truncations] == ["elements"]


def test_the_log_says_what_was_cut():
    """A tool whose responses outgrow a budget is told of as any other cut is."""
    told = []
    sink = type("Sink", (), {"emit": lambda self, event: told.append(event)})()
    with Monitor(store="memory:", sinks=[sink], background=False) as monitor:
        for _ in range(30):
            monitor.observe("search", '{"rows":[{"id":1}]}')
        monitor.observe("search", '{"rows":[' + '{"id":1},' * 100_000 + '{"id":1}]}')
        monitor.flush()
    rules = [change.rule_id for event in told for change in event.changes]
    assert rules == ["truncation-changed"]


def test_assertions_are_not_asked_of_text_that_was_not_read():
    """An assertion reads the payload; of one that was not decoded it would say something else."""
    from toolpulse import Consumer

    told = []
    sink = type("Sink", (), {"emit": lambda self, event: told.append(event)})()
    reader = Consumer("reader", assertions={"has rows": lambda payload: bool(payload["rows"])})
    with Monitor(store="memory:", sinks=[sink], consumers=[reader], background=False) as monitor:
        for _ in range(30):
            monitor.observe("search", '{"rows":[{"id":1}]}')
        monitor.observe("search", '{"rows":[' + '{"id":1},' * 100_000 + '{"id":1}]}')
        monitor.flush()
    assert "contract" not in [change.rule_id for event in told for change in event.changes]
