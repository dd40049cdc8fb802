"""Honest little loops: both sides of a ratio take turns in one run, on fresh objects, and the median counts.

Machines are noisy, and a shared one more so. What disturbs a run disturbs both sides of a ratio that take turns, so
ratios are compared and microseconds only shown.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from operator import truediv
from typing import Any, NamedTuple

Side = Callable[[Any], object]


class Timed(NamedTuple):
    """What each side took, in the order they were given; all are medians over the rounds."""

    micros: tuple[float, ...]
    """Microseconds a call."""
    ratios: tuple[float, ...]
    """To the last side of the same round."""


def once(step: Callable[[], object]) -> float:
    """Seconds that one step took; what it gives is let go after that."""
    gc.collect()
    start = time.perf_counter()
    result = step()
    seconds = time.perf_counter() - start
    del result
    return seconds


def compare(make: Callable[[int], Sequence[Sequence[Any]]], sides: Sequence[Side], rounds: int, calls: int) -> Timed:
    """Time ``sides`` in turns. ``make(calls)`` gives each side its arguments, before a round and outside its time.

    The collector rests while a round is timed. The side that begins changes from round to round.
    """
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        arguments = make(calls)
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        gc.collect()
        gc.disable()
        try:
            for index in order:
                times[index].append(_timed(sides[index], arguments[index]))
        finally:
            gc.enable()
        del arguments
    return Timed(
        tuple(statistics.median(seconds) * 1e6 for seconds in times),
        tuple(statistics.median(map(truediv, seconds, times[-1])) for seconds in times),
    )


def _timed(side: Side, arguments: Sequence[Any]) -> float:
    start = time.perf_counter()
    for argument in arguments:
        side(argument)
    return (time.perf_counter() - start) / len(arguments)


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    cells = [tuple(map(_cell, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    print(f"\n{title}\n")
    for row in (tuple(head), tuple("-" * width for width in widths), *cells):
        first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join((first.strip().ljust(widths[0]), *rest)).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def options(about: str | None, argv: Sequence[str] | None, **numbers: tuple[int, str]) -> argparse.Namespace:
    """Read the command line: ``--quick``, ``--check``, and options that are whole numbers with a default."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, measures nothing")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    for name, (default, what) in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default {default:,})")
    return parser.parse_args(argv)


def verdict(targets: Sequence[tuple[str, float, float]], *, check: bool) -> int:
    """Print each target (what, measured, at most) as met or missed; the exit code, 1 only with ``check``."""
    print()
    missed = False
    for what, measured, most in targets:
        missed |= measured > most
        print(f"target: {what} at most {most:g}: {measured:.2f}, {'met' if measured <= most else 'MISSED'}")
    sys.stdout.flush()
    return int(missed and check)
