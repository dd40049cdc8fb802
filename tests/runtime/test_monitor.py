# ruff: noqa: D102
from __future__ import annotations

import asyncio
import functools
import gc
import re
import threading
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import ROOT, run

import toolpulse
from toolpulse import Baseline, Consumer, Limits, Monitor
from toolpulse.errors import ConfigurationError
from toolpulse.runtime.background.counters import MOST_WAITING
from toolpulse.runtime.process import process
from toolpulse.testing import RecordingMonitor, responses


def _told(monitor):
    """What the sinks were told of incidents, as (consumer, change) in no order; evidence and counts left out."""
    return {
        (f.consumer, f.path, f.rule_id, f.before, f.after, f.risk)
        for incident in monitor.incidents()
        for f in incident.findings
    }


def _found(verdict):
    return {(f.consumer, f.path, f.rule_id, f.before, f.after, f.risk) for f in verdict.findings}


FIELDS = st.fixed_dictionaries(
    {"id": st.integers() | st.none()},
    optional={
        "score": st.floats(0, 1) | st.integers() | st.text(max_size=2),
        "tags": st.lists(st.integers() | st.text(max_size=2) | st.fixed_dictionaries({"k": st.integers()}), max_size=3),
        "owner": st.fixed_dictionaries({}, optional={"name": st.text(max_size=2), "age": st.integers()}) | st.none(),
    },
)


@given(st.lists(FIELDS, min_size=1, max_size=8), st.lists(FIELDS | responses(max_leaves=6), max_size=8))
def test_a_monitor_finds_what_a_baseline_finds(learned, later):
    """One judge: what a committed baseline says of responses offline is what is said of them live."""
    readers = [Consumer("lenient"), Consumer("strict", numeric="strict", null="high")]
    baseline = Baseline.learn(learned, consumers=readers)
    with RecordingMonitor(baselines={"tool": baseline}) as monitor:
        for response in later:
            monitor.observe("tool", response)
        assert _told(monitor) == _found(baseline.check(later))
        assert monitor.health().swallowed == 0


def test_a_sealed_baseline_says_how_responses_are_read():
    """Learned from text as it is, a baseline would call every response changed that is looked through live."""
    baseline = Baseline.learn(['{"a": 1}'] * 3)
    with RecordingMonitor(baselines={"tool": baseline}) as monitor:
        monitor.observe("tool", '{"b": 1}')
        assert monitor.drift == []


def test_a_sealed_baseline_brings_its_readers_unless_others_are_named():
    """Who reads a tool is committed with its baseline."""
    baseline = Baseline.learn([{"n": 1}] * 3, consumers=[Consumer("ledger", numeric="exact")])
    with RecordingMonitor(baselines={"tool": baseline}) as monitor:
        monitor.observe("tool", {"n": 1.5})
        assert [event.risks for event in monitor.drift] == [{"ledger": "high"}]
    with RecordingMonitor(baselines={"tool": baseline}, consumers=[Consumer("chat")]) as monitor:
        monitor.observe("tool", {"n": 1.5})
        assert monitor.drift == []


def test_a_sealed_baseline_is_not_taught():
    """What is committed changes by a commit, so an addition is still an addition the second time."""
    baseline = Baseline.learn([{"a": 1}] * 3)
    with RecordingMonitor(baselines={"tool": baseline}) as monitor:
        for _ in range(20):
            monitor.observe("tool", {"a": 1, "b": 1})
        assert {c.rule_id for incident in monitor.incidents() for c in incident.findings} == {"field-added"}
        assert sum(incident.count for incident in monitor.incidents()) == 20
        assert baseline.check([{"a": 1, "b": 1}]).findings


WRONG = {
    "store": [5, "redis://x", "nothing", object()],
    "sinks": [5, "log", [print], [object()], toolpulse.DriftError],
    "consumers": [5, "chat", Consumer("chat"), ["chat"], [Consumer("a"), Consumer("a")]],
    "baselines": [5, [], {"tool": {}}, {5: Baseline.learn([1])}],
    "confirm": [0, -1, 1.5, True, "2", None],
    "limits": [5, {}, None],
    "background": [1, "no", None],
    "save_on_signals": [1, "no", None],
    "flush_interval": [0, -1.0, "1", None, True, float("nan"), float("inf")],
    "on_drift": ["RAISE", "print", 5, None, []],
}
TABLE = [(key, value) for key, values in WRONG.items() for value in values]


