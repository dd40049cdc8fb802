"""A transaction that writes what was saved in it where its block ends."""

from __future__ import annotations

from collections.abc import Sequence

from toolpulse.events import DriftEvent
from toolpulse.state.snapshot import Snapshot


class Deferred:
    """What a flush sees, and what it saves for the store to write."""

    def __init__(self, now: Snapshot, saved: int) -> None:
        self.now = now
        self.saved = saved
        self.after: Snapshot | None = None
        self.events: Sequence[DriftEvent] = ()
        self.batch = 0
        self.claimed = True

    def save(self, after: Snapshot, events: Sequence[DriftEvent] = (), batch: int = 0, *, claimed: bool = True) -> None:
        """Make ``after`` what is known once the block ends."""
        self.after, self.events, self.batch, self.claimed = after, events, batch, claimed
