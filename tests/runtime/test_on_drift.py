from __future__ import annotations

import asyncio
import threading

import pytest

import toolpulse
from toolpulse import Consumer, DriftError, Risk
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor, recording

BACKGROUND = pytest.mark.parametrize("background", [True, False], ids=["background", "inline"])
INTERVAL = 10_000.0


def _monitor(background, **settings):
    return RecordingMonitor(background=background, flush_interval=INTERVAL, **settings)


def _watched(monitor, **options):
    ran = []

    @monitor.watch(tool="t", **options)
    def tool(response):
        ran.append(response)
        return response

    for _ in range(12):
        tool({"a": 1})
    ran.clear()
    return tool, ran


@BACKGROUND
def test_raise_gives_the_findings_to_the_caller_each_time(background):
    """An agent must not act on a broken response, whether it is the first or the thousandth."""
    with _monitor(background) as monitor:
        tool, ran = _watched(monitor, on_drift="raise")
        for _ in range(3):
            with pytest.raises(DriftError, match="the response of t changed shape: a: integer -> string") as caught:
                tool({"a": "x"})
            assert [(f.path, f.rule_id, f.risk) for f in caught.value.findings] == [("a", "kind-changed", Risk.HIGH)]
        assert ran == [{"a": "x"}] * 3
        assert tool({"a": 1}) == {"a": 1}
        assert monitor.flush()
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert monitor.incidents()[0].count == 3


def test_raise_is_told_to_the_sinks_although_the_call_failed():
    """The caller may swallow the error; the log must have it all the same, without another call."""
    with _monitor(background=False) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        with pytest.raises(DriftError):
            tool({"a": "x"})
        assert [event.status for event in monitor.drift] == ["open"]


def test_raise_happens_in_the_caller_s_thread():
    """Somebody has to be there to catch it."""
    with _monitor(background=True) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        caught = []

        def call():
            try:
                tool({"a": "x"})
            except DriftError:
                caught.append(threading.current_thread())

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert caught == [thread]


@BACKGROUND
@pytest.mark.parametrize("response", [{"a": 1, "b": 2}, {"a": None}, {"a": 1.5}], ids=["info", "investigate", "quiet"])
def test_raise_is_for_high_only(background, response):
    """An addition, or a first null, must not stop an agent."""
    with _monitor(background) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        assert tool(response) is response


def test_raise_leaves_out_findings_that_are_not_high():
    """The error says why it was raised, and no more."""
    with _monitor(background=False) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        with pytest.raises(DriftError) as caught:
            tool({"a": "x", "b": 1})
        assert [finding.path for finding in caught.value.findings] == ["a"]


def test_raise_waits_for_confirmation():
    """Whoever wants a break confirmed wants it before the agent is stopped."""
    with _monitor(background=False, confirm=3) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        tool({"a": "x"})
        tool({"a": "x"})
        with pytest.raises(DriftError):
            tool({"a": "x"})


@pytest.mark.parametrize("action", ["accept", "ignore"])
def test_raise_ends_with_a_decision(action):
    """What somebody agreed to stops nobody any more."""
    with _monitor(background=False) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        with pytest.raises(DriftError):
            tool({"a": "x"})
        getattr(monitor, action)(monitor.drift[0].incident)
        assert tool({"a": "x"}) == {"a": "x"}


def test_raise_follows_the_consumers():
    """High is what a consumer says is high."""
    with _monitor(background=False, consumers=[Consumer("c", risk={"a": "info"})]) as monitor:
        tool, _ = _watched(monitor, on_drift="raise")
        assert tool({"a": "x"}) == {"a": "x"}


def test_raise_does_not_replace_the_tool_s_own_error():
    """A failing tool is a failing tool."""
    with _monitor(background=False, on_drift="raise") as monitor:

        @monitor.watch(tool="t")
        def tool():
            raise LookupError("mine")

        for _ in range(12):
            with pytest.raises(LookupError, match="mine"):
                tool()


def test_raise_works_after_a_restart_from_the_first_call():
    """The baseline is in the store, so the first call of a new process is judged by it."""
    store = MemoryStore()
    with _monitor(True, store=store) as monitor:
        _watched(monitor)
    with _monitor(True, store=store, on_drift="raise") as monitor:

        @monitor.watch(tool="t")
        def tool():
            return {"a": "x"}

        with pytest.raises(DriftError):
            tool()


