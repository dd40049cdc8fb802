"""What a tool's callers write to and the worker reads from: tallies by shape, and counts of calls and errors.

The caller's side takes no lock where a shape waits already: the observation goes to an inbox, which whoever takes
the lock counts first. (Threads that meet at a lock while they wait for the interpreter as well hand both over at each
call, at many times the cost of the call.) Whoever comes back in while its own thread counts, a signal handler or a
finalizer, leaves what it has in the inbox, too. Nobody holds the lock during I/O. Memory is bounded by distinct shapes
and the inbox, not by calls.

What was counted stays here until the store has it. What the store did not confirm is asked for by its number.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from toolpulse._base.times import iso_time
from toolpulse.evidence.chance import WINDOW
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.state.pending import MOST_ERROR_TYPES, Calls, Cuts, Tally, TallyKey, cuts_of
from toolpulse.state.tool_state import ToolState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolpulse.events import DriftEvent
    from toolpulse.shape import Observation, Truncation
    from toolpulse.shape.nodes import Shape
    from toolpulse.state.snapshot import Snapshot

MOST_WAITING: Final = 5 * MOST_SHAPES
"""Distinct shapes that wait; beyond it calls are still counted, as unjudged, and their shapes are let go."""

_MOST_IN_INBOX: Final = 256
"""Observations that wait to be counted; one more counts them all."""

_Key: TypeAlias = "tuple[Shape, str, Cuts, tuple[str, ...]]"


class _Waiting:
    """Observations of one shape that wait; ``first`` and ``last`` are positions in this track's own sequence."""

    __slots__ = ("count", "first", "last", "time", "truncations")

    def __init__(self, first: int, truncations: tuple[Truncation, ...]) -> None:
        self.count = 0
        self.first = first
        self.last = first
        self.time = time.time()
        self.truncations = truncations

    def join(self, later: _Waiting) -> None:
        self.count += later.count
        self.last = later.last


class _Mark(NamedTuple):
    """How far something went, in this track's own sequence."""

    sequence: int = 0
    calls: int = 0
    errors: Counter[str] | None = None


class InFlightBatch(NamedTuple):
    """What is on its way to the store: its number, how far it goes, its observations, and the events they made."""

    number: int
    mark: _Mark
    waiting: dict[_Key, _Waiting]
    events: Sequence[DriftEvent] = ()


