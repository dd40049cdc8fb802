"""What several processes, restarts and outages could make of one store; each was wrong once."""
# ruff: noqa: D102

from __future__ import annotations

import gc
import itertools
import threading
import time

import pytest
from scripts import run

from toolpulse import Baseline, DriftError, Monitor
from toolpulse._base.guard import Guard
from toolpulse.errors import StoreError, StoreUnreadable
from toolpulse.runtime.background import lifetime
from toolpulse.runtime.background.delivery import Dispatcher
from toolpulse.runtime.decisions import decide
from toolpulse.sinks.queue import Outbox
from toolpulse.state.convert import snapshot_of
from toolpulse.stores import forks, open_store
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

GOOD = {"id": 1, "price": 5, "name": "x"}


def feed(monitor, *batches):
    """Observe (response, times) in order."""
    for response, times in batches:
        for _ in range(times):
            monitor.observe("t", response)


def counts(store):
    """How often each shape that taught was seen."""
    return sorted(row.count for row in store.load("t", "").rows.values())


def test_what_fits_a_sealed_baseline_is_not_held_for_those_without_one():
    """A deploy that drops ``baselines=`` must learn as ever, and tell of a break."""
    store = MemoryStore()
    with RecordingMonitor(store=store, baselines={"t": Baseline.learn([GOOD] * 50)}) as sealed:
        feed(sealed, (GOOD, 5))
    assert (store.load("t", "").observations, dict(store.load("t", "").quarantined)) == (5, {})
    with RecordingMonitor(store=store) as monitor:
        feed(monitor, (GOOD, 200), ({"id": 1, "price": "FIVE", "name": None}, 50))
        assert [(event.status, event.risk) for event in monitor.drift] == [("open", "high")]
    assert counts(store) == [200]


def test_of_two_decisions_the_later_one_stands_whatever_the_clocks_say():
    """Decisions are taken on several machines; the order is the store's."""
    store = MemoryStore()
    with RecordingMonitor(store=store) as monitor:
        feed(monitor, (GOOD, 20), ({**GOOD, "price": "x"}, 3))
        (incident,) = monitor.incidents()
        decide(store, "accept", incident.id, reason="a fast clock", time="2026-01-01T12:05:00.000Z")
        decide(store, "reject", incident.id, reason="a true one", time="2026-01-01T12:01:00.000Z")
        monitor.flush()
        assert monitor._channels["t", ""].state.incident_log.accepted == set()
    with RecordingMonitor(store=store) as again:
        feed(again, (GOOD, 1))
        assert again._channels["t", ""].state.incident_log.accepted == set()
        assert again.reject(incident.id, reason="once more") == ()


class Busy:
    """A sink that takes nothing until it is let go."""

    def __init__(self):
        self.go = threading.Event()

    def emit(self, event):
        self.go.wait()


def test_an_event_that_no_sink_took_is_not_said_to_be_sent(monkeypatch):
    """More events than a queue holds in one turn, before the store has them: those that fall out come again from it."""
    monkeypatch.setattr("toolpulse.sinks.queue.MOST_EVENTS", 4)
    monkeypatch.setattr("toolpulse.runtime.background.delivery._MOST_UNSAVED", 5)
    with RecordingMonitor() as monitor:
        feed(monitor, (GOOD, 11), *(({**GOOD, "price": kind}, 1) for kind in ("x", True, [1], {"a": 1}, 1.5, None)))
        events = monitor.events
    sink = Busy()
    outbox = Outbox("busy", sink, Guard())
    dispatcher = Dispatcher((outbox,), {})
    outbox.start()
    for event in events:
        dispatcher.dispatch(event, None)
    dispatcher.acknowledge(events)
    assert outbox.dropped > 0
    assert not dispatcher.unreported
    sink.go.set()
    assert dispatcher.send(time.monotonic() + 10)
    assert 0 < len(dispatcher._sent) <= len(events) - outbox.dropped
    outbox.close()


