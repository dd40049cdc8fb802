"""Processes that call one tool at the same time, as a program of its own, and what they must leave behind.

``python fleet.py PLAN`` runs the plan (JSON: see ``run``). What each process calls is fixed by its number, so the
totals are known without asking anybody.
"""

# ruff: noqa: D102
from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

from scripts import environment

from toolpulse import Monitor, shape_of
from toolpulse.sinks.jsonl import JsonlSink

TOOL = "search"
GOOD = {"id": 1, "name": "x", "tags": ["a"]}
SHAPES = (GOOD, {**GOOD, "note": "n"}, {**GOOD, "page": 2}, {**GOOD, "note": "n", "page": 2}, {**GOOD, "size": 1.5})
WARM_UP = 30
"""Calls of each process that show one shape only, so that the warm-up knows it whoever comes first."""

EVERYWHERE = {**GOOD, "id": "1"}
"""The break that all processes see, from the same moment on."""
HERE_ONLY = {**GOOD, "tags": "a"}
"""The break that the first process alone sees."""


def response(process, number, calls):
    """What a process's call gives; None for one that fails."""
    if number < WARM_UP:
        return GOOD
    if number % 50 == 49:
        return None
    if number >= calls // 2 and number % 7 == 3:
        return EVERYWHERE
    if process == 0 and number >= calls // 3 and number % 11 == 5:
        return HERE_ONLY
    return SHAPES[number % len(SHAPES)]


def expected(processes, calls):
    """How often each shape must be in the store, by fingerprint, and how many calls failed."""
    given = Counter(
        json.dumps(response(process, number, calls)) for process in range(processes) for number in range(calls)
    )
    errors = given.pop("null")
    return Counter({shape_of(json.loads(text)).fingerprint: n for text, n in given.items()}), errors


class ToolError(Exception):
    """What the tool raises."""


class Member:
    """One process of the fleet."""

    def __init__(self, plan, number, monitor=None):
        self.plan = plan
        self.number = number
        self.monitor = monitor or monitor_of(plan)
        self.tool = self.monitor.watch(tool=TOOL)(self._tool)

    def _tool(self, number):
        found = response(self.number, number, self.plan["calls"])
        if found is None:
            raise ToolError
        return found

    def call(self, numbers):
        for number in numbers:
            with suppress(ToolError):
                self.tool(number)

    def work(self, together=None):
        """All calls; the processes wait for each other where the break begins."""
        calls = self.plan["calls"]
        self.call(range(calls // 2))
        if together is not None:
            together.wait(60)
        self.call(range(calls // 2, calls))

    def leave(self):
        """The end that the plan names for this process."""
        ends = self.plan["ends"]
        end = ends[self.number % len(ends)]
        if end == "os._exit":
            ok = self.monitor.flush(60)
            os._exit(0 if ok else 3)
        elif end == "SIGTERM":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)
        elif end == "close":
            self.monitor.close(60)


def monitor_of(plan):
    """The monitor of a process; all write to one drift log."""
    return Monitor(plan["url"], sinks=[JsonlSink(Path(plan["folder"], "drift.jsonl"))], flush_interval=0.05)


def member(plan, number, together):
    """A process of its own."""
    one = Member(plan, number)
    one.work(together)
    one.leave()


def worker(plan, number, together, monitor):
    """A worker of a server that forked: the monitor is the master's, as it was at the fork."""
    one = Member(plan, number, monitor)
    one.work(together)
    one.leave()


def task(plan, number):
    """A task of a pool; its process may have done others."""
    global _pooled  # noqa: PLW0603 - one monitor a process
    _pooled = _pooled or monitor_of(plan)
    one = Member(plan, number, _pooled)
    one.work()
    return os.getpid()


_pooled = None


def run(plan):
    """Run a plan: ``url``, ``folder``, ``processes``, ``calls``, ``method``, ``ends``."""
    count = plan["processes"]
    if plan["method"] == "pool":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            list(pool.map(task, [plan] * count, range(count)))
        return
    prefork = plan["method"] == "prefork"
    context = multiprocessing.get_context("fork" if prefork else plan["method"])
    together = context.Barrier(count)
    if not prefork:
        processes = [context.Process(target=member, args=(plan, number, together)) for number in range(count)]
        _join(processes, plan)
        return
    master = Member(plan, 0)
    master.call(range(plan["calls"] // 4))
    processes = [
        context.Process(target=worker, args=(plan, number, together, master.monitor)) for number in range(1, count)
    ]
    for process in processes:
        process.start()
    master.call(range(plan["calls"] // 4, plan["calls"] // 2))
    together.wait(60)
    master.call(range(plan["calls"] // 2, plan["calls"]))
    _join(processes, plan)
    master.monitor.close(60)


def _join(processes, plan):
    for process in processes:
        if process.pid is None:
            process.start()
    for process in processes:
        process.join()
    codes = [process.exitcode for process in processes]
    assert set(codes) <= {0, 143}, codes


def launch(**plan):
    """Run a plan in an interpreter of its own; no process of it may have anything to say."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", __file__, json.dumps(plan)],
        env=environment(),
        cwd=plan["folder"],
        capture_output=True,
        text=True,
        check=False,
        timeout=plan.get("timeout", 100),
    )
    said = f"{done.stdout}{done.stderr}"
    assert not said, said
    assert done.returncode == 0


if __name__ == "__main__":
    run(json.loads(sys.argv[1]))
