"""SIGTERM in the middle of work."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from programs import whole

from toolpulse.stores import open_store

pytestmark = [pytest.mark.attack, pytest.mark.skipif(not hasattr(os, "fork"), reason="no SIGTERM as here")]

LOADED = """
import atexit, signal, threading

def leave(*_):
    sys.exit(143)

signal.signal(signal.SIGTERM, leave)
monitor = Monitor("sqlite:///t.db", sinks=[JsonlSink("drift.jsonl")], flush_interval=0.01)
stop = threading.Event()
done = [0] * 4

def work(number):
    while not stop.is_set():
        monitor.observe("t", GOOD if done[number] % 5 else {**GOOD, "note": 1})
        done[number] += 1

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
Path("running").touch()
try:
    threading.Event().wait()
finally:
    stop.set()
    for thread in threads:
        thread.join()
    Path("done").write_text(str(sum(done)))
"""


def test_five_times_sigterm_under_load_costs_no_call(start, tmp_path):
    """A container that is stopped has a handler that ends the program; what was counted by then is in the store."""
    chance = random.Random(5)
    store = open_store(f"sqlite:///{tmp_path}/t.db")
    calls = 0
    for _ in range(5):
        (tmp_path / "running").unlink(missing_ok=True)
        program = start(LOADED)
        program.wait_for("running")
        time.sleep(chance.uniform(0.1, 0.3))  # another moment each time
        program.process.send_signal(signal.SIGTERM)
        assert program.process.communicate(timeout=60) == ("", "")
        assert program.process.returncode == 143
        calls += int((tmp_path / "done").read_text())
        assert whole(store).observations == calls
    store.close()
