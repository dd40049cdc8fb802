"""A stream of items as one array-like response: each item is reduced as it passes, and none is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse._base.paths import ITEMS, format_path, parse_path
from toolpulse.shape import Observation, Truncation, Walker
from toolpulse.shape.nodes import Array, Shape, fewest

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
        self._cuts.update(_inside(seen.truncations))

    def observation(self, *, complete: bool) -> Observation | None:
        """The stream as an observation, an error where an item was one.

        None for one that was left before its first item, or of which an item could not be looked at.
        """
        if not self._whole or (not complete and not self._total):
            return None
        limits = self._walker.limits
        cuts = set(self._cuts)
        if self._total > limits.elements:
            cuts.add(Truncation("$", "elements", limits.elements, self._total))
        if len(self._found) > limits.shapes:
            cuts.add(Truncation("[]", "shapes", limits.shapes, len(self._found)))
        shape = Array(fewest(self._found, limits.shapes))
        return Observation(shape, tuple(sorted(cuts)), ENCODING, self._outcome)


def _inside(truncations: Iterable[Truncation]) -> Iterable[Truncation]:
    for cut in truncations:
        path = format_path((ITEMS, *parse_path(cut.path)))
        yield Truncation(path, cut.limit, cut.seen, cut.total)
