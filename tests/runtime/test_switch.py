from __future__ import annotations

import asyncio

import pytest
from scripts import run

import toolpulse
from toolpulse import set_active
from toolpulse.runtime.process import process
from toolpulse.runtime.switch import switch
from toolpulse.testing import RecordingMonitor, recording


@pytest.fixture(autouse=True)
def _as_before():
    before = switch.on
    yield
    switch.on = before


def _tools(monitor):
    @monitor.watch(tool="t")
    def plain(value):
        return value

    @monitor.watch(tool="t")
    def failing():
        raise LookupError

    @monitor.watch(tool="t")
    def streaming():
        yield 1

    @monitor.watch(tool="t")
    async def awaited():
        return 1

    def call():
        plain(1)
        with pytest.raises(LookupError):
            failing()
        list(streaming())
        asyncio.run(awaited())
        monitor.observe("t", 1)

    return call


def test_off_takes_nothing_and_on_takes_all_again():
    """A switch that leaves one kind of tool on would be no switch."""
    with RecordingMonitor() as monitor:
        call = _tools(monitor)
        call()
        set_active(False)
        call()
        assert monitor.health().tools["t"].calls == 5
        set_active(True)
        call()
        assert monitor.health().tools["t"].calls == 10


def test_a_block_restores_what_was_before():
    """A test that turns watching off must not turn it off for the next one."""
    for before in (True, False):
        set_active(before)
        with set_active(False):
            assert not switch.on
            with set_active(True):
                assert switch.on
            assert not switch.on
        assert switch.on is before
    with pytest.raises(LookupError), set_active(not before):
        raise LookupError
    assert switch.on is before


def test_a_stream_that_began_while_on_ends_while_off_without_a_word():
    """Half a stream is not judged."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool():
            yield 1
            yield 2

        stream = tool()
        next(stream)
        with set_active(False):
            list(stream)
        assert monitor.health().tools["t"].calls == 0


def test_off_makes_no_monitor():
    """A process that must not be watched opens no store and starts no thread."""
    before = process.set(None)
    try:

        @toolpulse.watch
        def tool():
            return 1

        @toolpulse.watch
        def stream():
            yield 1

        with set_active(False):
            tool()
            list(stream())
        assert process._monitor is None
    finally:
        process.set(before)


SCRIPT = """
import threading, toolpulse
from toolpulse.runtime.process import process

@toolpulse.watch
def tool():
    return {"a": 1}

@toolpulse.watch
def stream():
    yield 1

for _ in range(12):
    tool(), list(stream())
print(process._monitor is None, threading.active_count())
"""


@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("true", True), ("yes", True), ("0", False), ("", False)], ids=repr
)
def test_the_environment_turns_it_off(value, off, tmp_path):
    """An operator can stop the watching without touching the program."""
    done = run(SCRIPT, tmp_path, env={"TOOLPULSE_DISABLED": value})
    assert done.returncode == 0
    assert (done.stdout == "True 1\n") is off
    assert (done.stderr == "") is off


def test_off_looks_at_nothing():
    """Off means that not even the type of a response is asked for."""
    looked = []

    class Watched(dict):
        pass

    toolpulse.register(Watched, lambda value: looked.append(value) or {})
    with recording() as monitor:

        @monitor.watch(tool="t")
        def tool():
            return Watched()

        with set_active(False):
            tool()
        assert looked == []
        tool()
        assert len(looked) == 1
