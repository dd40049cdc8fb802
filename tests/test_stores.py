# ruff: noqa: D102
from __future__ import annotations

import threading

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from toolpulse import Monitor
from toolpulse._shapes import Scalar
from toolpulse.baseline import Row
from toolpulse.errors import ConfigurationError
from toolpulse.stores import open_store
from toolpulse.stores.base import Snapshot, Store
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

NAMES = st.sampled_from(["", "t", "u", "a.b", "é\n", "x" * 300])


def _snapshot(observations):
    return Snapshot(observations, (Row(Scalar("integer"), observations, 1, observations),))


STORES = {"memory": MemoryStore}
"""Every store there is, and how a fresh one is made; all of them have to do what a dictionary does."""


@pytest.fixture(params=STORES.values(), ids=STORES.keys())
def store(request):
    """A fresh store of each kind."""
    made = request.param()
    yield made
    made.close()


def test_what_was_saved_last_is_loaded(store):
    """A store remembers by tool and key, and nothing else."""
    assert store.load("t", "") is None
    for observations in (1, 2):
        store.save("t", "", _snapshot(observations))
        store.save("t", "k", _snapshot(observations + 10))
    assert (store.load("t", ""), store.load("t", "k")) == (_snapshot(2), _snapshot(12))
    assert store.load("u", "") is None
    assert list(store.tools()) == [("t", ""), ("t", "k")]


class StoresAgree(RuleBasedStateMachine):
    """The same operations on every store and on a dictionary; they agree at every step."""

    def __init__(self):
        super().__init__()
        self.model = {}
        self.stores = {name: make() for name, make in STORES.items()}

    @rule(tool=NAMES, key=NAMES, observations=st.integers(1, 100))
    def save(self, tool, key, observations):
        self.model[tool, key] = _snapshot(observations)
        for store in self.stores.values():
            store.save(tool, key, self.model[tool, key])

    @rule(tool=NAMES, key=NAMES)
    def load(self, tool, key):
        for name, store in self.stores.items():
            assert store.load(tool, key) == self.model.get((tool, key)), name

    @invariant()
    def know_the_same_tools(self):
        for name, store in self.stores.items():
            assert list(store.tools()) == sorted(self.model), name

    def teardown(self):
        for store in self.stores.values():
            store.close()


test_all_stores_agree = StoresAgree.TestCase
test_all_stores_agree.__doc__ = "A store that forgets, mixes up or invents is told from a dictionary."


def test_it_is_a_store():
    """The protocol is what a monitor asks for."""
    assert isinstance(MemoryStore(), Store)
    assert isinstance(open_store("memory:"), MemoryStore)
    assert open_store("memory:") is not open_store("memory:")


def test_an_unknown_url_says_which_are_known():
    """A typing error must not quietly become another store."""
    with pytest.raises(ConfigurationError, match=r"store: URL scheme 'memroy' is not known; .*memory:"):
        open_store("memroy:")


class Down(MemoryStore):
    """A store that fails, as long as it is down, in the ways named."""

    def __init__(self, *ways):
        super().__init__()
        self.ways = ways
        self.asked = 0

    def _fail(self, way):
        self.asked += 1
        if way in self.ways:
            raise OSError("connection refused by db.example.org")

    def load(self, tool, key):
        self._fail("load")
        return super().load(tool, key)

    def save(self, tool, key, snapshot):
        self._fail("save")
        super().save(tool, key, snapshot)


@pytest.mark.swallows
@pytest.mark.parametrize("way", ["load", "save"])
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
        assert monitor.health().store == "retrying"
        assert monitor.health().tools["t"].calls == 13
        assert len(caplog.records) == 1
        assert "db.example.org" not in caplog.text
        store.ways = ()
        assert monitor.flush() is True
        assert monitor.health().store == "ok"
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert store.load("t", "").observations == 13


@pytest.mark.swallows
def test_a_store_that_is_down_is_not_hammered():
    """A thousand calls a second must not become a thousand attempts to connect."""
    store = Down("load")
    with RecordingMonitor(store=store, background=False) as monitor:
        for n in range(1000):
            monitor.observe("t", {"a": n})
        assert store.asked <= 3
        assert monitor.health().waiting == 1000
        store.ways = ()


@pytest.mark.swallows
def test_a_store_that_was_down_is_asked_again_without_a_new_call():
    """The last calls before a quiet night must be saved that night."""
    store = Down("load")
    saved = threading.Event()
    store.save = lambda tool, key, snapshot: saved.set()
    with Monitor(store, sinks=(), flush_interval=0.001) as monitor:
        monitor.observe("t", 1)
        while monitor.health().store == "ok":
            threading.Event().wait(0.001)
        store.ways = ()
        assert saved.wait(20)


@pytest.mark.swallows
def test_other_tools_are_judged_while_one_cannot_be_loaded():
    """What is known already does not depend on the store."""
    store = Down()
    with RecordingMonitor(store=store, background=False) as monitor:
        for _ in range(12):
            monitor.observe("known", {"a": 1})
        store.ways = ("load", "save")
        monitor.observe("new", 1)
        monitor.observe("known", {"a": "x"})
        assert [event.status for event in monitor.events] == ["learned", "open"]
        store.ways = ()
        assert monitor.flush()


def test_a_store_that_hangs_holds_up_no_caller():
    """A database that does not answer is the worker's to wait for."""
    entered, go = threading.Event(), threading.Event()

    class Hanging(MemoryStore):
        def save(self, tool, key, snapshot):
            entered.set()
            go.wait()

    with RecordingMonitor(store=Hanging(), background=True, flush_interval=0.001, on_drift="raise") as monitor:
        monitor.observe("t", 1)
        assert entered.wait(10)
        for n in range(1000):
            monitor.observe("t", n)
        assert monitor.flush(timeout=0.01) is False
        assert monitor.health().tools["t"].calls == 1001
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
