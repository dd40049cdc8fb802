"""Which objects of one tool's responses are maps: objects whose keys are data, as their coming and going shows.

A path that was learned to be a map stays one. Pure. ``live_baseline`` asks with its rows, and rewrites them by what
comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse._base.paths import format_path, parse_path
from toolpulse.evidence.maps import LearnedMap, decide_maps
from toolpulse.evidence.shape_paths import as_map_values, rewrite_as_maps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolpulse._base.paths import Path
    from toolpulse.evidence.profile import PathStats, Profile
    from toolpulse.evidence.rows import Row
    from toolpulse.shape import Walker
    from toolpulse.shape.nodes import Shape

MOST_FIELDS: Final = 1024
"""Fields kept of one object. Four times what a record may have at once; beyond it the record is read as a map."""


class MapLearner:
    """The maps of one tool. ``walker`` reads responses as its settings say, with no map learned yet."""

    def __init__(self, walker: Walker) -> None:
        self.learned: dict[Path, LearnedMap] = {}
        """What was decided, with the figures it was decided on."""
        self._plain_walker = walker
        self._questions = self._next_answer = 0

    def restore(self, decisions: Iterable[LearnedMap]) -> None:
        """Go on from what another one decided."""
        self.learned = {decision.path: decision for decision in decisions}

    def walker(self, profile: Profile) -> Walker:
        """The walk that reads responses by the maps known so far, those that the profile shows included."""
        return self._plain_walker.with_maps(frozenset(self.learned), profile.map_paths())

    def reread(self, shape: Shape) -> Shape:
        """A shape that was walked before a map was learned, as it is read since; the same object if nothing changes."""
        if not self.learned:
            return shape
        return rewrite_as_maps(shape, lambda path, _: path in self.learned, self._plain_walker.limits.shapes)

    def without_keys(self, path: str) -> str:
        """A path that was walked before a map was learned, as it is written since: no key of the map is in it."""
        return format_path(as_map_values(parse_path(path), frozenset(self.learned)))

    def ask(self, rows: Sequence[Row], profile: Profile) -> tuple[tuple[LearnedMap, ...], tuple[Shape, ...]] | None:
        """What the rows show to be maps, and the shapes of all rows as they are read then. None if nothing changes.

        An answer takes as long as there are rows, so after many answers without a decision not every question gets one.
        """
        crowded = self._crowded(profile)
        self._questions += 1
        if self._questions < self._next_answer and not crowded:
            return None
        self._next_answer = self._questions + max(1, self._questions // 8)
        counted = [(row.shape, row.count) for row in rows]
        shapes, decided = decide_maps(counted, self._plain_walker.is_record, self._plain_walker.limits.shapes, crowded)
        new = tuple(decision for decision in decided if decision.path not in self.learned)
        if not new and all(shape is row.shape for shape, row in zip(shapes, rows, strict=True)):
            return None
        self._questions = self._next_answer = 0
        self.learned.update((decision.path, decision) for decision in new)
        # what the walk remembers of keys must not outlive them
        self._plain_walker = self._plain_walker.with_maps(frozenset(), frozenset())
        return new, tuple(shapes)

    def _crowded(self, profile: Profile) -> tuple[LearnedMap, ...]:
        """The outermost objects with more fields than any record has: the names are data, however they come and go."""
        waiting: list[tuple[Path, PathStats]] = [((), profile.root)]
        crowded = []
        while waiting:
            path, stats = waiting.pop()
            if len(stats.fields) > MOST_FIELDS and not self._plain_walker.is_record(path):
                crowded.append(_crowd(path, stats))
            else:
                waiting += (((*path, segment), below) for segment, below in stats.children() if below.has_children)
        return tuple(crowded)


def _crowd(path: Path, stats: PathStats) -> LearnedMap:
    counts = [field.sightings.count for field in stats.fields.values()]
    total = stats.objects.count
    kinds = frozenset(kind for field in stats.fields.values() for kind in field.kinds)
    often = sum(count >= 0.8 * total for count in counts)
    # how many there were at once is known as a mean only
    return LearnedMap(path, total, len(counts), round(sum(counts) / total), often, counts.count(1), len(kinds))
