"""What a tool's callers write to and the worker reads from: tallies by shape, and counts of calls and errors.

The caller's side is one dictionary update under a lock that nobody holds during I/O. Memory is bounded by distinct
shapes, not by calls.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from toolpulse.live import MOST_SHAPES, Live, Tally

if TYPE_CHECKING:
    from toolpulse._shapes import Shape
    from toolpulse.shape import Observation, Truncation

MOST_WAITING: Final = 5 * MOST_SHAPES
"""Distinct shapes that wait; beyond it calls are still counted, as unjudged, and their shapes are let go."""

_MOST_ERROR_TYPES: Final = 64


class _Waiting:
    """Observations of one shape that wait; ``first`` and ``last`` are positions in this track's own sequence."""

    __slots__ = ("count", "first", "last", "time", "truncations")

    def __init__(self, first: int, truncations: tuple[Truncation, ...]) -> None:
        self.count = 0
        self.first = first
        self.last = first
        self.time = time.time()
        self.truncations = truncations


class Track:
    """One (tool, key) of one monitor."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.loaded = False
        """Whether the store was asked for what it knows."""
        self.calls = 0
        self.errors: Counter[str] = Counter()
        self.unjudged = 0
        self._sequence = 0
        self._drained = 0
        self._waiting: dict[tuple[Shape, str], _Waiting] = {}
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """Observations not yet judged."""
        return self._sequence - self._drained

    def record(self, seen: Observation) -> bool:
        """Count one response. True where so many shapes wait that a flush should not."""
        key = (seen.shape, seen.encoding)
        with self._lock:
            self.calls += 1
            entry = self._waiting.get(key)
            if entry is None:
                if len(self._waiting) >= MOST_WAITING:
                    self.unjudged += 1
                    return True
                entry = self._waiting[key] = _Waiting(self._sequence + 1, seen.truncations)
            self._sequence += 1
            entry.count += 1
            entry.last = self._sequence
            return len(self._waiting) >= MOST_SHAPES

    def record_error(self, kind: str) -> None:
        """Count one call that failed, by the type of its exception; ``result`` for a result that says so itself."""
        with self._lock:
            self.calls += 1
            known = kind in self.errors or len(self.errors) < _MOST_ERROR_TYPES
            self.errors[kind if known else "other"] += 1

    def record_unseen(self) -> None:
        """Count one call whose response could not be looked at."""
        with self._lock:
            self.calls += 1
            self.unjudged += 1

    def drain(self) -> list[Tally]:
        """Take what waits; ordinals go on from what the live state has observed."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            offset = self.live.observations - self._drained
            self._drained = self._sequence
        return [
            Tally(shape, encoding, w.count, w.first + offset, w.last + offset, iso_time(w.time), w.truncations)
            for (shape, encoding), w in waiting.items()
        ]

    def after_fork(self) -> None:
        """In a child: what waits is the parent's to flush, and a lock may be held by nobody."""
        self._lock = threading.Lock()
        self._waiting = {}
        self._drained = self._sequence


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
