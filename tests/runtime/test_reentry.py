"""Signal handlers and finalizers run in the middle of anything, and may call watched tools there."""

from __future__ import annotations

import gc
import signal
import threading
import time
from contextlib import suppress

import pytest

from toolpulse import Consumer, Monitor
from toolpulse.errors import DriftError

MODES = [{"background": True, "flush_interval": 0.001}, {"background": False}]
pytestmark = [
    pytest.mark.attack,
    pytest.mark.quick,
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to a thread"),
]


class Signals:
    """Sends this thread a signal again and again while it is open; each calls ``handler`` wherever the thread is."""

    def __init__(self, handler, pause=0.0002):
        self.rung = 0
        self._depth = 0
        self._handler = handler
        self._pause = pause
        self._over = threading.Event()
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._send)

    def _ring(self, number, frame):
        self.rung += 1
        self._depth += 1
        self._handler()
        self._depth -= 1

    def _send(self):
        while not self._over.wait(self._pause):
            # a handler may be interrupted in its turn, but not until the stack is full
            if self._depth < 3:
                signal.pthread_kill(self._main, signal.SIGUSR1)

    def __enter__(self):
        self._before = signal.signal(signal.SIGUSR1, self._ring)
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._over.set()
        self._thread.join()
        signal.signal(signal.SIGUSR1, self._before)


class Finalized:
    """In a cycle, so that the collector ends it wherever an allocation starts one."""

    def __init__(self, call):
        self.call = call
        self.me = self

    def __del__(self):
        self.call()


def _fails(monitor, tool):
    monitor.recorder.channel(tool, "", monitor._defaults)
    monitor.recorder.record_error(monitor.recorder.channel(tool, "", monitor._defaults), "LookupError")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_drift", ["log", "raise"])
def test_no_signal_loses_a_count_or_waits_for_its_own_thread(mode, on_drift):
    """A handler met a lock whose holder was not noted yet and hung for seconds, or two counts became one."""
    monitor = Monitor("memory:", sinks=[], on_drift=on_drift, **mode)
    calls = errors = slowest = 0

    def handler():
        nonlocal calls, errors
        calls += 1
        errors += 1
        with suppress(DriftError):
            monitor.observe("t", {f"f{calls % 40}": 1})
        _fails(monitor, "t")
        monitor.flush(0.01)

    with Signals(handler) as signals:
        while signals.rung < 1000:
            began = time.monotonic()
            calls += 1
            with suppress(DriftError):
                monitor.observe("t", {"a": calls % 7, f"g{calls % 40}": 1})
            slowest = max(slowest, time.monotonic() - began)
    assert monitor.flush()
    health = monitor.health().tools["t"]
    assert (health.calls, health.errors) == (calls + errors, errors)
    (channel,) = monitor._channels.values()
    assert channel.state.calls.calls == health.calls
    assert channel.state.observations + health.unjudged == calls
    assert slowest < 5, "it waited for a lock that it held itself"
    monitor.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_drift", ["log", "raise"])
def test_the_first_call_of_a_tool_loses_nothing_that_comes_back_in(mode, on_drift):
    """A tool's place was made twice where its making was interrupted, and one of the two was dropped with its count."""
    reader = Consumer("reader", assertions={"holds": lambda payload: True})
    monitor = Monitor("memory:", sinks=[], consumers=[reader], on_drift=on_drift, **mode)
    tools = 0
    expected: dict[str, int] = {}

    def call():
        tool = f"t{tools}"
        expected[tool] = expected.get(tool, 0) + 1
        monitor.observe(tool, {"a": 1})

    with Signals(call) as signals:
        while signals.rung < 1000 and tools < 1500:
            tools += 1
            call()
    assert monitor.flush()
    counted = {tool: health.calls for tool, health in monitor.health().tools.items()}
    assert sum(counted.values()) == sum(expected.values())
    monitor.close()


def test_the_making_of_a_tool_comes_back_in(monkeypatch):
    """The same at the worst place: while what a tool's calls are counted in is being made."""
    monitor = Monitor("memory:", sinks=[], background=False)
    channels = monitor._flusher.channels
    made = channels._readers
    again = []

    def readers(tool, function):
        if not again:
            again.append(tool)
            monitor.observe("t", {"a": 1})
        return made(tool, function)

    monkeypatch.setattr(channels, "_readers", readers)
    monitor.observe("t", {"a": 1})
    assert monitor.health().tools["t"].calls == 2
    monitor.close()


@pytest.mark.parametrize("mode", MODES)
def test_finalizers_lose_no_count(mode):
    """The collector runs them in whatever thread allocates, the worker's among them."""
    monitor = Monitor("memory:", sinks=[], **mode)
    lock = threading.Lock()
    ended = 0

    def call():
        nonlocal ended
        ended += 1
        monitor.observe("t", {f"f{ended % 300}": 1})

    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for number in range(3000):
            Finalized(call)
            monitor.observe("t", {f"g{number % 300}": 1})
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert lock.acquire(blocking=False)
    assert ended == 3000
    assert monitor.flush()
    assert monitor.health().tools["t"].calls == 6000
    monitor.close()


@pytest.mark.parametrize("mode", MODES)
def test_sinks_keys_and_assertions_may_call_watched_tools(mode):
    """What the application gives us to call is its code, and may use its tools."""
    calls = 0

    def call(*_):
        nonlocal calls
        calls += 1
        monitor.observe("inner", {"a": 1})
        return "k"

    class Calls:
        emit = call

    reader = Consumer("reader", tools="outer", assertions={"calls": call})
    monitor = Monitor("memory:", sinks=[Calls()], consumers=[reader], **mode)
    tool = monitor.watch(tool="outer", key=call)(lambda n: {"n": n})
    for n in range(50):
        tool(n if n < 45 else "x")
    while not monitor.flush():  # telling of it calls the tool once more
        pass
    assert calls > 100
    assert monitor.health().tools["inner"].calls == calls
    monitor.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES[:1])
def test_sixteen_threads_with_handlers_and_finalizers_are_counted_exactly(mode):
    """All of it at once: 16 threads of 50,000 calls, new shapes racing, handlers and finalizers coming back in."""
    monitor = Monitor("memory:", sinks=[], **mode)
    lock = threading.RLock()
    back = 0

    def call():
        nonlocal back
        with lock:
            back += 1
        monitor.observe("t", {f"f{back % 500}": 1})

    def work(number):
        for n in range(50_000):
            monitor.observe("t", {"a": n} if n % 10 else {f"g{(n + number) % 700}": 1})
            if n % 50 == 0:
                Finalized(call)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    with Signals(call):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    gc.collect()
    assert monitor.flush(60)
    assert monitor.health().tools["t"].calls == 16 * 50_000 + back
    monitor.close()
