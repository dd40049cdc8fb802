# ruff: noqa: D102
from __future__ import annotations

import gc
import signal
import threading
import time

import pytest
from scripts import logged, run

from toolpulse._base.locks import NonReentrantLock
from toolpulse.runtime.background import lifetime
from toolpulse.runtime.background.worker import Worker
from toolpulse.testing import RecordingMonitor


class Job:
    """What a worker flushes; ``flushed`` is released once a flush."""

    def __init__(self):
        self.flushed = threading.Semaphore(0)
        self.started = 0
        self.go = threading.Event()
        self.go.set()

    def flush(self):
        self.go.wait()
        self.flushed.release()

    def start(self):
        self.started += 1


def _worker_for(job, interval=0.001):
    return Worker(job.flush, interval, job.start)


def test_nothing_runs_before_the_first_wake():
    """A process that never calls a tool has no thread of ours."""
    job = Job()
    worker = _worker_for(job)
    assert worker._thread is None
    assert worker.flush(1.0) is None
    worker.wake()
    assert job.flushed.acquire(timeout=10)
    assert job.started == 1
    worker.stop()


def test_every_wake_is_followed_by_a_flush():
    """What was recorded before a wake must not wait for the next one."""
    job = Job()
    worker = _worker_for(job)
    for _ in range(50):
        worker.wake()
        assert job.flushed.acquire(timeout=10)
    worker.stop()


def test_a_wake_during_a_flush_is_followed_by_another():
    """The flush under way may have passed the tool already."""
    job = Job()
    job.go.clear()
    worker = _worker_for(job)
    worker.wake()
    while worker._wanted:  # until the flush is under way
        time.sleep(0.0005)
    worker.wake()
    job.go.set()
    assert job.flushed.acquire(timeout=10)
    assert job.flushed.acquire(timeout=10)
    worker.stop()


def test_a_hurry_does_not_wait_for_the_interval():
    """Where shapes pile up the flush comes at once."""
    job = Job()
    worker = _worker_for(job, interval=10_000.0)
    worker.wake()
    assert not job.flushed.acquire(blocking=False)
    worker.wake(hurry=True)
    assert job.flushed.acquire(timeout=10)
    worker.stop()


def test_flush_waits_for_one_that_began_later():
    """Whoever asks wants what came before the question to be in it."""
    job = Job()
    job.go.clear()
    worker = _worker_for(job)
    worker.wake(hurry=True)
    while worker._wanted:
        time.sleep(0.0005)
    assert worker.flush(0.01) is False
    job.go.set()
    assert worker.flush(10.0) is True
    assert job.flushed.acquire(timeout=1)
    assert job.flushed.acquire(timeout=1)
    worker.stop()


def test_after_stop_no_thread_is_started():
    """A closed monitor stays closed."""
    job = Job()
    worker = _worker_for(job)
    worker.wake()
    assert job.flushed.acquire(timeout=10)
    thread = worker._thread
    worker.stop()
    thread.join(10)
    assert not thread.is_alive()
    worker.wake()
    assert worker._thread is None


def test_the_thread_ends_with_what_it_works_for():
    """A monitor nobody holds must not be kept by its own worker."""
    job = Job()
    worker = _worker_for(job)
    worker.wake()
    assert job.flushed.acquire(timeout=10)
    thread = worker._thread
    del job
    gc.collect()
    worker.wake()
    thread.join(10)
    assert not thread.is_alive()


class Exiting(Job):
    def __init__(self):
        super().__init__()
        self.threads = []

    def flush(self):
        self.threads.append(threading.current_thread())
        super().flush()
        raise SystemExit


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_was_ended_is_started_again():
    """A store that calls sys.exit must not end the watching for good."""
    job = Exiting()
    worker = _worker_for(job)
    for _ in range(3):
        worker.wake()
        assert job.flushed.acquire(timeout=10)
        job.threads[-1].join(10)
    assert len(set(job.threads)) == 3
    worker.stop()


def test_a_turn_is_not_given_twice_to_its_holder():
    """A signal handler that flushes in the middle of a flush must come back, and not wait for itself."""
    turn = NonReentrantLock()
    assert turn.acquire(0)
    assert not turn.acquire(1000.0)
    refused = []
    thread = threading.Thread(target=lambda: refused.append(turn.acquire(0.001)))
    thread.start()
    thread.join()
    assert refused == [False]
    turn.release()
    assert turn.acquire(0)


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_a_signal_handler_may_call_watched_tools_and_flush():
    """A handler for SIGTERM that says goodbye through a watched tool must not meet a lock that its own thread holds."""
    monitor = RecordingMonitor(background=True, flush_interval=0.001)
    rung = 0

    def ring(number, frame):
        nonlocal rung
        rung += 1
        monitor.observe("t", {"a": rung})
        monitor.flush(timeout=0.01)
        monitor.health()

    before = signal.signal(signal.SIGALRM, ring)
    calls = 0
    try:
        for round_ in range(200):
            signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.000003 * round_)  # once, at another place each time
            while rung <= round_:
                monitor.observe("t", {"a": 1})
                calls += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert monitor.flush()
    # an update interrupted by the handler's own may lose that one
    assert abs(monitor.health().tools["t"].calls - calls - rung) <= 2
    monitor.close()


