"""What waits to be judged: tallies of observations by shape, and how calls failed."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from toolpulse._shapes import Shape
from toolpulse.baseline import Row, cut_paths
from toolpulse.shape import Truncation

Places: TypeAlias = tuple[tuple[str, str], ...]
"""Where a walk was cut: path and limit."""


class RowKey(NamedTuple):
    """What makes observations one tally: all that their judgement depends on."""

    shape: Shape
    encoding: str
    cut: Places
    broken: tuple[str, ...]
    """The assertions that did not hold."""


def places(truncations: tuple[Truncation, ...]) -> Places:
    """Where a walk was cut, without how much was seen."""
    return tuple((cut.path, cut.limit) for cut in truncations) if truncations else ()


class Tally(msgspec.Struct, frozen=True):
    """Observations of one shape and encoding that wait to be judged: how many, at which ordinals, when."""

    shape: Shape
    encoding: str
    count: int
    first: int
    last: int
    time: str
    """Of the first of them; ISO 8601, UTC."""
    truncations: tuple[Truncation, ...] = ()
    broken: tuple[str, ...] = ()
    """``consumer: assertion`` of those that were false or raised."""

    @property
    def row(self) -> Row:
        """As a row of a baseline."""
        return Row(self.shape, self.count, self.first, self.last, self.encoding, cut_paths(self.truncations))

    @property
    def key(self) -> RowKey:
        """What makes it a tally of its own."""
        return RowKey(self.shape, self.encoding, places(self.truncations), self.broken)


class Errors(msgspec.Struct, frozen=True):
    """The errors of a tool so far. They have ordinals of their own: the positions of calls."""

    calls: int
    errors: int
    run: int
    """How many of the newest calls failed in a row."""
    recent: int
    """How many of the last 100 calls failed."""
    time: str
    """ISO 8601, UTC."""
