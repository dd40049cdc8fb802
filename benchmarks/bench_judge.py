"""Judging, folding, saving and loading: what the background worker does, and the offline commands.

Shapes that a baseline of some distinct shapes and paths has not seen are judged against it: one field is gone and one
is new.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import once, options, table
from toolpulse import Baseline, shape_of
from toolpulse.evidence.profile import fold
from toolpulse.evidence.rows import Row
from toolpulse.judgement.judge import judge

SHAPES = (1, 20, 200)
PATHS = (10, 100, 1000)
_FIELDS_A_RECORD = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    args = options(__doc__, argv, rounds=(15, "rounds, of which the median counts"))
    rounds = 2 if args.quick else args.rounds
    shapes, paths = (SHAPES, PATHS) if not args.quick else ((1, 5), (10, 100))
    rows = [(f"{count} shapes", *(judging(count, width, rounds) for width in paths)) for count in shapes]
    table("microseconds to judge a shape not seen before", ("profile of", *(f"{n} paths" for n in paths)), rows)
    largest = (shapes[-1], paths[-1])
    table(
        f"{largest[0]} shapes of {largest[1]} paths",
        ("step", "milliseconds", "bytes"),
        folding_and_saving(*largest, max(2, rounds // 3)),
    )
    return 0


def judging(shapes: int, paths: int, rounds: int) -> float:
    """Microseconds that one judgement takes."""
    profile = fold((row.shape, row.sightings, row.encoding, row.cuts) for row in rows_of(shapes, paths))
    unseen = [shape_of(record(paths, gone=index % paths, new=f"new_{index}")).shape for index in range(rounds)]
    assert judge(profile, unseen[0]).changes
    return statistics.median(once(lambda shape=shape: judge(profile, shape)) for shape in unseen) * 1e6


def folding_and_saving(shapes: int, paths: int, rounds: int) -> list[tuple[str, float, Any]]:
    """Milliseconds to fold, save and load; loading finds no shape of it in memory, as in a new process."""
    rows = rows_of(shapes, paths)
    folded = [once(lambda: fold((r.shape, r.sightings, r.encoding, r.cuts) for r in rows)) for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "baseline.json")
        baseline = Baseline(rows)
        saved = [once(partial(baseline.save, path)) for _ in range(rounds)]
        size = path.stat().st_size
        rows.clear()
        baseline = None  # or loading would find its shapes in memory
        loaded = [once(lambda: Baseline.load(path)) for _ in range(rounds)]
        profiled = [once(lambda: Baseline.load(path).profile) for _ in range(rounds)]
    steps = (
        ("fold", folded, ""),
        ("save", saved, size),
        ("load", loaded, ""),
        ("load, then judge-ready", profiled, ""),
    )
    return [(name, statistics.median(seconds) * 1e3, extra) for name, seconds, extra in steps]


def rows_of(shapes: int, paths: int) -> list[Row]:
    """Rows of a baseline: each shape lacks a field of its own, the first none."""
    return [
        Row(shape_of(record(paths, gone=index - 1)).shape, 10, index * 10 + 1, index * 10 + 10)
        for index in range(shapes)
    ]


def record(paths: int, gone: int = -1, new: str | None = None) -> dict[str, Any]:
    """A response of about ``paths`` paths, in records of ten fields of several kinds, without field number ``gone``."""
    values = ("text", 1, 1.5, True, None, ["a"], "text", 2, "text", 2.5)
    names = range(paths)
    response: dict[str, Any] = {}
    for start in names[::_FIELDS_A_RECORD]:
        part = names[start : start + _FIELDS_A_RECORD]
        response[f"part_{_word(start)}"] = {f"field_{_word(n)}": values[n % 10] for n in part if n != gone}
    if new is not None:
        response[new] = 1
    return response


def _word(number: int) -> str:
    """A number in letters: digits would make the keys look like data."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


if __name__ == "__main__":
    raise SystemExit(main())
