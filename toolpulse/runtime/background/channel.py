"""One tool's way to the store: what was counted is judged, goes out as a numbered batch, and is acknowledged.

What was counted stays here until the store has it. A batch that the store did not confirm is asked for by its number.
The flusher calls all of this, one thread at a time; callers only record (``counters.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolpulse._base.times import iso_time
from toolpulse.runtime.background.counters import MOST_WAITING, Counters, Position, ShapeCount
from toolpulse.state.pending import Tally, TallyKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolpulse.events import DriftEvent
    from toolpulse.shape import Truncation
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.state.tool_state import ToolState


class InFlightBatch(NamedTuple):
    """What is on its way to the store: its number, how far it goes, its observations, and the events they made."""

    number: int
    end: Position
    waiting: dict[TallyKey, ShapeCount]
    events: Sequence[DriftEvent] = ()


class ToolChannel(Counters):
    """One (tool, key) of one monitor: its counters, what is known of it, and what the store does not have yet."""

    def __init__(
        self, state: ToolState, unwrap: str | None = None, callback: Callable[[DriftEvent], None] | None = None
    ) -> None:
        super().__init__()
        self.state = state
        """What is known of the tool; only changed by whoever holds the judging lock."""
        self.unwrap = unwrap
        """How responses are read; as the call says where it is None."""
        self.callback = callback
        """Who is given the events beside the sinks."""
        self.loaded = False
        """Whether the store was asked for what it knows."""
        self.load_tried = False
        """Whether a caller waited for that."""
        self.overflow = False
        """Whether this counts the calls of tools beyond the bound: of many, so that they are not judged."""
        self.memory_only = False
        """Whether the store cannot read what it has of it, and it is judged in memory alone."""
        self.has_assertions = any(consumer.assertions for consumer in state.consumers)
        """Whether somebody asserts something of the payload."""
        self._unsaved: dict[TallyKey, ShapeCount] = {}
        """Taken out of the counters, and not on its way."""
        self._in_flight: InFlightBatch | None = None
        self._number = 0
        self._judged = self._saved = Position()

    @property
    def waiting(self) -> int:
        """Observations that the store does not have yet."""
        return self.counted_since(self._saved)

    @property
    def awaiting_judgement(self) -> int:
        """Observations not yet judged."""
        return self.counted_since(self._judged)

    @property
    def saved_calls(self) -> int:
        """Calls that the store has."""
        return self._saved.calls

    @property
    def due(self) -> bool:
        """Whether there is anything to judge or to save."""
        return not self.overflow and self.calls > self._saved.calls

    @property
    def ahead(self) -> bool:
        """Whether more was judged than the store has."""
        return self._judged.calls > self._saved.calls

    @property
    def batch_number(self) -> int:
        """The number of the batch that was sent last; they count from 1 in each process."""
        return self._number

    def follow(self, stored: Snapshot, saved_batch: int) -> Sequence[DriftEvent]:
        """Go on from what the store knows, where this writer's ``saved_batch`` was the last that it has.

        Gives the events that came with it, where it was not known yet that the store has them.
        """
        batch, self._in_flight = self._in_flight, None
        acknowledged: Sequence[DriftEvent] = ()
        if batch is not None and saved_batch >= batch.number:
            self._saved, acknowledged = batch.end, batch.events
        elif batch is not None:
            later, self._unsaved = self._unsaved, batch.waiting
            self._keep(later)
        self.state.follow(stored)
        self._judged = self._saved
        self.loaded = True
        return acknowledged

    def judge_batch(self) -> list[DriftEvent]:
        """Judge all that the store does not have, after ``follow``; the events to send. It is on its way from now on.

        Where judging fails, what is left is counted as unjudged.
        """
        fresh, end = self.drain() or ({}, self._judged)
        self._keep(fresh)
        waiting, self._unsaved = self._unsaved, {}
        self._number += 1
        self._in_flight = batch = InFlightBatch(self._number, end, waiting)
        events = self._judge(waiting, end)
        self._in_flight = batch._replace(events=events)
        return events

    def judge_ahead(self) -> list[DriftEvent]:
        """Judge what was not judged yet, while the store gets it later; the events to send."""
        fresh, end = self.drain() or ({}, self._judged)
        try:
            return self._judge(fresh, end)
        finally:
            self._keep(fresh)

    def acknowledge(self, stored: Snapshot) -> None:
        """The store has the batch that was on its way, and knows ``stored``."""
        batch, self._in_flight = self._in_flight, None
        if batch is None:
            return
        self._saved = batch.end
        if self._judged is batch.end:  # else somebody judged more meanwhile
            self.state.acknowledge(stored)

    def assume_saved(self) -> Snapshot:
        """Take what was judged for saved, whatever became of it; what is known of the tool."""
        self._in_flight, self._unsaved, self._saved = None, {}, self._judged
        snapshot = self.state.snapshot()
        self.state.acknowledge(snapshot)
        return snapshot

    def take_faults(self) -> list[Exception]:
        """What went wrong in judging since this was asked last."""
        faults, self.state.reports.faults = self.state.reports.faults, []
        return faults

    def counted(self, key: TallyKey, truncations: tuple[Truncation, ...]) -> tuple[Tally, int]:
        """An observation that was counted, as a tally of its own, and how many like it were not judged yet."""
        alike = self.waiting_like(key)
        ordinal = self.state.observations + max(1, self.awaiting_judgement)
        tally = Tally(key.shape, key.encoding, 1, ordinal, ordinal, "", truncations, key.broken)
        return tally, alike

    def _judge(self, waiting: dict[TallyKey, ShapeCount], end: Position) -> list[DriftEvent]:
        tallies = self._tallies(waiting)
        calls = self.calls_between(self._judged, end)
        self._judged = end
        before = self.state.observations
        try:
            return self.state.apply(tallies, calls)
        except Exception as error:  # noqa: BLE001 - what was reported until then must not go with it
            self.let_go(sum(tally.count for tally in tallies) - (self.state.observations - before))
            self.state.reports.faults.append(error)
            return self.state.take_events()

    def _tallies(self, waiting: dict[TallyKey, ShapeCount]) -> list[Tally]:
        """What waits, with positions in the tool's whole history instead of those of this process."""
        offset = self.state.observations - self._judged.sequence
        # what was let go has no ordinals
        end = self.state.observations + sum(entry.count for entry in waiting.values())
        return [
            Tally(
                key.shape,
                key.encoding,
                entry.count,
                min(entry.first + offset, end - entry.count + 1),
                min(entry.last + offset, end),
                iso_time(entry.time),
                entry.truncations,
                key.broken,
            )
            for key, entry in waiting.items()
        ]

    def _keep(self, later: dict[TallyKey, ShapeCount]) -> None:
        for key, entry in later.items():
            known = self._unsaved.get(key)
            if known is not None:
                known.join(entry)
            elif len(self._unsaved) < MOST_WAITING:
                self._unsaved[key] = entry
            else:
                self.let_go(entry.count)

    def after_fork(self) -> None:
        """In a child: what was counted is the parent's to flush and report."""
        super().after_fork()
        self._number = 0
        self._unsaved, self._in_flight = {}, None
        self._judged = self._saved = Position(self._sequence)
        self.load_tried = False
        self.state.forked()