@pytest.mark.swallows
def test_raise_with_a_store_that_is_down_lets_the_call_pass():
    """Without its memory the monitor knows nothing, and must not stop the agent for that."""

    class Down(MemoryStore):
        def transaction(self, tool, key, writer=""):
            raise OSError

    with _monitor(False, store=Down(), on_drift="raise") as monitor:
        for n in range(20):
            monitor.observe("t", {"a": n if n < 12 else "x"})
        assert (monitor.health().store, monitor.health().waiting) == ("retrying", 20)


@BACKGROUND
def test_raise_in_a_coroutine(background):
    """The task that awaits the tool gets the error."""
    with _monitor(background) as monitor:

        @monitor.watch(tool="t", on_drift="raise")
        async def tool(response):
            return response

        async def main():
            for _ in range(12):
                await tool({"a": 1})
            with pytest.raises(DriftError):
                await tool({"a": "x"})

        asyncio.run(main())


@BACKGROUND
def test_raise_at_the_end_of_a_stream(background):
    """A stream is judged when it is over, so its reader is told then."""
    with _monitor(background) as monitor:

        @monitor.watch(tool="t", on_drift="raise")
        def tool(items):
            yield from items

        for _ in range(12):
            assert list(tool([{"a": 1}, {"a": 2}])) == [{"a": 1}, {"a": 2}]
        stream = tool([{"a": "x"}, {"a": "y"}])
        assert (next(stream), next(stream)) == ({"a": "x"}, {"a": "y"})
        with pytest.raises(DriftError):
            next(stream)


def test_raise_from_observe():
    """Tools that are not decorated are judged alike."""
    with _monitor(False, on_drift="raise") as monitor:
        for _ in range(12):
            monitor.observe("t", {"a": 1})
        with pytest.raises(DriftError):
            monitor.observe("t", {"a": "x"})


@BACKGROUND
def test_a_callable_gets_each_event_of_drift(background):
    """It is where an application hangs its own alarm; that a baseline was learned is no alarm."""
    events = []
    with _monitor(background, on_drift=events.append) as monitor:
        for response in [{"a": 1}] * 12 + [{"a": "x"}] * 3 + [{"a": 1, "b": 1}]:
            monitor.observe("t", response)
        monitor.observe("other", 1)
        assert monitor.flush()
        assert events == [event for event in monitor.events if event.status != "learned"]
        assert [event.risk for event in events] == [Risk.HIGH, Risk.INFO]
        assert monitor.health().sinks == {"_Kept": "ok", "on_drift": "ok"}


@pytest.mark.swallows
@BACKGROUND
def test_an_error_in_a_callable_is_swallowed_and_not_tried_again(background):
    """It is the application's code: what fails in it fails again, and would hold up the events behind it."""
    events = []

    def alarm(event):
        events.append(event)
        raise LookupError

    with _monitor(background, on_drift=alarm) as monitor:
        for response in [{"a": 1}] * 12 + [{"a": "x"}, {"a": []}]:
            monitor.observe("t", response)
        assert monitor.flush()
        assert len(events) == 2
        assert monitor.health().swallowed_by == {"emitting to on_drift: LookupError": 2}
        assert monitor.health().sinks["on_drift"] == "failing, 2 dropped"


def test_a_tool_s_callable_is_for_that_tool():
    """One tool may page somebody, and the others not."""
    events = []
    with _monitor(False) as monitor:
        tool, _ = _watched(monitor, on_drift=events.append)
        for response in [1] * 12 + ["x"]:
            monitor.observe("other", response)
        assert events == []
        tool({"a": "x"})
        assert [event.tool for event in events] == ["t"]


def test_a_callable_may_call_the_monitor():
    """An alarm that asks for health, flushes, or accepts what it got must not wait for itself."""
    with recording() as monitor:
        told = []

        def alarm(event):
            told.append((event.status, monitor.health().tools["t"].calls, monitor.flush(timeout=0.01)))
            watched()

        @toolpulse.watch(tool="inner")
        def watched():
            return 1

        tool, _ = _watched(monitor, on_drift=alarm)
        tool({"a": "x"})
        assert [(status, calls) for status, calls, _ in told] == [("open", 13)]
        assert monitor.health().tools["inner"].calls == 1


def test_log_raises_nothing():
    """The default watches and says so; it does not interfere."""
    with _monitor(False) as monitor:
        tool, _ = _watched(monitor)
        assert tool({"a": "x"}) == {"a": "x"}
