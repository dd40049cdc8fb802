"""What one tool's observations taught: distinct shapes with counts, the evidence folded from them, the maps in them.

Two hundred shapes are kept, and no more than so many characters of them. The evidence of the rarest beyond that stays
as statistics per path, so that the profile does not change; their shapes go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse.evidence.maps import LearnedMap, decide_maps
from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row, RowKey, join_rows, reshaped
from toolpulse.evidence.shape_paths import map_paths, rewrite_as_maps
from toolpulse.evidence.silence import optional_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse._base.paths import Path
    from toolpulse.evidence.profile import PathStats
    from toolpulse.shape import Walker
    from toolpulse.shape.nodes import Shape

MOST_SHAPES: Final = 200
"""Distinct shapes kept of a baseline."""

MOST_TEXT: Final = 8_000_000
"""Characters kept of all of them, as they are written; two hundred shapes of a thousand paths have half of that."""


MOST_FIELDS: Final = 1024
"""Fields kept of one place. Four times what a record may have at once; beyond it the record is read as a map."""


class LiveBaseline:
    """The baseline of a tool that is watched. It grows by rows; ``walker`` reads responses by the maps known so far."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.profile = Profile()
        self.merged = Profile()
        """The evidence of the shapes that were let go. Replaced where it grows, never changed."""
        self.maps_learned: dict[Path, LearnedMap] = {}
        self.parts = 0
        """How many parts of the response come and go."""
        self._plain_walker = walker
        self._questions = self._next_answer = 0
        self._rows: dict[RowKey, Row] = {}
        self._size = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """The distinct shapes kept."""
        return tuple(self._rows.values())

    @property
    def by_key(self) -> dict[RowKey, Row]:
        """The distinct shapes kept, by what makes them distinct; a copy."""
        return self._rows.copy()

    @property
    def merged_if_any(self) -> Profile | None:
        """``merged``, or None where no shape was let go."""
        return self.merged if self.merged.observations.count else None

    def get(self, key: RowKey) -> Row | None:
        """The row of a shape that taught."""
        return self._rows.get(key)

    def restore(self, rows: Iterable[Row], maps_learned: Iterable[LearnedMap], merged: Profile | None) -> None:
        """Go on from what another one knew."""
        self.maps_learned = {decision.path: decision for decision in maps_learned}
        self._rows = {row.key: row for row in rows}
        self.merged = merged or Profile()
        self._refold()

    def teach(self, row: Row) -> None:
        """Fold a row in."""
        key = row.key
        known = self._rows.get(key)
        self._rows[key] = join_rows(known, row) if known else row
        self.profile.add(row.shape, row.sightings, row.encoding, row.cuts)
        if known is None:
            self.parts = optional_parts(self.profile.root)
            self._size += row.shape.size
        while len(self._rows) > MOST_SHAPES or (self._size > MOST_TEXT and len(self._rows) > 1):
            gone = self._rows.pop(self._rarest())
            self._size -= gone.shape.size
            evidence = fold([(gone.shape, gone.sightings, gone.encoding, gone.cuts)])
            self.merged = merge(self.merged, evidence)

    def _rarest(self) -> RowKey:
        fewest = min(row.count for row in self._rows.values())
        return min((key for key, row in self._rows.items() if row.count == fewest), key=lambda key: key[0].fingerprint)

    def read(self, shape: Shape) -> Shape:
        """A shape that was walked before a map was learned, as it is read since."""
        if not self.maps_learned:
            return shape
        return rewrite_as_maps(shape, lambda path, _: path in self.maps_learned, self.walker.limits.shapes)

    def settle(self, extra: Row | None = None) -> tuple[LearnedMap, ...] | None:
        """Ask whether keys that come and go are data, of these rows and ``extra``.

        What is decided rewrites the stored shapes, and what the walk kept of keys goes. None where nothing changed. The
        answer takes as long as there are rows, so after many answers without a decision not every question gets one.
        """
        crowded = self._crowded()
        self._questions += 1
        if self._questions < self._next_answer and not crowded:
            return None
        self._next_answer = self._questions + max(1, self._questions // 8)
        rows = [*self._rows.values(), *([extra] if extra else ())]
        counted = [(row.shape, row.count) for row in rows]
        is_record, limit = self._plain_walker.is_record, self.walker.limits.shapes
        shapes, decided = decide_maps(counted, is_record, limit, crowded)
        new = tuple(decision for decision in decided if decision.path not in self.maps_learned)
        if not new and all(a is row.shape for a, row in zip(shapes, rows, strict=True)):
            return None
        self._questions = self._next_answer = 0
        self.maps_learned.update((decision.path, decision) for decision in new)
        maps_now = map_paths(shapes)
        rewritten: dict[RowKey, Row] = {}
        for row, shape in zip(self._rows.values(), shapes, strict=False):
            new_row = reshaped(row, shape, maps_now)
            key = new_row.key
            rewritten[key] = join_rows(rewritten[key], new_row) if key in rewritten else new_row
        self._rows = rewritten
        self.merged = self.merged.with_maps(self.maps_learned)
        # what the walk remembers of keys goes with it
        self._plain_walker = self._plain_walker.with_maps(frozenset(), frozenset())
        self._refold()
        return new

    def _crowded(self) -> tuple[LearnedMap, ...]:
        """The outermost places with more fields than any record has: their names are data, however they come and go."""
        waiting: list[tuple[Path, PathStats]] = [((), self.profile.root)]
        found = []
        while waiting:
            path, place = waiting.pop()
            if len(place.fields) > MOST_FIELDS and not self._plain_walker.is_record(path):
                found.append(_crowd(path, place))
            else:
                waiting += (((*path, segment), below) for segment, below in place.children() if below.has_children)
        return tuple(found)

    def _refold(self) -> None:
        rows = self._rows.values()
        self._size = sum(row.shape.size for row in rows)
        self.profile = merge(fold((r.shape, r.sightings, r.encoding, r.cuts) for r in rows), self.merged)
        self.parts = optional_parts(self.profile.root)
        paths = frozenset(self.maps_learned)
        self.walker = self._plain_walker.with_maps(paths, self.profile.map_paths())


def _crowd(path: Path, place: PathStats) -> LearnedMap:
    counts = [field.sightings.count for field in place.fields.values()]
    total = place.objects.count
    kinds = frozenset(kind for field in place.fields.values() for kind in field.kinds)
    often = sum(count >= 0.8 * total for count in counts)
    # how many there were at once is known as a mean only
    return LearnedMap(path, total, len(counts), round(sum(counts) / total), often, counts.count(1), len(kinds))
