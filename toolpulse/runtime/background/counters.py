"""What a tool's callers write to: how many responses of each shape wait to be judged, and how calls failed.

The caller's side takes no lock where a shape waits already: the observation goes to an inbox, which whoever takes
the lock counts first. (Threads that meet at a lock while they wait for the interpreter as well hand both over at each
call, at many times the cost of the call.) Whoever comes back in while its own thread counts, a signal handler or a
finalizer, leaves what it has in the inbox, too. Nobody holds the lock during I/O. Memory is bounded by distinct shapes
and the inbox, not by calls.

``channel.py`` builds on it; nothing here knows of baselines, stores or sinks.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from toolpulse._base.times import iso_time
from toolpulse.evidence.chance import WINDOW
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.state.pending import MOST_ERROR_TYPES, Calls, TallyKey, cuts_of

if TYPE_CHECKING:
    from toolpulse.shape import Observation, Truncation

MOST_WAITING: Final = 5 * MOST_SHAPES
"""Distinct shapes that wait; beyond it calls are still counted, as unjudged, and their shapes are let go."""

_MOST_IN_INBOX: Final = 256
"""Observations that wait to be counted; one more counts them all."""

# what TallyKey(...) does, without the call of a Python function: this stands in the way of each watched call
_new_tuple: Final = tuple.__new__


def tally_key(seen: Observation, broken: tuple[str, ...]) -> TallyKey:
    """Under which key ``Counters.record`` counts an observation that broke these assertions."""
    return TallyKey(seen.shape, seen.encoding, cuts_of(seen.truncations), broken)


class ShapeCount:
    """How many observations of one shape wait; ``first`` and ``last`` are positions in the channel's own sequence."""

    __slots__ = ("count", "first", "last", "time", "truncations")

    def __init__(self, first: int, truncations: tuple[Truncation, ...]) -> None:
        self.count = 0
        self.first = first
        self.last = first
        self.time = time.time()
        """Of the first of them, in seconds since 1970."""
        self.truncations = truncations

    def join(self, later: ShapeCount) -> None:
        """Add observations that came after these."""
        self.count += later.count
        self.last = later.last


class Position(NamedTuple):
    """How far something went: observations counted, calls ended, and calls failed by type until then."""

    sequence: int = 0
    calls: int = 0
    errors: Counter[str] | None = None


class Counters:
    """Counts the calls of one (tool, key). Any thread may record; ``drain`` hands over what was counted."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        """Failed calls by the type of the exception; ``result`` for a result that says so itself."""
        self.unjudged = 0
        """Calls whose response could not be looked at, or came while too many shapes waited."""
        self._calls = 0
        self._sequence = 0
        self._last_good = 0
        self._failed: deque[int] = deque(maxlen=WINDOW)
        self._waiting: dict[TallyKey, ShapeCount] = {}
        self._inbox: deque[tuple[TallyKey, tuple[Truncation, ...]]] = deque()
        self._other: deque[str | None] = deque()
        """The inbox of calls without a response to count: the type of the exception, None where it was not seen."""
        self._lock = threading.RLock()
        self._counting = False

    @property
    def calls(self) -> int:
        """Calls that ended, failed ones included."""
        return self._calls + len(self._inbox) + len(self._other)

    @property
    def counting(self) -> bool:
        """Whether the thread that asks is in the middle of counting, further up in its stack."""
        with self._lock:
            return self._counting

    def counted_since(self, position: Position) -> int:
        """How many observations came after ``position``."""
        return self._sequence - position.sequence + len(self._inbox)

    def record(self, seen: Observation, broken: tuple[str, ...] = ()) -> bool:
        """Count one response, with the assertions it broke. True where so many shapes wait that a flush should not."""
        key = _new_tuple(TallyKey, (seen.shape, seen.encoding, cuts_of(seen.truncations), broken))
        if key in self._waiting and len(self._inbox) < _MOST_IN_INBOX:
            self._inbox.append((key, seen.truncations))
            return False
        self._inbox.append((key, seen.truncations))
        self._count_all()
        return len(self._waiting) >= MOST_SHAPES

    def record_error(self, kind: str) -> None:
        """Count one call that failed, by the type of its exception; ``result`` for a result that says so itself."""
        self._record_other(kind)

    def record_unseen(self) -> None:
        """Count one call whose response could not be looked at."""
        self._record_other(None)

    def _record_other(self, kind: str | None) -> None:
        self._count_all()  # what came before it, so that its position is its own
        self._other.append(kind)
        self._count_all()

    def waiting_like(self, key: TallyKey) -> int:
        """How many observations of one key wait."""
        self._count_all()
        entry = self._waiting.get(key)
        return entry.count if entry is not None else 0

    def drain(self) -> tuple[dict[TallyKey, ShapeCount], Position] | None:
        """Take what waits, and how far that goes; None where this thread is in the middle of counting."""
        with self._lock:
            if self._counting:
                return None
            self._counting = True
            try:
                self._count_inbox()
                waiting, self._waiting = self._waiting, {}
                return waiting, Position(self._sequence, self._calls, self.errors.copy())
            finally:
                self._counting = False

    def calls_between(self, start: Position, end: Position) -> Calls:
        """How the calls after ``start`` ended, up to ``end``; positions start at 1."""
        types = (end.errors or Counter()) - (start.errors or Counter())
        failed = tuple(at - start.calls for at in self._failed.copy() if start.calls < at <= end.calls)
        last_good = max(0, min(self._last_good, end.calls) - start.calls)
        when = iso_time(time.time()) if types else ""
        return Calls(end.calls - start.calls, types.total(), last_good, failed, dict(types), when)

    def let_go(self, count: int) -> None:
        """Count observations as unjudged that were counted and will not be judged."""
        with self._lock:
            self.unjudged += count

    def _count_all(self) -> None:
        """Count what came in; where this thread is just doing so, that is left to it."""
        with self._lock:
            if self._counting:
                return
            self._counting = True
            try:
                self._count_inbox()
            finally:
                self._counting = False

    def _count_inbox(self) -> None:
        with suppress(IndexError):
            for _ in range(len(self._other)):
                self._count_other(self._other.popleft())
        with suppress(IndexError):
            for _ in range(len(self._inbox)):
                self._count(*self._inbox.popleft())

    def _count(self, key: TallyKey, truncations: tuple[Truncation, ...]) -> None:
        self._calls += 1
        self._last_good = self._calls
        entry = self._waiting.get(key)
        if entry is None:
            if len(self._waiting) >= MOST_WAITING:
                self.unjudged += 1
                return
            entry = self._waiting[key] = ShapeCount(self._sequence + 1, truncations)
        self._sequence += 1
        entry.count += 1
        entry.last = self._sequence

    def _count_other(self, kind: str | None) -> None:
        self._calls += 1
        if kind is None:
            self.unjudged += 1
            return
        known = kind in self.errors or len(self.errors) < MOST_ERROR_TYPES
        self.errors[kind if known else "other"] += 1
        self._failed.append(self._calls)

    def after_fork(self) -> None:
        """In a child: what was counted is the parent's to flush and report, and a lock may be held by nobody."""
        self._lock = threading.RLock()
        self._counting = False
        self._calls = self.unjudged = self._last_good = 0
        self.errors = Counter()
        self._failed.clear()
        self._inbox.clear()
        self._other.clear()
        self._waiting = {}
