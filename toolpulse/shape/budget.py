"""What a walk may cost: what is left of its nodes and of its work, and where it was cut.

Nodes are counted at the edges of containers. Work counts what nodes do not: shapes that this response did not show
before, containers to go into, names to read and to compare, cuts. Both are counted off the response alone, never timed
and never by what other responses left behind, so that the same response always has the same shape.
"""

from __future__ import annotations

from typing import Any, Final

from toolpulse._base.paths import Path, Segment, format_path
from toolpulse.shape.nodes import Shape
from toolpulse.shape.observation import Limits, Truncation

LEAST_WORK: Final = 25_000
"""Units of about a microsecond, or less, that a walk may take beside its nodes; more where more nodes are allowed.

The largest of some thousand recorded API responses takes 20,923; more would cost more than a response may."""

_TO_CUT: Final = 12
MOST_CUTS: Final = 500
"""Places where one response may be cut; where there are more, all of it is."""

# Readers may give readable objects again, without a level of their own; so many a level at most.
_MOST_HOPS: Final = 4


class TooManyCuts(Exception):  # noqa: N818 - no error, a way out
    """So many places were cut that telling them all would cost more than the walk."""


class Budget:
    """What is left of one walk, where it stands, and what it cut."""

    __slots__ = ("_cuts", "_depth", "_limits", "_met", "_open", "_path", "_spent", "left", "work")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._depth = 0
        self._open: list[int] = []
        self._path: list[Segment] = []
        self._cuts: set[tuple[Path, tuple[str, int, int]]] = set()
        self._met: set[Shape] = set()
        self._spent = "nodes"
        self.left = limits.nodes
        self.work = max(LEAST_WORK, limits.nodes)

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        """Where the walk was cut, in order."""
        if not self._cuts:
            return ()
        return tuple(sorted(Truncation(format_path(path), *rest) for path, rest in self._cuts))

    def _closed(self, value: Any) -> bool:
        """Whether the walk must not go into this container."""
        # readers may give readable objects again, without a level of their own; that must end too
        if self._depth >= self._limits.depth or len(self._open) > _MOST_HOPS * self._limits.depth:
            self._cut("depth", 0, 1)
        elif self.left <= 0:
            self._cut(self._spent, 0, 1)
        elif id(value) in self._open:
            self._cut("cycle", 0, 1)
        else:
            return False
        return True

    def _take(self, work: int) -> None:
        """Take work off its budget. Where that is used up, so are the nodes: the walk goes into nothing any more."""
        self.work -= work
        if self.work <= 0 < self.left:
            self.left = 0
            self._spent = "work"

    def _cut(self, limit: str, seen: int, total: int) -> None:
        self._take(_TO_CUT)
        self._cuts.add((tuple(self._path), (limit, seen, total)))
        if len(self._cuts) > MOST_CUTS:
            raise TooManyCuts

    def _meet(self, shape: Shape) -> None:
        """Take off what a shape costs that this response did not show before."""
        self._met.add(shape)
        self.work -= shape.work
        if self.work <= 0:
            self._take(0)