def test_what_a_monitor_counted_that_nobody_holds_any_more_is_saved(tmp_path):
    """A monitor made in a function, and a normal end: nothing is lost."""
    script = """
from toolpulse import Monitor
def main():
    monitor = Monitor("sqlite:///t.db", sinks=[])
    tool = monitor.watch(tool="u")(lambda: {"a": 1})
    for _ in range(20):
        monitor.observe("t", {"a": 1})
        tool()
main()
"""
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    store = open_store(f"sqlite:///{tmp_path}/t.db")
    assert [store.load(name, "").observations for name in "tu"] == [20, 20]


def test_the_threads_of_a_monitor_that_nobody_holds_end_once_nothing_waits():
    """A test suite, or a server that makes one a request, must not collect threads."""
    store, sink = MemoryStore(), Busy()
    sink.go.set()
    before = set(threading.enumerate())
    monitor = Monitor(store, sinks=[sink], flush_interval=0.001)
    feed(monitor, (GOOD, 20), ({**GOOD, "price": "x"}, 1))
    threads = {*threading.enumerate()} - before
    del monitor
    gc.collect()
    for thread in threads:
        thread.join(20)
    assert len(threads) >= 1
    assert not any(thread.is_alive() for thread in threads)
    assert store.load("t", "").observations == 21


@pytest.mark.parametrize("background", [True, False])
def test_what_waits_to_be_confirmed_raises_only_then(background):
    """An observation that was judged meanwhile is not counted a second time."""
    store = MemoryStore()
    with RecordingMonitor(store=store, confirm=2) as monitor:
        feed(monitor, (GOOD, 30))
    bad = {**GOOD, "price": "x"}
    with RecordingMonitor(store=store, confirm=2, on_drift="raise", background=background) as monitor:
        feed(monitor, (bad, 1))
        for _ in range(2):
            with pytest.raises(DriftError):
                feed(monitor, (bad, 1))


class Down(MemoryStore):
    """A store that is down at will."""

    down = False

    def decided(self):
        if self.down:
            raise StoreError("down")
        return super().decided()


@pytest.mark.swallows
def test_ordinals_stay_within_the_observations_after_a_long_outage():
    """More shapes than are kept while a store is down: those let go have no ordinals."""
    store = Down()
    fields = {f"f{n}": 1 for n in range(12)}
    with Monitor(store, sinks=[], flush_interval=10_000.0) as monitor:
        feed(monitor, (fields, 20))
        assert monitor.flush()
        store.down = True
        for number, bits in enumerate(itertools.islice(itertools.product((0, 1), repeat=12), 1800)):
            monitor.observe("t", {f"f{n}": "x" if bit else 1 for n, bit in enumerate(bits)})
            if number % 400 == 0:
                monitor._flusher.flush_due(now=True)
        feed(monitor, ({**fields, "f0": "x"}, 1), (fields, 1))
        monitor._flusher.flush_due(now=True)
        store.down = False
        assert monitor.flush()
        now, unjudged = store.load("t", ""), monitor.health().tools["t"].unjudged
    rows = [*now.rows.values(), *(held.row for held in now.quarantined.values())]
    assert now.observations + unjudged == 20 + 1800 + 2
    assert unjudged > 0
    assert max(row.last for row in rows) == now.observations


def test_a_restart_does_not_take_held_shapes_that_were_let_go_for_a_silence():
    """More than two hundred are held: what is not known of them makes nothing seem the longer away."""
    store = MemoryStore()
    fields = {f"f{n}": 1 for n in range(10)}
    with RecordingMonitor(store=store) as monitor:
        feed(monitor, *(({**fields, "rare": 1} if n % 3 else fields, 1) for n in range(40)))
        for bits in itertools.islice(itertools.product((0, 1), repeat=10), 1, 600):
            monitor.observe("t", {f"f{n}": "x" if bit else 1 for n, bit in enumerate(bits)})
        told = len(monitor.events)
    with RecordingMonitor(store=store) as again:
        feed(again, (fields, 2))
        assert again.events == []
        assert told > 1


