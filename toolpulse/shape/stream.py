"""A stream of items as one array-like response: each item is reduced as it passes, and none is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse.shape import Observation, Truncation, Walker
from toolpulse.shape.budget import LEAST_WORK, MOST_CUTS
from toolpulse.shape.nodes import UNKNOWN, Array, Shape, fewest, writing_work

if TYPE_CHECKING:
    from collections.abc import Iterable

ENCODING: Final = "stream"


class StreamRecord:
    """What passed so far: the distinct shapes of the first items, and how many there were."""

    def __init__(self, walker: Walker, unwrap: str) -> None:
        self._walker = walker
        self._unwrap = unwrap
        self._total = 0
        self._found: set[Shape] = set()
        self._cuts: set[Truncation] = set()
        self._outcome = "ok"
        self._whole = True

    def add(self, item: object) -> None:
        """Take one item."""
        self._total += 1
        if self._total > self._walker.limits.elements:
            return
        try:
            seen = self._walker.observe(item, self._unwrap)
        except Exception:
            # without this item the rest would be taken for all there was
            self._whole = False
            raise
        if seen.outcome == "error":
            self._outcome = "error"
            return
        self._found.add(seen.shape)
        if len(self._cuts) <= MOST_CUTS:
            self._cuts.update(_inside(seen.truncations))

    def observation(self, *, complete: bool) -> Observation | None:
        """The stream as an observation, an error where an item was one.

        None for one that was left before its first item, or of which an item could not be looked at.
        """
        if not self._whole or (not complete and not self._total):
            return None
        limits = self._walker.limits
        cuts = set(self._cuts)
        if len(cuts) > MOST_CUTS:
            return Observation(UNKNOWN, (Truncation("$", "work", 0, 1),), ENCODING, self._outcome)
        if self._total > limits.elements:
            cuts.add(Truncation("$", "elements", limits.elements, self._total))
        found = frozenset(self._found)
        if len(found) > limits.shapes and writing_work(found) > max(LEAST_WORK, limits.nodes):
            cuts.add(Truncation("[]", "work", 0, len(found)))
            found = frozenset((UNKNOWN,))
        elif len(found) > limits.shapes:
            cuts.add(Truncation("[]", "shapes", limits.shapes, len(found)))
        shape = Array(fewest(found, limits.shapes))
        return Observation(shape, tuple(sorted(cuts)), ENCODING, self._outcome)


def _inside(truncations: Iterable[Truncation]) -> Iterable[Truncation]:
    for cut in truncations:
        path = "[]" if cut.path == "$" else f"[]{'' if cut.path[0] == '[' else '.'}{cut.path}"
        yield Truncation(path, cut.limit, cut.seen, cut.total)
