from __future__ import annotations

import pytest
from hypothesis import find, given
from scripts import run

import toolpulse
from toolpulse import Consumer, set_active, shape_of
from toolpulse._base.canonical import load_strict
from toolpulse.errors import ConfigurationError
from toolpulse.runtime.process import process
from toolpulse.shape.nodes import Shape, shape_from_normal
from toolpulse.testing import RecordingMonitor, recording, responses, shapes


@toolpulse.watch(tool="t")
def tool(value):
    """Stand for a tool of the application under test."""
    return {"value": value}


def test_recording_catches_what_tools_report():
    """A test of an application calls its tools and looks at what was told, without waiting for anything."""
    with recording() as monitor:
        for n in range(12):
            tool(n)
        tool("x")
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert [event.changes[0].path for event in monitor.drift] == ["value"]
        assert monitor.health().tools["t"].calls == 13


def test_recording_restores_the_monitor_before_it():
    """Blocks nest, and an error in one leaves nothing behind."""
    before = process.set(None)
    try:
        with recording() as outer:
            with pytest.raises(LookupError), recording():
                raise LookupError
            tool(1)
            assert outer.health().tools["t"].calls == 1
        assert process._monitor is None
    finally:
        process.set(before)


def test_recording_is_on_even_where_watching_is_off():
    """A continuous integration that turns watching off still has to pass the tests about it."""
    with set_active(False):
        with recording() as monitor:
            tool(1)
            assert monitor.health().tools["t"].calls == 1
        with recording() as monitor:
            pass
        tool(1)
        assert monitor.health().tools == {}


def test_recording_takes_the_settings_of_a_monitor():
    """What is configured in production is what should be tested."""
    told = []

    class Sink:
        def emit(self, event):
            told.append(event)

    with recording(consumers=[Consumer("strict", numeric="strict")], sinks=[Sink()]) as monitor:
        for n in range(12):
            tool(n)
        tool(1.5)
        assert monitor.drift[0].risks == {"strict": "high"}
        assert told == monitor.events
    with pytest.raises(ConfigurationError, match="confirm"), recording(confirm=0):
        pass


def test_a_recording_monitor_stands_alone():
    """An object under test may be given one."""
    with RecordingMonitor() as monitor:
        monitor.observe("t", 1)
        assert monitor.events == monitor.drift == []


@given(responses())
def test_responses_have_shapes(response):
    """The strategy gives what a tool may return."""
    assert shape_of(response).fingerprint


@given(shapes())
def test_shapes_are_shapes_with_a_normal_form(shape):
    """The strategy gives what a walk may find, and it can be written down and read again."""
    assert isinstance(shape, Shape)
    assert shape_from_normal(load_strict(shape.text)) is shape


def test_the_strategies_reach_every_kind_of_shape():
    """A law that is never tried on a map is not proven for maps."""
    for kind in ("object", "array", "map", "unknown", "string", "null"):
        assert find(shapes(), lambda shape, kind=kind: shape.kind == kind).kind == kind


def test_hypothesis_is_needed_by_the_strategies_only(tmp_path):
    """Whoever tests without it can still record."""
    code = """
import sys
sys.modules["hypothesis"] = None
from toolpulse.testing import assert_no_canary, canaries, recording, responses
with recording() as monitor:
    monitor.observe("t", canaries())
assert_no_canary(monitor.events)
try:
    responses()
except ImportError:
    print("no strategies")
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no strategies\n", "")