def test_no_key_of_a_map_is_stored_in_a_warm_up_that_was_imported():
    """The first responses of a process are walked before the store has told it which objects are maps."""
    users = [{"users": {f"u{n * 40 + m}": {"age": 1} for m in range(40)}} for n in range(5)]
    store = MemoryStore()
    with store.transaction("t", "") as transaction:
        transaction.save(snapshot_of(Baseline.learn(users), transaction.now))
    with Monitor(store, sinks=[], flush_interval=10_000.0) as monitor:
        monitor.observe("t", {"users": {"alice": {"age": 1}, "bob": {"age": 2}}})
        assert monitor.flush()
    assert [row.shape.text for row in store.load("t", "").rows.values()] == ['{"users":[0,{"age":"integer"}]}']


class Torn(MemoryStore):
    """A store in which one tool cannot be read."""

    torn = True

    def transaction(self, tool, key, writer=""):
        if self.torn and tool == "torn":
            raise StoreUnreadable("store holds what cannot be read")
        return super().transaction(tool, key, writer)


@pytest.mark.swallows
def test_one_tool_that_cannot_be_read_takes_no_other_with_it(caplog):
    """It is judged in memory, the others are saved; once it was forgotten, it is saved as well."""
    store = Torn()
    with RecordingMonitor(store=store) as monitor:
        for name in ("torn", "t"):
            for response in [GOOD] * 12 + [{**GOOD, "price": "x"}]:
                monitor.observe(name, response)
        assert monitor.health().store == "ok"
        assert [(event.tool, event.status) for event in monitor.drift] == [("torn", "open"), ("t", "open")]
        assert (store.load("torn", ""), store.load("t", "").observations) == (None, 13)
        assert len(caplog.records) == 1
        store.torn = False
        store._decided += 1
        monitor.observe("t", GOOD)
        assert store.load("torn", "").observations == 13
        assert len(monitor.drift) == 2


@pytest.mark.parametrize("hooks", [lifetime, forks], ids=["monitors", "files"])
def test_threads_that_fork_at_once_leave_no_lock_behind(hooks, tmp_path, monkeypatch):
    """What one fork holds must not be let go, or kept for ever, by the end of another one."""
    before, after = (
        (lifetime._before_fork, lifetime._after_fork_in_parent)
        if hooks is lifetime
        else (forks._before, forks._after_in_parent)
    )
    monkeypatch.setattr("toolpulse.runtime.background.degraded._FORK_PATIENCE", 0.1)
    monkeypatch.setattr("toolpulse.stores.forks.PATIENCE", 0.1)
    with Monitor(f"sqlite:///{tmp_path}/t.db", sinks=[], flush_interval=10_000.0) as monitor:
        feed(monitor, (GOOD, 1))
        assert monitor.flush()
        met, ended = threading.Event(), threading.Event()

        def second():
            before()
            met.set()
            ended.wait(10)
            after()

        before()
        other = threading.Thread(target=second)
        other.start()
        assert met.wait(10)
        after()
        ended.set()
        other.join()
        feed(monitor, (GOOD, 1))
        assert monitor.flush(10)
        assert monitor._flusher.link.store.load("t", "").observations == 2