@pytest.mark.parametrize(("key", "value"), TABLE, ids=[f"{key}-{type(value).__name__}" for key, value in TABLE])
def test_a_wrong_setting_is_named_at_once(key, value):
    """A typo in a setting must not surface hours later, or as an error of Python's without the setting's name."""
    with pytest.raises(ConfigurationError, match=key):
        Monitor(**{key: value})


@pytest.mark.parametrize(("key", "value"), TABLE, ids=[f"{key}-{type(value).__name__}" for key, value in TABLE])
def test_a_failed_configure_changes_nothing(key, value):
    """A process that was watched stays watched by the same monitor."""
    with toolpulse.testing.recording() as monitor:
        with pytest.raises(ConfigurationError, match=key):
            toolpulse.configure(**{key: value})
        assert process._monitor is monitor
        monitor.observe("tool", 1)
        assert monitor.flush()


OPTIONS = {
    "tool": ["", 5, "\ud800"],
    "key": ["", 5, "nothing"],
    "consumers": [5, "chat", [5], Consumer("chat"), [Consumer("a"), Consumer("a")]],
    "maps": ["a.*", 5, [5], ["a["]],
    "records": ["a.*", 5, [5], ["a["]],
    "limits": [5, {}],
    "unwrap": ["yes", 5],
    "on_drift": ["RAISE", 5],
}
OPTION_TABLE = [(key, value) for key, values in OPTIONS.items() for value in values]


@pytest.mark.parametrize(("key", "value"), OPTION_TABLE, ids=[f"{k}-{v!a:.20}" for k, v in OPTION_TABLE])
@pytest.mark.parametrize("own", [False, True], ids=["process", "monitor"])
def test_a_wrong_option_is_named_at_decoration(key, value, own):
    """The import of the module that decorates is where a wrong option can still be seen by whoever wrote it."""
    watch = Monitor(background=False).watch if own else toolpulse.watch

    def tool(query):
        return query

    with pytest.raises(ConfigurationError, match=key):
        watch(**{key: value})(tool)


def test_maps_and_records_must_not_both_name_a_path():
    """One of the two would silently win."""
    with pytest.raises(ConfigurationError, match=r"maps and records both name a\.b"):
        toolpulse.watch(maps=["a.b"], records=["a.b"])


def test_a_name_of_no_consumer_is_refused_once_the_monitor_is_known():
    """A misspelled reader would otherwise tolerate everything."""
    with toolpulse.testing.recording(consumers=[Consumer("chat")]):
        with pytest.raises(ConfigurationError, match="consumers: 'chatt' is not one of the monitor's \\(chat\\)"):
            toolpulse.watch(consumers=["chatt"])
        toolpulse.watch(consumers=["chat"])


@pytest.mark.swallows
def test_a_consumer_missing_from_a_later_monitor_does_not_stop_the_watching():
    """Decoration comes before configuration, so the name can only be missed when the tool is called."""
    before = process.set(None)
    try:

        @toolpulse.watch(consumers=["chat"], tool="t")
        def tool():
            return 1

    finally:
        process.set(before)
    with toolpulse.testing.recording() as monitor:
        assert tool() == tool() == 1
        assert monitor.health().tools["t"].calls == 2
        assert monitor.health().swallowed_by == {"setting up t: ConfigurationError": 1}


@pytest.mark.parametrize(
    ("tool", "unwrap"), [("", "auto"), (5, "auto"), (None, "auto"), ("\ud800", "auto"), ("t", "yes"), ("t", None)]
)
def test_observe_refuses_what_the_caller_got_wrong(tool, unwrap):
    """That is a mistake in the program and no fault of a response."""
    with RecordingMonitor() as monitor, pytest.raises(ConfigurationError, match=r"tool|unwrap"):
        monitor.observe(tool, 1, unwrap=unwrap)


THREADS = 8


