"""The baseline of a tool that is watched: distinct shapes with counts, the evidence folded from them, the maps in them.

It grows with each row it learns. Two hundred shapes are kept, and no more than so many characters of them. The evidence
of the rarest beyond that stays as statistics per path, so that the profile does not change; their shapes go. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row, RowKey, join_rows, reshaped
from toolpulse.evidence.shape_paths import map_paths
from toolpulse.evidence.silence import optional_parts
from toolpulse.state.learning.map_learner import MapLearner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolpulse._base.paths import Path
    from toolpulse.evidence.maps import LearnedMap
    from toolpulse.shape import Walker
    from toolpulse.shape.nodes import Shape

MOST_SHAPES: Final = 200
"""Distinct shapes kept of a baseline."""

MOST_TEXT: Final = 8_000_000
"""Characters kept of all of them, as they are written; two hundred shapes of a thousand paths have half of that."""


class LiveBaseline:
    """What was learned so far. ``walker`` reads responses by the maps that are known by then."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.profile = Profile()
        self.merged = Profile()
        """The evidence of the shapes that were let go. Replaced where it grows, never changed."""
        self.parts = 0
        """How many parts of the response come and go."""
        self.maps = MapLearner(walker)
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

    @property
    def maps_learned(self) -> dict[Path, LearnedMap]:
        """The paths that were learned to be maps, with the figures."""
        return self.maps.learned

    def get(self, key: RowKey) -> Row | None:
        """The row of a shape that was learned, if it is kept."""
        return self._rows.get(key)

    def restore(self, rows: Iterable[Row], maps_learned: Iterable[LearnedMap], merged: Profile | None) -> None:
        """Go on from what another one knew."""
        self.maps.restore(maps_learned)
        self._rows = {row.key: row for row in rows}
        self.merged = merged or Profile()
        self._refold()

    def learn(self, row: Row) -> None:
        """Fold a row in. Beyond the bounds the rarest shapes go, and their evidence stays."""
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

    def learn_maps(self, unlearned: Row | None = None) -> tuple[LearnedMap, ...] | None:
        """Ask whether keys that come and go are data, of these rows and one that is not learned yet.

        What is decided rewrites the stored shapes and folds the evidence anew. None where nothing changed.
        """
        rows = [*self._rows.values(), *([unlearned] if unlearned else ())]
        answer = self.maps.ask(rows, self.profile)
        if answer is None:
            return None
        new, shapes = answer
        self._rewrite(shapes)
        self.merged = self.merged.with_maps(self.maps_learned)
        self._refold()
        return new

    def _rewrite(self, shapes: Sequence[Shape]) -> None:
        maps_now = map_paths(shapes)
        rewritten: dict[RowKey, Row] = {}
        # the last of the shapes may be of the row that is not learned
        for row, shape in zip(self._rows.values(), shapes, strict=False):
            new_row = reshaped(row, shape, maps_now)
            key = new_row.key
            rewritten[key] = join_rows(rewritten[key], new_row) if key in rewritten else new_row
        self._rows = rewritten

    def _refold(self) -> None:
        rows = self._rows.values()
        self._size = sum(row.shape.size for row in rows)
        self.profile = merge(fold((r.shape, r.sightings, r.encoding, r.cuts) for r in rows), self.merged)
        self.parts = optional_parts(self.profile.root)
        self.walker = self.maps.walker(self.profile)