def test_a_monitor_that_was_closed_asks_its_store_nothing_as_the_process_ends(tmp_path):
    """The database may be gone by then, and there would be a warning for nothing."""
    script = """
import toolpulse
from toolpulse.stores.memory import MemoryStore
class Store(MemoryStore):
    gone = False
    def decided(self):
        assert not self.gone
        return super().decided()
store = Store()
with toolpulse.Monitor(store, sinks=[]) as monitor:
    monitor.observe("t", 1)
store.gone = True
"""
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_child_forked_at_the_first_event_can_log_its_own(tmp_path):
    """The default sink logs in a thread; a module imported there would be half imported in the child for ever."""
    script = """
import os, sys, toolpulse
monitor = toolpulse.Monitor("memory:", flush_interval=10_000.0)
assert "structlog" in sys.modules
for n in range(12):
    monitor.observe("t", {"a": n})
assert monitor.flush()
pid = os.fork()
if pid == 0:
    monitor.observe("t", {"a": "x"})
    os._exit(0 if monitor.flush(20) and monitor.health().sinks == {"LogSink": "ok"} else 3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split('"status": "')[1].split('"')[0] for line in done.stderr.splitlines()] == ["learned", "open"]


def test_a_first_call_that_may_raise_waits_for_a_store_that_hangs_half_a_second_at_most(monkeypatch):
    """Nothing is known yet, so nothing is raised; later calls of that tool wait for nothing."""
    monkeypatch.setattr("toolpulse.runtime.background.flush._LOAD_PATIENCE", 0.05)
    entered, go = threading.Event(), threading.Event()

    class Hanging(MemoryStore):
        def transaction(self, tool, key, writer=""):
            entered.set()
            go.wait()
            return super().transaction(tool, key, writer)

    with Monitor(Hanging(), sinks=[], flush_interval=0.001, on_drift="raise") as monitor:
        feed(monitor, (GOOD, 200))
        assert entered.is_set()
        assert monitor.health().tools["t"].calls == 200
        go.set()
        assert monitor.flush()
        with pytest.raises(DriftError):
            feed(monitor, ({**GOOD, "price": "x"}, 1))


def test_what_is_told_after_a_tool_was_forgotten_has_ids_of_its_own():
    """Whoever drops events whose id was seen must not drop the same break of a baseline that was learned anew."""
    store = MemoryStore()
    told = []
    for _ in range(2):
        with RecordingMonitor(store=store) as monitor:
            feed(monitor, (GOOD, 20), ({**GOOD, "price": "x"}, 2))
            told.append([(event.status, event.id) for event in monitor.events])
        store.forget("t", "")
    assert [status for status, _ in told[0]] == [status for status, _ in told[1]] == ["learned", "open"]
    assert not {name for _, name in told[0]} & {name for _, name in told[1]}


@pytest.mark.swallows
def test_a_store_that_was_never_reached_does_not_keep_a_break_from_being_told(monkeypatch):
    """A URL that leads nowhere: after a while what this process saw is what it judges by."""
    store = Down()
    store.down = True
    with RecordingMonitor(store=store, background=True, flush_interval=10_000.0) as monitor:
        feed(monitor, (GOOD, 20))
        assert monitor.flush() is False
        assert monitor.events == []
        monkeypatch.setattr("toolpulse.runtime.background.store_link._LONG_GONE", 0.0)
        feed(monitor, ({**GOOD, "price": "x"}, 2))
        assert monitor.flush() is False
        told = [(event.status, event.id) for event in monitor.events]
        assert [status for status, _ in told] == ["learned", "open"]
        store.down = False
        assert monitor.flush()
        assert [(event.status, event.id) for event in monitor.events] == told
        assert store.load("t", "").observations == 22
        assert {event.id for event in store.events()} == {name for _, name in told}


def test_a_break_is_told_of_while_a_store_hangs(monkeypatch):
    """A server that is frozen raises nothing; calls must be judged all the same, and counted once when it is back."""
    monkeypatch.setattr("toolpulse.runtime.background.store_link._HANGS", 0.05)
    entered, go = threading.Event(), threading.Event()
    go.set()

    class Frozen(MemoryStore):
        def transaction(self, tool, key, writer=""):
            entered.set()
            go.wait()
            return super().transaction(tool, key, writer)

    store, sink = Frozen(), Busy()
    sink.go.set()
    told = []
    sink.emit = lambda event: told.append((event.status, event.id))
    with Monitor(store, sinks=[sink], flush_interval=0.001) as monitor:
        feed(monitor, (GOOD, 20))
        assert monitor.flush()
        go.clear()
        entered.clear()
        feed(monitor, (GOOD, 1))
        assert entered.wait(10)
        deadline = time.monotonic() + 20
        while len(told) < 2 and time.monotonic() < deadline:
            feed(monitor, ({**GOOD, "price": "x"}, 1))
            time.sleep(0.02)
        assert [status for status, _ in told] == ["learned", "open"]
        assert monitor.health().store == "retrying"
        go.set()
        assert monitor.flush()
        assert len(told) == 2
        assert store.load("t", "").observations == monitor.health().tools["t"].calls
        assert {event.id for event in store.events()} == {name for _, name in told}
        assert monitor.health().store == "ok"
