"""What a tool's callers write to and the worker reads from: tallies by shape, and counts of calls and errors.

The caller's side takes no lock where a shape waits already: the observation goes to an inbox, which whoever takes the
lock counts first. (Threads that meet at a lock while they wait for the interpreter as well hand both over at each call,
at many times the cost of the call.) Nobody holds the lock during I/O. Memory is bounded by distinct shapes and the
inbox, not by calls.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from toolpulse.evidence import WINDOW
from toolpulse.incident import ACTIVE
from toolpulse.live import Live
from toolpulse.stores.base import Snapshot
from toolpulse.tally import Errors, Places, Tally, places
from toolpulse.taught import MOST_SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpulse._shapes import Shape
    from toolpulse.events import DriftEvent
    from toolpulse.shape import Observation, Truncation

MOST_WAITING: Final = 5 * MOST_SHAPES
"""Distinct shapes that wait; beyond it calls are still counted, as unjudged, and their shapes are let go."""

_MOST_ERROR_TYPES: Final = 64

_MOST_IN_INBOX: Final = 256
"""Observations that wait to be counted; one more counts them all."""

_Key: TypeAlias = "tuple[Shape, str, Places, tuple[str, ...]]"


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

    def __init__(
        self, live: Live, unwrap: str | None = None, callback: Callable[[DriftEvent], None] | None = None
    ) -> None:
        self.live = live
        self.unwrap = unwrap
        """How responses are read; as the call says where it is None."""
        self.callback = callback
        """Who is told beside the sinks."""
        self.loaded = False
        """Whether the store was asked for what it knows."""
        self.asserts = any(consumer.assertions for consumer in live.consumers)
        """Whether somebody asserts something of the payload."""
        self._calls = 0
        self.errors: Counter[str] = Counter()
        self.unjudged = 0
        self._sequence = 0
        self._drained = 0
        self._last_good = 0
        self._failed: deque[int] = deque(maxlen=WINDOW)
        self._failed_drained = 0
        self._waiting: dict[_Key, _Waiting] = {}
        self._inbox: deque[tuple[_Key, tuple[Truncation, ...]]] = deque()
        self._lock = threading.RLock()  # a signal handler may come back in

    @property
    def calls(self) -> int:
        """Calls that ended, failed ones included."""
        return self._calls + len(self._inbox)

    @property
    def waiting(self) -> int:
        """Observations not yet judged."""
        return self._sequence - self._drained + len(self._inbox)

    @property
    def due(self) -> bool:
        """Whether there is anything to judge."""
        return self.waiting > 0 or self.errors.total() > self._failed_drained

    def record(self, seen: Observation, broken: tuple[str, ...] = ()) -> bool:
        """Count one response, with the assertions it broke. True where so many shapes wait that a flush should not."""
        key = (seen.shape, seen.encoding, places(seen.truncations), broken)
        if key in self._waiting and len(self._inbox) < _MOST_IN_INBOX:
            self._inbox.append((key, seen.truncations))
            return False
        with self._lock:
            self._count_inbox()
            self._count(key, seen.truncations)
            return len(self._waiting) >= MOST_SHAPES

    def _count_inbox(self) -> None:
        with suppress(IndexError):  # emptied meanwhile by a signal handler that came back in
            for _ in range(len(self._inbox)):
                self._count(*self._inbox.popleft())

    def _count(self, key: _Key, truncations: tuple[Truncation, ...]) -> None:
        self._calls += 1
        self._last_good = self._calls
        entry = self._waiting.get(key)
        if entry is None:
            if len(self._waiting) >= MOST_WAITING:
                self.unjudged += 1
                return
            entry = self._waiting[key] = _Waiting(self._sequence + 1, truncations)
        self._sequence += 1
        entry.count += 1
        entry.last = self._sequence

    def record_error(self, kind: str) -> None:
        """Count one call that failed, by the type of its exception; ``result`` for a result that says so itself."""
        with self._lock:
            self._count_inbox()
            self._calls += 1
            known = kind in self.errors or len(self.errors) < _MOST_ERROR_TYPES
            self.errors[kind if known else "other"] += 1
            self._failed.append(self._calls)

    def record_unseen(self) -> None:
        """Count one call whose response could not be looked at."""
        with self._lock:
            self._count_inbox()
            self._calls += 1
            self.unjudged += 1

    def judge(self) -> list[DriftEvent]:
        """Judge what waits; the events to tell. Where judging fails, what is left is counted as unjudged."""
        tallies, errors = self._drain(), self._drain_errors()
        before = self.live.observations
        try:
            return self.live.take(tallies, errors)
        except Exception:
            with self._lock:
                self.unjudged += sum(tally.count for tally in tallies) - (self.live.observations - before)
            raise

    def restore(self, known: Snapshot | None) -> None:
        """Go on from what the store knew, if anything."""
        if known is not None and self.live.sealed is not None:
            self.live.observations = max(self.live.observations, known.observations)
            self.live.book.restore(known.incidents, known.decisions)
        elif known is not None:
            self.live.restore(
                known.observations, known.rows, known.maps_learned, known.incidents, known.decisions, known.merged
            )
        self.loaded = True

    def snapshot(self) -> Snapshot:
        """What the store is to know."""
        live = self.live
        return Snapshot(
            live.observations,
            live.rows,
            tuple(live.taught.maps_learned.values()),
            tuple(live.book.incidents.values()),
            tuple(live.book.decisions.values()),
            live.taught.merged,
        )

    def _drain(self) -> list[Tally]:
        """Take what waits; ordinals go on from what the live state has observed."""
        with self._lock:
            self._count_inbox()
            waiting, self._waiting = self._waiting, {}
            offset = self.live.observations - self._drained
            self._drained = self._sequence
        return [
            Tally(shape, encoding, w.count, w.first + offset, w.last + offset, iso_time(w.time), w.truncations, broken)
            for (shape, encoding, _, broken), w in waiting.items()
        ]

    def _drain_errors(self) -> Errors | None:
        """How calls failed so far; None where none failed since the last time."""
        with self._lock:
            self._count_inbox()
            total = self.errors.total()
            if total == self._failed_drained:
                return None
            self._failed_drained = total
            recent = sum(position > self._calls - WINDOW for position in self._failed)
            return Errors(self._calls, total, self._calls - self._last_good, recent, iso_time(time.time()))

    def after_fork(self) -> None:
        """In a child: what was counted is the parent's to flush and tell, and a lock may be held by nobody."""
        self._lock = threading.RLock()
        self._calls = self.unjudged = self._last_good = self._failed_drained = 0
        self.errors = Counter()
        self._failed.clear()
        self._inbox.clear()
        self._waiting = {}
        self._drained = self._sequence


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ToolHealth(msgspec.Struct, frozen=True):
    """How one tool is doing."""

    calls: int
    """Calls that ended, failed ones included."""
    errors: int
    """Calls that raised, or whose result said it is an error."""
    state: str
    """``learning`` until ten observations taught, then ``watching``."""
    shapes: int
    """Distinct shapes known."""
    incidents: int
    """Incidents told of and open."""
    keys: int = 1
    """Variants of its calls."""
    error_types: dict[str, int] = {}
    unjudged: int = 0
    """Calls whose response could not be looked at, or came while too many shapes waited."""


class Health(msgspec.Struct, frozen=True):
    """How a monitor is doing. Reading it waits for nothing."""

    tools: dict[str, ToolHealth]
    swallowed: int
    """Errors that were kept from the watched tools."""
    swallowed_by: dict[str, int]
    """The same by place and type."""
    store: str
    """``ok``, or ``retrying`` since the last save failed."""
    waiting: int
    """Observations not yet judged."""
    sinks: dict[str, str]
    """By sink ``ok``, ``failing`` or ``busy``, and how many events were dropped."""


def tool_health(tracks: list[Track]) -> ToolHealth:
    types: Counter[str] = Counter()
    for track in tracks:
        types.update(track.errors.copy())
    lives = [track.live for track in tracks]
    return ToolHealth(
        calls=sum(track.calls for track in tracks),
        errors=types.total(),
        state="learning" if any(live.learning for live in lives) else "watching",
        shapes=sum(live.shapes for live in lives),
        incidents=sum(
            i.status in ACTIVE and i.risk.is_news for live in lives for i in live.book.incidents.copy().values()
        ),
        keys=len(tracks),
        error_types=dict(sorted(types.items())),
        unjudged=sum(track.unjudged for track in tracks),
    )