SCRIPT = """
import sys, threading, toolpulse
from toolpulse.sinks.jsonl import JsonlSink
toolpulse.configure(sinks=[JsonlSink("drift.jsonl")], flush_interval=10_000.0)

@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}

for n in range(20):
    tool(n)
tool("x")
"""

ENDS = {
    "normally": ("", 0),
    "by sys.exit": ("sys.exit(3)", 3),
    "by an exception": ("raise LookupError('x')", 1),
    "with a daemon thread": ("threading.Thread(target=threading.Event().wait, daemon=True).start()", 0),
    "with calls of a thread that outlives the main one": (
        "threading.Timer(0.05, lambda: [tool(None) for _ in range(3)]).start()",
        0,
    ),
    "in a handler of atexit": ("import atexit; atexit.register(tool, None)", 0),
}


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize("name", ENDS)
def test_what_waits_is_told_when_the_process_ends(name, tmp_path):
    """A command that runs for a second is over before the first interval is."""
    end, code = ENDS[name]
    done = run(SCRIPT + end, tmp_path)
    assert done.returncode == code
    assert "toolpulse" not in done.stderr
    events = logged(tmp_path)
    assert [event.status for event in events[:2]] == ["learned", "open"]
    assert events[0].count == 20


@pytest.mark.attack
@pytest.mark.quick
def test_first_calls_of_all_in_a_handler_of_atexit_are_told(tmp_path):
    """Then it is too late for a thread, from Python 3.12 on; the exit's own flush has to do."""
    configured = SCRIPT[: SCRIPT.index("for n in")]
    done = run(f"{configured}import atexit\natexit.register(lambda: [tool(n) for n in range(12)])\n", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [event.status for event in logged(tmp_path)] == ["learned"]


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize(("handler", "told"), [("lambda *_: sys.exit(143)", True), ("signal.SIG_DFL", False)])
def test_a_terminated_process_tells_what_waits_where_it_has_a_handler(handler, told, tmp_path):
    """A container is stopped by SIGTERM; the docs say what that costs and how to keep it."""
    end = f"import os, signal\nsignal.signal(signal.SIGTERM, {handler})\nos.kill(os.getpid(), signal.SIGTERM)\n"
    done = run(SCRIPT + end, tmp_path)
    assert done.returncode == (143 if told else -signal.SIGTERM)
    assert (tmp_path / "drift.jsonl").exists() is told


HANGING = """
import threading, time
class Hanging:
    def emit(self, event):
        threading.Event().wait()
"""


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize("order", ["Hanging(), JsonlSink('drift.jsonl')", "JsonlSink('drift.jsonl'), Hanging()"])
@pytest.mark.parametrize("interval", [0.001, 10_000.0], ids=["running", "at exit"])
def test_a_sink_that_hangs_neither_stops_the_exit_nor_the_others(order, interval, tmp_path):
    """A webhook whose server does not answer must not keep the process, nor keep the drift log from its events."""
    script = HANGING + SCRIPT.replace('JsonlSink("drift.jsonl")', order, 1).replace("10_000.0", str(interval))
    started = time.monotonic()
    done = run(script, tmp_path)
    assert time.monotonic() - started < lifetime.EXIT_PATIENCE + 20
    assert done.returncode == 0
    assert [event.status for event in logged(tmp_path)] == ["learned", "open"]


@pytest.mark.attack
@pytest.mark.quick
def test_a_store_that_hangs_does_not_stop_the_exit(tmp_path):
    """A database that does not answer must not keep the process either."""
    script = (
        SCRIPT.replace("toolpulse.configure(", "from contextlib import contextmanager\n"
                       "from toolpulse.stores.memory import MemoryStore\n"
                       "class Store(MemoryStore):\n"
                       "    @contextmanager\n"
                       "    def transaction(self, *place):\n"
                       "        with super().transaction(*place) as transaction:\n"
                       "            yield transaction\n"
                       "            threading.Event().wait()\n"
                       "toolpulse.configure(Store(), ")
    )  # fmt: skip
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [event.status for event in logged(tmp_path)] == ["learned", "open"]
