# ruff: noqa: D102
from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from scripts import environment, logged, run

from toolpulse import Monitor
from toolpulse.runtime.background import lifetime
from toolpulse.stores import open_store
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick]

FIRST = """
import atexit, os, sys, threading, time
late = []
atexit.register(lambda: [call() for call in late])  # before ours, so it runs after ours

import toolpulse
from toolpulse.sinks.jsonl import JsonlSink
"""
CONFIGURE = 'monitor = toolpulse.configure(sinks=[JsonlSink("drift.jsonl")], flush_interval=10_000.0)\n'
TOOL = """
@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}

def calls():
    for n in range(20):
        tool(n)
    tool("x")

"""
SCRIPT = FIRST + CONFIGURE + TOOL


def _saved(folder):
    """Calls in the default store of a folder."""
    store = open_store(f"sqlite:///{folder}/.toolpulse/toolpulse.db")
    known = store.load("t", "")
    store.close()
    return known.observations if known else 0


LATE = {
    "more of a tool": (SCRIPT + "calls()\nlate.append(calls)\n", 42),
    "the first of a tool": (SCRIPT + "late.append(calls)\n", 21),
    "the first of all, nothing configured": (FIRST + TOOL + "late.append(calls)\n", 21),
    "inside the call": (SCRIPT.replace("flush_interval=10_000.0", "background=False") + "late.append(calls)\n", 21),
}


@pytest.mark.parametrize("what", LATE)
def test_calls_in_a_handler_of_atexit_that_runs_after_ours_are_saved(what, tmp_path):
    """A handler that was registered before the import runs when the last flush is over."""
    script, saved = LATE[what]
    done = run(script, tmp_path)
    assert done.returncode == 0
    assert "toolpulse" not in done.stderr.replace('"logger": "toolpulse"', "")
    assert _saved(tmp_path) == saved
    if "JsonlSink(" in script:
        assert [event.status for event in logged(tmp_path)][:2] == ["learned", "open"]


def test_calls_of_a_daemon_thread_after_the_last_flush_are_saved(tmp_path):
    """Daemon threads run on until the interpreter stops them; each call that came back is in the store."""
    busy = """
counted = []
def work():
    while True:
        tool(1)
        counted.append(1)

def wait():
    start = len(counted)
    while len(counted) < start + 50:
        time.sleep(0.001)
    os.write(1, b"%d" % len(counted))

late.append(wait)
threading.Thread(target=work, daemon=True).start()
while not counted:
    time.sleep(0.001)
"""
    done = run(SCRIPT + busy, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 50
    assert _saved(tmp_path) >= int(done.stdout)


def test_calls_of_threads_that_outlive_the_work_of_a_multiprocessing_child_are_saved(tmp_path):
    """Such a child flushes before it waits for its threads."""
    child = """
import multiprocessing
def child():
    tool(1)
    threading.Thread(target=work).start()

def work():
    while not threading._SHUTTING_DOWN:  # waited for by now; until Python 3.12 the flush is over then
        time.sleep(0.001)
    calls()

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
"""
    done = run(SCRIPT + child, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _saved(tmp_path) == 22


def test_late_calls_that_cannot_be_saved_are_counted_and_said_once(tmp_path):
    """A store that is down at the end is down for good; one line says so, and the process ends in time."""
    broken = """
from contextlib import contextmanager
from toolpulse.stores.memory import MemoryStore

class Breaking(MemoryStore):
    broken = False

    @contextmanager
    def transaction(self, *names):
        if self.broken:
            raise OSError
        with super().transaction(*names) as transaction:
            yield transaction

store = Breaking()
monitor = toolpulse.configure(store, sinks=[], flush_interval=10_000.0)
calls()

def down():
    store.broken = True
    for _ in range(1000):
        tool(1)
    lost = monitor.health().swallowed_by
    print(lost["the process ends: StoreError"], monitor.health().waiting)

late.append(down)
"""
    begun = time.monotonic()
    done = run(FIRST + TOOL + broken, tmp_path)
    assert (done.returncode, done.stdout) == (0, "1000 1000\n")
    said = [line for line in done.stderr.splitlines() if "after the last flush" in line]
    assert said == [
        "toolpulse: a call after the last flush could not be saved (while the process ends, counted from now on)"
    ]
    assert time.monotonic() - begun < 2 * lifetime.EXIT_PATIENCE + 20


class Busy(MemoryStore):
    """While it is flushed, more is counted, as by a thread that never rests."""

    def __init__(self):
        super().__init__()
        self.transactions = 0
        self.call = lambda: None

    @contextmanager
    def transaction(self, *names):
        self.transactions += 1
        with super().transaction(*names) as transaction:
            yield transaction
            self.call()


def test_a_thread_that_never_rests_does_not_keep_the_process():
    """The exit waits for what was counted before it, and not for what is counted meanwhile."""
    store = Busy()
    with Monitor(store, sinks=[], flush_interval=10_000.0) as monitor:
        monitor.observe("t", 1)
        store.call = lambda: monitor.observe("t", 1)
        begun = time.monotonic()
        monitor._flusher.flush_at_exit(60.0)
        assert time.monotonic() - begun < 30
        assert store.transactions <= 4
        store.call = lambda: None


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_kill_costs_what_was_counted_since_the_last_flush(tmp_path):
    """Nothing runs at such an end: what is lost is one interval, and the flush that was under way."""
    script = """
import os, sys, threading, time
import toolpulse
toolpulse.configure(sinks=[], flush_interval=0.2)

@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}

while True:
    tool(1)
    os.write(1, b"%.6f\\n" % time.monotonic())
    time.sleep(0.002)
"""
    dice = random.Random(1)
    for round_ in range(5):
        folder = tmp_path / str(round_)
        folder.mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", script], cwd=folder, env=environment(), stdout=subprocess.PIPE
        ) as child:
            ended = [float(child.stdout.readline()) for _ in range(dice.randint(300, 600))]
            child.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            ended += [float(line) for line in child.stdout.read().splitlines() if line.count(b".") == 1]
        lost = [at for at in ended[_saved(folder) :] if at < killed]
        longest = killed - min(lost, default=killed)
        print(f"{len(lost)} of {len(ended)} calls lost, the oldest {longest:.3f} s before the kill")
        # the flushes that were late on a machine that is busy with other things are no fault
        assert longest < 0.2 + 2.0


def test_pauses_do_not_outlive_an_outage_by_more_than_a_flush():
    """What waited while a store was down must be in it as soon as it is back, however long it was away."""
    with RecordingMonitor(background=True, flush_interval=2.0) as monitor:
        pause = monitor._flusher.link.pause
        for _ in range(100):
            pause.failed()
            assert pause.left <= 2.0
        pause.worked()


@pytest.mark.swallows
@pytest.mark.slow
def test_a_backlog_is_saved_within_a_flush_of_the_store_s_return(tmp_path):
    """Another program held the file for a minute."""
    path = tmp_path / "known.db"
    with Monitor(f"sqlite:///{path}", sinks=[], flush_interval=1.0) as monitor:
        monitor.observe("t", 1)
        assert monitor.flush()
        with _locked(path):
            until = time.monotonic() + 60
            while time.monotonic() < until:
                monitor.observe("t", 1)
                time.sleep(0.01)
            assert monitor.health().waiting
        back = time.monotonic()
        while monitor.health().waiting:
            time.sleep(0.01)
        drained = time.monotonic() - back
        print(f"drained after {drained:.2f} s")
        assert drained < 5


@contextmanager
def _locked(path):
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()
