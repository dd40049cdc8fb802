"""What every sink of the package has to keep. A new sink passes through all of it by its line in ``SINKS``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolpulse import sinks
from toolpulse.runtime.settings import check_sinks
from toolpulse.sinks.base import Sink
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.testing import assert_no_canary, canaries, recording

SINKS = {
    "JsonlSink": lambda folder: JsonlSink(folder / "drift.jsonl"),
    "LogSink": lambda folder: LogSink(),
}
"""Every sink of the package by the name of its class, and how one is made that writes to a folder, if to any."""


@pytest.fixture(params=SINKS)
def sink(request, tmp_path):
    """One sink of each kind, which writes to the test's folder."""
    return SINKS[request.param](tmp_path)


def _of_the_package() -> set[str]:
    modules = [
        importlib.import_module(f"{sinks.__name__}.{module.name}") for module in pkgutil.iter_modules(sinks.__path__)
    ]
    return {
        name
        for module in modules
        for name, one in vars(module).items()
        if inspect.isclass(one) and one.__module__ == module.__name__ and callable(getattr(one, "emit", None))
    } - {Sink.__name__}


def _observed(*more: object) -> list[object]:
    """The events of a monitor that saw responses of every form, full of marked values, change."""
    with recording(sinks=list(more)) as recorded:
        for name, response in canaries().items():
            for _ in range(12):
                recorded.observe(name, response)
                recorded.observe("all of them", response)
    return list(recorded.events)


def test_every_sink_of_the_package_is_tested_here():
    """A sink that nobody holds to the contract is one that leaks, or ends the delivery to itself."""
    assert _of_the_package() == SINKS.keys()


def test_a_monitor_takes_it(sink):
    """What ``configure(sinks=[...])`` asks of a sink is all that it asks."""
    assert isinstance(sink, Sink)
    assert check_sinks([sink]) == (sink,)


def test_it_keeps_no_value_and_no_key_of_a_map(sink, tmp_path, capsys):
    """Whatever a response holds, no file, no log and no object that a sink made may show it."""
    events = _observed(sink)
    assert {"learned", "open"} <= {event.status for event in events}
    assert_no_canary(tmp_path, sink, *capsys.readouterr())


def test_it_leaves_standard_output_alone(sink, capsys):
    """The protocol of a tool server runs over it."""
    for event in _observed():
        sink.emit(event)
    assert capsys.readouterr().out == ""


def test_it_takes_an_event_again(sink):
    """Events are delivered at least once, and possibly from another thread the next time."""
    events = _observed()
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(sink.emit, events * 2)) == {None}
