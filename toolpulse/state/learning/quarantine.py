"""The shapes that are not learned from while an incident about them stands: kept, counted, and let go when it ends.

What such responses lack is reported elsewhere, so it is no silence; but what they show has not gone away. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.evidence.quarantine import QuarantineLog
from toolpulse.evidence.rows import join_rows
from toolpulse.state.learning.live_baseline import MOST_SHAPES, MOST_TEXT
from toolpulse.state.snapshot import Quarantined, more_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolpulse._base.paths import Path
    from toolpulse.evidence.profile import Profile
    from toolpulse.evidence.rows import Row, RowKey
    from toolpulse.shape.nodes import Shape
    from toolpulse.state.pending import Tally, TallyKey


class Quarantine:
    """The quarantined shapes of one tool (and key), and when observations came that were not learned from."""

    def __init__(self) -> None:
        self.shapes: dict[TallyKey, Quarantined] = {}
        self.unlearned = QuarantineLog()
        """When they came, how many, and what they showed all the same: for whoever asks what has been away."""

    def __len__(self) -> int:
        return len(self.shapes)

    def get(self, key: TallyKey) -> Quarantined | None:
        """A shape that is quarantined, if it is kept."""
        return self.shapes.get(key)

    def restore(self, shapes: Mapping[TallyKey, Quarantined], profile: Profile) -> None:
        """Go on from what another one knew."""
        self.shapes = dict(shapes)
        self.unlearned = QuarantineLog()
        for row in sorted((one.row for one in shapes.values()), key=lambda row: row.last):
            self._note(row.shape, row.count, row.last, profile)

    def note_let_go(self, observations: int, learned: int) -> None:
        """Note those of a tool's observations that are neither ``learned`` nor kept here.

        When they came is not known, so they are noted as the newest: nothing seems the longer away for them.
        """
        missing = observations - learned - sum(one.row.count for one in self.shapes.values())
        if missing > 0:
            self.unlearned.add(missing, observations)

    def grow(
        self,
        before: Mapping[TallyKey, Quarantined],
        now: Mapping[TallyKey, Quarantined],
        learned: Mapping[RowKey, Row],
        profile: Profile,
    ) -> None:
        """Go on from ``before`` to ``now``; what is ``learned`` meanwhile is quarantined no more."""
        for key in before.keys() - now.keys():
            row = before[key].row
            if row.key in learned:
                self.unlearned.release(row.count, row.last)
        for row in sorted(more_rows(before, now), key=lambda row: row.last):
            self._note(row.shape, row.count, row.last, profile)
        self.shapes = dict(now)

    def add(self, key: TallyKey, entry: Quarantined) -> None:
        """Quarantine a shape. Beyond the bounds the rarest go; that they came stays noted."""
        size = key.shape.size + sum(other.shape.size for other in self.shapes)
        while self.shapes and (len(self.shapes) >= MOST_SHAPES or size > MOST_TEXT):
            rarest = min(self.shapes, key=lambda k: (self.shapes[k].row.count, k.shape.fingerprint))
            size -= rarest.shape.size
            del self.shapes[rarest]
        self.shapes[key] = entry

    def seen_again(self, entry: Quarantined, tally: Tally) -> None:
        """Count observations to a shape that is quarantined."""
        self.shapes[tally.key] = msgspec.structs.replace(entry, row=join_rows(entry.row, tally.row))

    def note(self, tally: Tally, profile: Profile) -> None:
        """Note when observations of a quarantined shape came, and what they show of what the profile knows."""
        self._note(tally.shape, tally.count, tally.last, profile)

    def _note(self, shape: Shape, count: int, last: int, profile: Profile) -> None:
        self.unlearned.add(count, last)
        self.unlearned.note_shown(profile, shape, last)

    def release(self, is_free: Callable[[TallyKey, Quarantined], bool]) -> list[Row]:
        """Let go of the shapes that are free to be learned now; their rows."""
        free = [(key, entry.row) for key, entry in self.shapes.items() if is_free(key, entry)]
        for key, row in free:
            del self.shapes[key]
            self.unlearned.release(row.count, row.last)
        return [row for _, row in free]

    def forget_keys_of(self, maps: frozenset[Path], reread: Callable[[Shape], Shape]) -> None:
        """Forget shapes that name keys of the maps at these paths, which passed for fields: keys are not kept.

        ``reread`` gives a shape as it is read with the maps known now.
        """
        self.shapes = {key: entry for key, entry in self.shapes.items() if reread(key.shape) is key.shape}
        self.unlearned.forget_keys(maps)
