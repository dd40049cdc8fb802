# ruff: noqa: D102
from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from shared_stores import RESPONSES, monitors, untimed

from toolpulse import Monitor
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick]

UNSAVED = ("begin", "save", "decided")
"""Where a flush that fails has saved nothing."""

SAVED = ("commit", "sent", "claim")
"""Where a flush that fails has saved everything, which it does not know in the first case."""


class Down(MemoryStore):
    """A store that fails, as long as it is down, in the ways named."""

    def __init__(self, *ways):
        super().__init__()
        self.ways = ways
        self.asked = 0
        self.saved = 0
        """How many transactions have saved something."""

    def _fail(self, way):
        self.asked += 1
        if way in self.ways:
            raise OSError("connection refused by db.example.org")

    @contextmanager
    def transaction(self, tool, key, writer=""):
        self._fail("begin")
        with super().transaction(tool, key, writer) as transaction:
            yield transaction
            self._fail("save")
        self.saved += transaction.after is not None
        self._fail("commit")

    def decided(self):
        self._fail("decided")
        return super().decided()

    def claim(self, writer, most):
        self._fail("claim")
        return super().claim(writer, most)

    def sent(self, events):
        self._fail("sent")
        super().sent(events)


@pytest.mark.swallows
@pytest.mark.parametrize("way", UNSAVED)
@pytest.mark.parametrize("background", [True, False])
def test_nothing_is_lost_while_a_store_is_down(way, background, caplog):
    """Calls are counted, changes are told, one warning is logged, and it is all in the store afterwards."""
    store = Down(way)
    with RecordingMonitor(store=store, background=background, flush_interval=10_000.0) as monitor:
        for n in range(12):
            monitor.observe("t", {"a": n})
        monitor.observe("t", {"a": "x"})
        assert monitor.flush() is False
        assert monitor.flush() is False
        assert [event.status for event in monitor.events] == ([] if way != "save" else ["learned", "open"])
        assert monitor.health().store == "retrying"
        assert monitor.health().waiting == 13
        assert monitor.health().tools["t"].calls == 13
        assert len(caplog.records) == 1
        assert "db.example.org" not in caplog.text
        store.ways = ()
        assert monitor.flush() is True
        assert monitor.health().store == "ok"
        assert monitor.health().waiting == 0
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert store.load("t", "").observations == 13


@pytest.mark.swallows
@pytest.mark.parametrize("way", SAVED)
@pytest.mark.parametrize("background", [True, False])
def test_what_a_store_has_is_not_sent_to_it_again(way, background, caplog):
    """The store fails when all is done: nothing is counted or told twice, and it is known to work again later."""
    store = Down(way)
    with RecordingMonitor(store=store, background=background, flush_interval=10_000.0) as monitor:
        for n in range(12):
            monitor.observe("t", {"a": n})
        monitor.observe("t", {"a": "x"})
        monitor.flush()
        monitor.flush()
        assert monitor.health().store == "retrying"
        assert len(caplog.records) == 1
        store.ways = ()
        assert monitor.flush() is True
        assert monitor.health().store == "ok"
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert store.load("t", "").observations == 13
        assert store._waiting == {}


@pytest.mark.swallows
def test_a_store_that_is_down_is_not_hammered():
    """A thousand calls a second must not become a thousand attempts to connect."""
    store = Down("begin", "decided")
    with RecordingMonitor(store=store, background=False) as monitor:
        for n in range(1000):
            monitor.observe("t", {"a": n})
        assert store.asked <= 5
        assert monitor.health().waiting == 1000
        store.ways = ()


@pytest.mark.swallows
def test_a_store_that_was_down_is_asked_again_without_a_new_call():
    """The last calls before a quiet night must be saved that night."""
    store = Down("begin")
    with Monitor(store, sinks=(), flush_interval=0.001) as monitor:
        monitor.observe("t", 1)
        while monitor.health().store == "ok":
            threading.Event().wait(0.001)
        store.ways = ()
        while store.load("t", "") is None:
            threading.Event().wait(0.001)
        while monitor.health().store == "retrying":
            threading.Event().wait(0.001)