def _everywhere(work, threads=THREADS):
    """Run ``work(thread)`` in many threads that start together; raises what they raised."""
    start = threading.Barrier(threads)
    errors = []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("background", [True, False], ids=["background", "inline"])
def test_calls_of_many_threads_are_counted_exactly(background):
    """A lost count would make every rate wrong, and nobody would notice."""
    each = 20_000 if background else 1_000
    with RecordingMonitor(background=background, flush_interval=0.001) as monitor:

        @monitor.watch(tool="t")
        def tool(n):
            if n % 10 == 9:
                raise LookupError
            return {"n": n, "even": True} if n % 2 == 0 else {"n": str(n)}

        def work(number):
            for n in range(each):
                with suppress(LookupError):
                    tool(n)

        _everywhere(work)
        assert monitor.flush()
        health = monitor.health()
        assert (health.swallowed, health.waiting) == (0, 0)
        told = health.tools["t"]
        assert (told.calls, told.errors, told.unjudged) == (THREADS * each, THREADS * each // 10, 0)
        assert told.error_types == {"LookupError": THREADS * each // 10}
        live = monitor._channels["t", ""].state
        assert live.observations == THREADS * each * 9 // 10


def test_many_tools_and_keys_from_many_threads_are_counted_exactly():
    """Two threads that meet a tool for the first time must not make two counters of it."""
    with RecordingMonitor(background=True, flush_interval=0.001) as monitor:

        def work(number):
            for n in range(2_000):
                monitor.observe(f"tool {n % 50}", {"n": n}, key=str(n % 3))

        _everywhere(work)
        assert monitor.flush()
        tools = monitor.health().tools
        assert {tool.calls for tool in tools.values()} == {THREADS * 40}
        assert {tool.keys for tool in tools.values()} == {3}


def test_calls_of_tasks_are_counted_exactly():
    """One event loop runs most agents' tools."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        async def tool(n):
            await asyncio.sleep(0)
            if n % 4 == 3:
                raise TimeoutError
            return n

        async def main():
            return await asyncio.gather(*(tool(n) for n in range(400)), return_exceptions=True)

        asyncio.run(main())
        told = monitor.health().tools["t"]
        assert (told.calls, told.errors) == (400, 100)


def test_cancelled_calls_are_counted_and_are_no_errors():
    """A cancelled call ended, and must be seen to have; but clients that disconnect say nothing of the tool."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        async def tool():
            await asyncio.Event().wait()

        async def main():
            task = asyncio.ensure_future(tool())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        told = monitor.health().tools["t"]
        assert (told.calls, told.errors, told.unjudged) == (1, 0, 1)


def test_errors_are_counted_by_type_and_never_teach():
    """A tool that fails must not teach the shape of its failures."""
    failure = {"content": [{"type": "text", "text": "rate limited"}], "isError": True}
    with RecordingMonitor() as monitor:
        for _ in range(12):
            monitor.observe("t", failure)
        told = monitor.health().tools["t"]
        assert (told.calls, told.errors, told.error_types) == (12, 12, {"result": 12})
        assert (told.state, told.shapes) == ("learning", 0)
        assert not any(event.status == "learned" for event in monitor.events)


def test_names_of_error_types_are_bounded():
    """A tool that makes a class for every error must not fill the memory."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool(n):
            raise type(f"Error{n}", (Exception,), {})

        for n in range(200):
            with pytest.raises(Exception, match=r"^$"):
                tool(n)
        told = monitor.health().tools["t"]
        assert told.errors == sum(told.error_types.values()) == 200
        assert len(told.error_types) == 65


def test_an_interrupt_while_observing_passes():
    """Whoever presses Ctrl-C wants the program to stop, wherever it is."""

    class Interrupting:
        def __len__(self):
            raise KeyboardInterrupt

    def read(value):
        raise KeyboardInterrupt

    toolpulse.register(Interrupting, read)
    with RecordingMonitor() as monitor:
        with pytest.raises(KeyboardInterrupt):
            monitor.observe("t", Interrupting())
        assert monitor.health().swallowed == 0


class Lying(list):
    def __len__(self):
        return 10**9

    def __iter__(self):
        raise RuntimeError


class Raising:
    @property
    def content(self):
        raise RuntimeError

    def __getattr__(self, name):
        raise RuntimeError

    @property
    def __class__(self):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


class RaisingKey(str):
    __slots__ = ()

    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise RuntimeError


def _hostile():
    itself = {}
    itself["itself"] = [itself]
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return {
        "lying": Lying([1, 2]),
        "raising": Raising(),
        "raising inside": {"a": [Raising()]},
        "raising keys": {RaisingKey("a"): 1},
        "itself": itself,
        "deep": deep,
        "wide": dict.fromkeys(map(str, range(100_000))),
        "long": [{"a": n} for n in range(100_000)],
        "deep JSON": "[" * 100_000,
        "surrogate": {"\ud800": "\ud800"},
    }


@pytest.mark.swallows
@pytest.mark.parametrize("name", _hostile())
def test_a_hostile_response_reaches_the_caller_and_is_counted(name):
    """Whatever a tool returns, the agent gets that very object, and the call is in the count."""
    response = _hostile()[name]
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool():
            return response

        for _ in range(12):
            assert tool() is response
        told = monitor.health().tools["t"]
        assert (told.calls, told.errors) == (12, 0)


@pytest.mark.swallows
def test_a_fault_of_the_walk_is_swallowed_counted_and_logged_once(caplog, monkeypatch):
    """A bug of the monitor must stay the monitor's, and still be seen."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool():
            return {"secret": "value"}

        tool()
        monkeypatch.setattr("toolpulse.state.tool_state.ToolState.walker", None)
        for _ in range(3):
            assert tool() == {"secret": "value"}
        health = monitor.health()
        assert health.swallowed_by == {"observing a response: AttributeError": 3}
        assert (health.tools["t"].calls, health.tools["t"].unjudged) == (4, 3)
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "value" not in caplog.text


@pytest.mark.swallows
def test_a_logger_that_raises_does_not_reach_the_tool(monkeypatch):
    """Even the report of a failure may fail, in a filter of the application or at the end of the stack."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool():
            return 1

        tool()
        monkeypatch.setattr("toolpulse.state.tool_state.ToolState.walker", None)
        monkeypatch.setattr("toolpulse._base.guard._log.warning", lambda *args: 1 / 0)
        assert tool() == 1
        assert monitor.health().swallowed == 1


@pytest.mark.swallows
def test_a_tool_at_the_end_of_the_stack_keeps_its_result():
    """A recursive tool that just fits must not fail because it is watched."""
    with RecordingMonitor() as monitor:
        returned = []

        @monitor.watch(tool="t")
        def tool(depth):
            if depth:
                try:
                    returned.append(tool(depth - 1))
                except RecursionError:
                    returned.append("end")
            return {"a": [{"b": 1}]}

        tool(10_000)
        assert returned[0] == "end"
        assert all(response == {"a": [{"b": 1}]} for response in returned[1:] if response != "end")


@pytest.mark.parametrize("total", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_waiting_memory_is_bounded_by_shapes_not_by_calls(total):
    """While a worker is stuck, a flood of new shapes must neither fill the memory nor lose the count."""
    monitor = Monitor(sinks=(), flush_interval=1000.0)
    monitor._flusher.worker.stop()  # nothing is judged
    channel = monitor.recorder.channel("t", "", monitor._defaults)
    for n in range(total):
        monitor.observe("t", {f"field_{n % 7}_{n:x}z": 1})
    told = monitor.health().tools["t"]
    assert told.calls == total
    assert len(channel._waiting) == MOST_WAITING
    assert told.unjudged + monitor.health().waiting == total
    assert monitor.flush()
    assert monitor.health().waiting == 0


def test_memory_does_not_grow_with_calls():
    """A service runs for months; only new shapes may cost memory."""
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        shapes = [{f"f{n}x": n, "rows": [{"a": 1}] * (n % 5)} for n in range(50)]

        def calls(rounds):
            for _ in range(rounds):
                for n in range(500):
                    monitor.observe("t", shapes[n % 50])
                assert monitor.flush()

        calls(5)
        tracemalloc.start()
        try:
            calls(2)
            before = tracemalloc.get_traced_memory()[0]
            calls(10)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert grown < 50_000


def test_health_says_how_everything_is():
    """It is what an operator looks at, so it has to be right while things happen."""
    with RecordingMonitor(flush_interval=1000.0, background=True) as monitor:
        for _ in range(9):
            monitor.observe("t", {"a": 1})
        health = monitor.health()
        assert (health.waiting, health.tools["t"].calls, health.tools["t"].state) == (9, 9, "learning")
        assert monitor.flush()
        assert monitor.health().tools["t"].state == "learning"
        monitor.observe("t", {"a": 1})
        assert monitor.flush()
        health = monitor.health()
        assert (health.waiting, health.tools["t"].state, health.tools["t"].shapes) == (0, "watching", 1)
        assert (health.store, health.sinks) == ("ok", {"_Kept": "ok"})
        monitor.observe("t", {"a": "x"})
        assert monitor.flush()
        assert monitor.health().tools["t"].incidents == 1


def test_incidents_decisions_reach_held_shapes():
    """What was accepted teaches, and is told of no more."""
    with RecordingMonitor() as monitor:
        for _ in range(12):
            monitor.observe("t", {"a": 1})
        monitor.observe("t", {"a": "x"})
        (incident,) = [i for i in monitor.incidents("t") if i.risk == "high"]
        (decision,) = monitor.accept(incident.id, reason="agreed", who="me")
        assert (decision.action, monitor.decisions("t")) == ("accept", (decision,))
        before = len(monitor.events)
        monitor.observe("t", {"a": "y"})
        assert len(monitor.events) == before
        assert monitor.health().tools["t"].incidents == 0


def test_a_closed_monitor_still_counts_and_still_flushes():
    """A tool that is called while the program ends must not fail, nor its call be lost."""
    monitor = RecordingMonitor(background=True)
    monitor.close()
    monitor.close()
    for _ in range(12):
        monitor.observe("t", {"a": 1})
    assert monitor.health().tools["t"].calls == 12
    assert monitor.flush()
    assert [event.status for event in monitor.events] == ["learned"]


def test_a_monitor_that_is_gone_leaves_no_thread():
    """Monitors made for a test or a tenant must not pile up threads."""
    before = set(threading.enumerate())
    monitor = RecordingMonitor(background=True, flush_interval=0.001)
    monitor.observe("t", 1)
    assert monitor.flush()
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del monitor
    gc.collect()
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()


def test_configure_replaces_the_monitor_for_tools_watched_before():
    """Tools are decorated at import, and the program is configured later."""
    with toolpulse.testing.recording() as first:

        @toolpulse.watch(tool="t")
        def tool():
            return 1

        tool()
        second = RecordingMonitor()
        process.set(second)
        tool()
        assert (first.health().tools["t"].calls, second.health().tools["t"].calls) == (1, 1)
        third = toolpulse.configure(background=False, sinks=())
        tool()
        assert third.health().tools["t"].calls == 1
        assert second._flusher._closed


def test_a_method_s_owner_and_partial_are_watched_by_each_monitor_once():
    """Two monitors may watch one tool; one monitor counts a call once however often it decorates."""
    with RecordingMonitor() as one, RecordingMonitor() as other:

        def tool(n):
            return n

        watched = one.watch(tool=("t"))(tool)
        assert one.watch(watched) is watched
        both = other.watch(functools.partial(other.watch(tool="t")(watched), 1))
        assert both() == 1
        assert (one.health().tools["t"].calls, other.health().tools["t"].calls) == (1, 1)


def test_the_page_about_the_monitor_runs(tmp_path):
    """Code in the docs that does not run is worse than none."""
    page = (ROOT / "docs" / "monitor.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    done = run("\n".join(blocks), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_limits_bound_what_is_looked_at():
    """The monitor's limits hold for every tool that does not bring its own."""
    with RecordingMonitor(limits=Limits(elements=2)) as monitor:
        for _ in range(10):
            monitor.observe("t", [1, 2, "x"])
        channel = monitor._channels["t", ""]
        assert [row.shape.text for row in channel.state.rows] == ['["integer"]']