class ToolChannel:
    """One (tool, key) of one monitor."""

    def __init__(
        self, live: ToolState, unwrap: str | None = None, callback: Callable[[DriftEvent], None] | None = None
    ) -> None:
        self.live = live
        self.unwrap = unwrap
        """How responses are read; as the call says where it is None."""
        self.callback = callback
        """Who is told beside the sinks."""
        self.loaded = False
        """Whether the store was asked for what it knows."""
        self.asked = False
        """Whether a caller waited for that."""
        self.beyond = False
        """Whether this counts the calls of tools beyond the bound: of many, so that they are not judged."""
        self.apart = False
        """Whether the store cannot read what it has of it, and it is judged in memory alone."""
        self.asserts = any(consumer.assertions for consumer in live.consumers)
        """Whether somebody asserts something of the payload."""
        self._calls = 0
        self.errors: Counter[str] = Counter()
        self.unjudged = 0
        self._sequence = 0
        self._last_good = 0
        self._failed: deque[int] = deque(maxlen=WINDOW)
        self._waiting: dict[_Key, _Waiting] = {}
        self._inbox: deque[tuple[_Key, tuple[Truncation, ...]]] = deque()
        self._other: deque[str | None] = deque()
        """The inbox of calls without a response to count: the type of the exception, None where it was not seen."""
        self._lock = threading.RLock()
        self._counting = False
        self._unsaved: dict[_Key, _Waiting] = {}
        self._in_flight: InFlightBatch | None = None
        self._number = 0
        self._judged = self._saved = _Mark()

    @property
    def calls(self) -> int:
        """Calls that ended, failed ones included."""
        return self._calls + len(self._inbox) + len(self._other)

    @property
    def counting(self) -> bool:
        """Whether the thread that asks is in the middle of counting, further up in its stack."""
        with self._lock:
            return self._counting

    @property
    def waiting(self) -> int:
        """Observations that the store does not have yet."""
        return self._sequence - self._saved.sequence + len(self._inbox)

    @property
    def saved(self) -> int:
        """Calls that the store has."""
        return self._saved.calls

    @property
    def due(self) -> bool:
        """Whether there is anything to judge or to save."""
        return not self.beyond and self.calls > self._saved.calls

    @property
    def ahead(self) -> bool:
        """Whether more was judged than the store has."""
        return self._judged.calls > self._saved.calls

    @property
    def unasked(self) -> int:
        """Observations not yet judged."""
        return self._sequence - self._judged.sequence + len(self._inbox)

    def record(self, seen: Observation, broken: tuple[str, ...] = ()) -> bool:
        """Count one response, with the assertions it broke. True where so many shapes wait that a flush should not."""
        key = (seen.shape, seen.encoding, cuts_of(seen.truncations), broken)
        if key in self._waiting and len(self._inbox) < _MOST_IN_INBOX:
            self._inbox.append((key, seen.truncations))
            return False
        self._inbox.append((key, seen.truncations))
        self._count_all()
        return len(self._waiting) >= MOST_SHAPES

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
        self._count_failed(kind)

    def record_unseen(self) -> None:
        """Count one call whose response could not be looked at."""
        self._count_failed(None)

    def _count_failed(self, kind: str | None) -> None:
        self._count_all()  # what came before it, so that its position is its own
        self._other.append(kind)
        self._count_all()

    def _count_other(self, kind: str | None) -> None:
        self._calls += 1
        if kind is None:
            self.unjudged += 1
            return
        known = kind in self.errors or len(self.errors) < MOST_ERROR_TYPES
        self.errors[kind if known else "other"] += 1
        self._failed.append(self._calls)

    def follow(self, now: Snapshot, saved: int) -> Sequence[DriftEvent]:
        """Go on from what the store knows, where this writer's batch ``saved`` was the last that arrived.

        Gives the events that arrived with it, where that was not known yet.
        """
        in_flight, self._in_flight = self._in_flight, None
        arrived: Sequence[DriftEvent] = ()
        if in_flight is not None and saved >= in_flight.number:
            self._saved, arrived = in_flight.mark, in_flight.events
        elif in_flight is not None:
            later, self._unsaved = self._unsaved, in_flight.waiting
            self._keep(later)
        self.live.follow(now)
        self._judged = self._saved
        self.loaded = True
        return arrived

    def take(self) -> list[DriftEvent]:
        """Judge all that the store does not have, after ``follow``; the events to tell. It is on its way from now on.

        Where judging fails, what is left is counted as unjudged.
        """
        fresh, mark = self._drain()
        self._keep(fresh)
        waiting, self._unsaved = self._unsaved, {}
        self._number += 1
        self._in_flight = in_flight = InFlightBatch(self._number, mark, waiting)
        events = self._take(waiting, mark)
        self._in_flight = in_flight._replace(events=events)
        return events

    @property
    def number(self) -> int:
        """The number of what is on its way."""
        return self._number

    def arrived(self, after: Snapshot) -> None:
        """The store has what was on its way, and knows ``after``."""
        in_flight, self._in_flight = self._in_flight, None
        if in_flight is None:
            return
        self._saved = in_flight.mark
        if self._judged is in_flight.mark:  # else somebody judged more meanwhile
            self.live.acknowledge(after)

    def settle(self) -> Snapshot:
        """Take what was judged for saved, whatever became of it; what the live state knows."""
        self._in_flight, self._unsaved, self._saved = None, {}, self._judged
        after = self.live.snapshot()
        self.live.acknowledge(after)
        return after

    def judge(self) -> list[DriftEvent]:
        """Judge what was not judged yet, beside the store, which gets it later; the events to tell."""
        fresh, mark = self._drain()
        try:
            return self._take(fresh, mark)
        finally:
            self._keep(fresh)

    def faults(self) -> list[Exception]:
        """What went wrong in judging since this was asked last."""
        found, self.live.reports.faults = self.live.reports.faults, []
        return found

    def ask(self, key: TallyKey, truncations: tuple[Truncation, ...]) -> tuple[Tally, int]:
        """An observation that was counted, as a tally of its own, and how many like it were not judged yet."""
        self._count_all()
        waiting = self._waiting.get(key)
        ordinal = self.live.observations + max(1, self.unasked)
        alike = waiting.count if waiting is not None else 0
        return Tally(key.shape, key.encoding, 1, ordinal, ordinal, "", truncations, key.broken), alike

    def _take(self, waiting: dict[_Key, _Waiting], mark: _Mark) -> list[DriftEvent]:
        offset = self.live.observations - self._judged.sequence
        # what was let go has no ordinals
        end = self.live.observations + sum(w.count for w in waiting.values())
        tallies = [
            Tally(
                shape,
                encoding,
                w.count,
                min(w.first + offset, end - w.count + 1),
                min(w.last + offset, end),
                iso_time(w.time),
                w.truncations,
                broken,
            )
            for (shape, encoding, _, broken), w in waiting.items()
        ]
        calls = self._calls_between(self._judged, mark)
        self._judged = mark
        before = self.live.observations
        try:
            return self.live.apply(tallies, calls)
        except Exception as error:  # noqa: BLE001 - what was told of until then must not go with it
            self._let_go(sum(tally.count for tally in tallies) - (self.live.observations - before))
            self.live.reports.faults.append(error)
            return self.live.take_events()

    def _keep(self, later: dict[_Key, _Waiting]) -> None:
        for key, entry in later.items():
            known = self._unsaved.get(key)
            if known is not None:
                known.join(entry)
            elif len(self._unsaved) < MOST_WAITING:
                self._unsaved[key] = entry
            else:
                self._let_go(entry.count)

    def _let_go(self, count: int) -> None:
        with self._lock:
            self.unjudged += count

    def _drain(self) -> tuple[dict[_Key, _Waiting], _Mark]:
        """Take what waits, and how far that goes; nothing where this thread is in the middle of counting."""
        with self._lock:
            if self._counting:
                return {}, self._judged
            self._counting = True
            try:
                self._count_inbox()
                waiting, self._waiting = self._waiting, {}
                return waiting, _Mark(self._sequence, self._calls, self.errors.copy())
            finally:
                self._counting = False

    def _calls_between(self, start: _Mark, end: _Mark) -> Calls:
        types = (end.errors or Counter()) - (start.errors or Counter())
        failed = tuple(at - start.calls for at in self._failed.copy() if start.calls < at <= end.calls)
        last_good = max(0, min(self._last_good, end.calls) - start.calls)
        when = iso_time(time.time()) if types else ""
        return Calls(end.calls - start.calls, types.total(), last_good, failed, dict(types), when)

    def after_fork(self) -> None:
        """In a child: what was counted is the parent's to flush and tell, and a lock may be held by nobody."""
        self._lock = threading.RLock()
        self._counting = False
        self._calls = self.unjudged = self._last_good = self._number = 0
        self.errors = Counter()
        self._failed.clear()
        self._inbox.clear()
        self._other.clear()
        self._waiting, self._unsaved, self._in_flight = {}, {}, None
        self._judged = self._saved = _Mark(self._sequence)
        self.asked = False
        self.live.forked()