@pytest.mark.swallows
def test_other_tools_are_judged_while_one_cannot_be_loaded():
    """What is known already does not depend on the store."""
    store = Down()
    with RecordingMonitor(store=store, background=False) as monitor:
        for _ in range(12):
            monitor.observe("known", {"a": 1})
        store.ways = ("begin", "decided")
        monitor.observe("new", 1)
        monitor.observe("known", {"a": "x"})
        assert [event.status for event in monitor.events] == ["learned", "open"]
        store.ways = ()
        assert monitor.flush()


def test_a_store_that_hangs_holds_up_no_caller():
    """A database that does not answer is the worker's to wait for."""
    hangs, entered, go = threading.Event(), threading.Event(), threading.Event()

    class Hanging(MemoryStore):
        @contextmanager
        def transaction(self, *names):
            with super().transaction(*names) as transaction:
                yield transaction
                if hangs.is_set():
                    entered.set()
                    go.wait()

    with RecordingMonitor(store=Hanging(), background=True, flush_interval=0.001, on_drift="raise") as monitor:
        monitor.observe("t", 1)  # asks the store what it knows, in this thread
        assert monitor.flush()
        hangs.set()
        monitor.observe("t", 1)
        assert entered.wait(10)
        for n in range(1000):
            monitor.observe("t", n)
        assert monitor.flush(timeout=0.01) is False
        assert monitor.health().tools["t"].calls == 1002
        go.set()


@pytest.mark.swallows
def test_a_store_that_cannot_be_closed_does_not_fail_the_close():
    """A program that ends has no use for that error."""

    class Unclosable(MemoryStore):
        def close(self):
            raise OSError

    monitor = RecordingMonitor(store=Unclosable())
    monitor.close()
    assert monitor.health().swallowed_by == {"closing the store: OSError": 1}


ANSWERS = {**RESPONSES, "error": {"content": [], "isError": True}}
FLUSHES = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=14),
        st.sampled_from([None, None, *UNSAVED, *SAVED]),
    ),
    min_size=1,
    max_size=12,
)


class Pair:
    """Monitors whose store fails, beside one whose store does not and that sees what they save as they save it.

    Judged beside the store, responses are judged flush by flush; for the record those that wait are judged in one. So
    while a store is down something may be told that is not in the record afterwards (a silence that ended, an incident
    that was resolved and came again), but never the other way round.
    """

    def __init__(self):
        self.store, self.sound = Down(), MemoryStore()
        self.told_by, self.several = monitors(2, self.store)
        (self.told,), (self.one,) = monitors(1, self.sound)
        self.waiting = ([], [])

    def flush(self, who, names, way):
        """One flush of one monitor, in which the store fails at one place or not at all."""
        for name in names:
            self.several[who].observe("t", ANSWERS[name])
        self.waiting[who].extend(names)
        self.store.ways, saved = (way,), self.store.saved
        flushed = self.several[who].flush()
        assert flushed or way is not None
        if self.store.saved > saved:
            for name in self.waiting[who]:
                self.one.observe("t", ANSWERS[name])
            self.waiting[who].clear()
            assert self.one.flush()
            assert _untimed(self.store) == _untimed(self.sound)

    def end(self):
        for who in (0, 1):
            self.flush(who, (), None)
        assert [event.id for event in self.store.events()] == [event.id for event in self.sound.events()]
        assert not self.store._waiting
        by_process = [Counter(event.id for event in told.events) for told in self.told_by]
        for name, times in Counter(event.id for event in self.told.events).items():
            assert times == 1
            assert {counts[name] for counts in by_process} in ({1}, {0, 1})
        for monitor in (self.one, *self.several):
            monitor.close()


def _untimed(store):
    known = store.load("t", "")
    return known and untimed(replace(known, calls=replace(known.calls, time="")))


@pytest.mark.swallows
@settings(max_examples=60)
@given(FLUSHES)
def test_a_store_that_fails_anywhere_ends_up_as_one_that_never_did(flushes):
    """Before, in the middle of and right after a commit: what is recorded is the same, and told once by a process."""
    pair = Pair()
    for who, names, way in flushes:
        pair.flush(who, names, way)
    pair.end()
