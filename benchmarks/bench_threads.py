"""A watched tool under load: every call counted, memory flat, and a sink that hangs holds up nobody.

Threads call one tool whose responses take fifty shapes. After the first 10,000 calls everything that can be learned is
known; what a monitor keeps from there on must not grow with calls. Beside its sink that works stands one that never
comes back.
"""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.timing import options, table, verdict
from toolpulse import Monitor

SETTLED: Final = 10_000
"""Calls after which memory is flat."""

TRACED_GROWTH: Final = 256.0
"""Kilobytes that objects may grow by from there on, as tracemalloc counts them."""

RSS_GROWTH: Final = 8_192.0
"""Kilobytes that the process may: the allocator keeps what threads used at the same time."""

_SHAPES: Final = 50
_STATM: Final = Path("/proc/self/statm")
_PATIENCE: Final = 10.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Run(NamedTuple):
    """One run of all threads."""

    seconds: float
    counted: int
    settled: float
    """Kilobytes after the first calls."""
    ended: float
    """Kilobytes at the end."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables and assert that every call was counted."""
    args = options(
        __doc__, argv, calls=(1_000_000, "calls"), threads=(8, "threads"), traced=(100_000, "calls under tracemalloc")
    )
    calls, traced = (12_000, 10_500) if args.quick else (args.calls, args.traced)
    plain = timed(_tool, calls, args.threads)
    rows = [("unwatched", calls, plain.seconds, calls / plain.seconds, 1.0)]
    for name, sinks in (("watched", [_Counting()]), ("watched, a sink hangs", [_Counting(), _Hanging()])):
        run = watched(calls, args.threads, sinks, _rss)
        assert run.counted == calls, f"{run.counted:,} of {calls:,} calls were counted"
        rows.append((name, run.counted, run.seconds, calls / run.seconds, run.seconds / plain.seconds))
    table(
        f"{calls:,} calls from {args.threads} threads", ("tool", "counted", "seconds", "calls/s", "to unwatched"), rows
    )
    objects = watched(traced, args.threads, [_Counting()], _traced, tracing=True)
    assert objects.counted == traced, f"{objects.counted:,} of {traced:,} calls were counted"
    table(
        f"kilobytes after {SETTLED:,} calls and at the end",
        ("measure", "calls", "settled", "end"),
        (("resident set", calls, run.settled, run.ended), ("tracemalloc", traced, objects.settled, objects.ended)),
    )
    targets = (
        ("growth of objects in KB", objects.ended - objects.settled, TRACED_GROWTH),
        ("growth of the resident set in KB", run.ended - run.settled, RSS_GROWTH),
    )
    return verdict(targets, check=args.check)


def watched(
    calls: int, threads: int, sinks: list[Any], kilobytes: Callable[[], float], *, tracing: bool = False
) -> Run:
    """Run a watched tool; ``kilobytes`` measures memory once settled and at the end."""
    monitor = Monitor("memory:", sinks=sinks, flush_interval=0.05)
    tool = monitor.watch(tool="loaded")(_tool)
    if tracing:
        tracemalloc.start()
    try:
        timed(tool, SETTLED, threads)
        _settle(monitor)
        settled = kilobytes()
        run = timed(tool, calls - SETTLED, threads)
        _settle(monitor)
        ended = kilobytes()
    finally:
        if tracing:
            tracemalloc.stop()
        for sink in sinks:
            sink.release()
    health = monitor.health().tools["loaded"]
    assert health.unjudged == health.errors == 0
    monitor.close()
    return Run(run.seconds * calls / (calls - SETTLED), health.calls, settled, ended)


def timed(tool: Callable[[int], Any], calls: int, threads: int) -> Run:
    """Call the tool from all threads at once; together they make exactly ``calls`` calls."""
    start = threading.Barrier(threads + 1)

    def work(own: range) -> None:
        start.wait()
        for number in own:
            tool(number)

    workers = [threading.Thread(target=work, args=(range(calls)[n::threads],)) for n in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return Run(time.perf_counter() - began, calls, 0.0, 0.0)


def _settle(monitor: Monitor) -> None:
    """Wait until the worker has judged what waits, or hangs in a sink. Not by ``flush``: that would hang here."""
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        health = monitor.health()
        if not health.waiting or any(state.startswith("busy") for state in health.sinks.values()):
            return
        time.sleep(0.02)


def _tool(number: int) -> dict[str, Any]:
    """One of fifty shapes: which of six fields are there, by the bits of a number."""
    kind = number % _SHAPES
    response: dict[str, Any] = {"id": number, "name": "a document", "score": number * 0.5}
    for bit in range(6):
        if kind >> bit & 1:
            response[_OPTIONAL[bit]] = number
    return response


_OPTIONAL: Final = ("author", "rank", "clicks", "likes", "shares", "views")


class _Counting:
    def __init__(self) -> None:
        self.events = 0

    def emit(self, event: object) -> None:
        self.events += 1

    def release(self) -> None:
        """Nothing to let go of."""


class _Hanging:
    def __init__(self) -> None:
        self._released = threading.Event()

    def emit(self, event: object) -> None:
        self._released.wait()

    def release(self) -> None:
        self._released.set()


def _rss() -> float:
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * _PAGE / 1024
    except OSError:  # not Linux
        return 0.0


def _traced() -> float:
    return tracemalloc.get_traced_memory()[0] / 1024


if __name__ == "__main__":
    raise SystemExit(main())
