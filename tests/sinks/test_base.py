"""What every sink has to do. A new one passes through all of it by a line in ``SINKS``."""

from __future__ import annotations

import inspect
import pkgutil
import threading
from importlib import import_module

import msgspec
import pytest
from snapshots import EMPTY, events_of, finding, held

import toolpulse.sinks
from toolpulse import Monitor
from toolpulse.errors import ConfigurationError
from toolpulse.sinks.base import Sink
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.testing import CANARY, assert_no_canary

SINKS = {
    "JsonlSink": lambda folder: JsonlSink(folder / "drift.jsonl"),
    "LogSink": lambda folder: LogSink(),
}
"""How one of each is made; what it writes to files lies below ``folder``."""

STATUSES = "learned noted open resolved reopened accepted rejected ignored observed".split()

HOSTILE = "nul\0 é \u2028\n{\x1b[31m'\"; DROP TABLE toolpulse_rows; --"

GOOD = {"id": 1, "name": "x"}


@pytest.fixture(params=SINKS)
def sink(request, tmp_path):
    """One sink of each kind."""
    return SINKS[request.param](tmp_path)


def event(name="t", **fields):
    """The event of an incident."""
    (made,) = events_of(EMPTY, held(EMPTY, name, name, found=(finding(path="a", after="string"),)))
    return msgspec.structs.replace(made, **fields)


class Before:
    """A sink that does something before another one gets the event."""

    def __init__(self, sink, action):
        self.sink, self.action, self.sent = sink, action, []

    def emit(self, event):
        """Do it, and hand on."""
        self.action(event)
        self.sink.emit(event)
        self.sent.append(event.id)


def drift(monitor, tool="t"):
    """Two events: learned, then open."""
    for _ in range(12):
        monitor.observe(tool, GOOD)
    monitor.observe(tool, {**GOOD, "id": "1"})


def test_every_sink_there_is_passes_through_here():
    """A sink that nobody registered would be held to nothing."""
    modules = [
        import_module(f"toolpulse.sinks.{found.name}") for found in pkgutil.iter_modules(toolpulse.sinks.__path__)
    ]
    classes = [one for module in modules for _, one in inspect.getmembers(module, inspect.isclass)]
    named = {one.__name__ for one in classes if one.__module__.startswith("toolpulse.sinks.") and hasattr(one, "emit")}
    assert named - {Sink.__name__} == SINKS.keys()


def test_it_is_a_sink_that_a_monitor_takes(sink):
    """The protocol is what a monitor asks for."""
    assert isinstance(sink, Sink)
    Monitor("memory:", sinks=[sink], background=False).close()


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_delivered(sink, status):
    """An event of a status that a sink does not know would come again for ever."""
    assert sink.emit(event(status=status, decision="d", count=3)) is None


def test_hostile_names_are_delivered(sink):
    """Names come from whoever answers, and must not end a line, a string or the sink."""
    change = msgspec.structs.replace(event().changes[0], path=HOSTILE)
    assert sink.emit(event(HOSTILE, key=HOSTILE * 100, summary=HOSTILE, changes=(change,))) is None


def test_an_event_may_come_twice_and_from_any_thread(sink):
    """Delivery is at least once, and the thread that delivers may be another one each time."""
    failures = []

    def deliver():
        try:
            sink.emit(event())
        except Exception as error:
            failures.append(error)

    for _ in range(3):
        thread = threading.Thread(target=deliver)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
    assert failures == []


@pytest.mark.parametrize("background", [True, False])
def test_no_value_of_a_response_is_in_what_it_wrote(sink, background, tmp_path, capfd):
    """A log is read by more people than the database is."""
    with Monitor("memory:", sinks=[sink], background=background) as monitor:
        for _ in range(12):
            monitor.observe("t", {"text": CANARY, "people": {f"{CANARY}@example.org": 1}})
        monitor.observe("t", {"text": [CANARY], "people": {f"{CANARY}@example.org": CANARY}})
        assert monitor.flush(20)
        assert set(monitor.health().sinks.values()) == {"ok"}
    assert_no_canary(tmp_path, *capfd.readouterr(), sink)


@pytest.mark.swallows
def test_an_event_that_failed_is_delivered_again_in_order(sink):
    """A disk that was full for an hour costs no event."""
    left = [3]

    def fail(event):
        left[0] -= 1
        if left[0] >= 0:
            raise OSError

    failing = Before(sink, fail)
    with Monitor("memory:", sinks=[failing], flush_interval=10_000.0) as monitor:
        drift(monitor)
        assert monitor.flush(20) is False
        attempts = 1
        while not monitor.flush(20):
            attempts += 1
            assert attempts <= 3
        assert len(failing.sent) == len(set(failing.sent)) == 2


def test_one_that_hangs_keeps_nobody_and_goes_on_later(sink):
    """The tool's thread and the end of a flush do not wait for a sink."""
    go = threading.Event()
    hanging = Before(sink, lambda _: go.wait(20))
    with Monitor("memory:", sinks=[hanging], flush_interval=10_000.0) as monitor:
        drift(monitor)
        assert monitor.flush(0.05) is False
        drift(monitor, "other")
        go.set()
        assert monitor.flush(20) is True
    assert len(hanging.sent) == 4


@pytest.mark.parametrize("background", [True, False])
def test_one_that_comes_back_in_is_served(sink, background):
    """A sink that posts by a watched client must neither wait for itself nor be called without end."""
    monitor = Monitor(
        "memory:",
        background=background,
        flush_interval=10_000.0,
        sinks=[calling := Before(sink, lambda _: (monitor.observe("the client", GOOD), monitor.flush(0.05)))],
    )
    with monitor:
        drift(monitor)
        monitor.flush(20)
        monitor.flush(20)
    assert len(calling.sent) == len(set(calling.sent)) >= 2


def test_an_object_that_is_none_is_refused_by_name():
    """Whoever writes a sink should read what is missing, not find out at the first event."""
    for bad, said in (
        (object(), r"sinks\[0\]: object lacks the method emit\(event\); see toolpulse.sinks.base.Sink"),
        (LogSink, r"sinks\[0\] must be an object with emit\(event\); LogSink is a class"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            Monitor("memory:", sinks=[bad])
