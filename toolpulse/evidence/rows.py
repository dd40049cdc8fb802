"""Rows: the distinct shapes of a tool, each with its count and its first and last ordinal.

They are what a baseline consists of, and a profile is folded from them. Values that baselines, the state of a tool and
stores share. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from toolpulse._base.paths import Path, parse_path
from toolpulse.evidence.profile import Sightings
from toolpulse.evidence.shape_paths import as_map_values
from toolpulse.shape import Truncation
from toolpulse.shape.nodes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable


RowKey: TypeAlias = tuple[Shape, str, frozenset[Path]]
"""Shape, encoding, and where walks were cut."""


class Row(msgspec.Struct, frozen=True):
    """A distinct shape: how often it was seen, first and last at which ordinal, and how it was encoded."""

    shape: Shape
    count: int
    first: int
    last: int
    encoding: str = "native"
    cuts: frozenset[Path] = frozenset()
    """The paths where a walk over it stopped short."""

    @property
    def key(self) -> RowKey:
        """What makes it a row of its own; where the walk was cut is part of that, since absence means less there."""
        return (self.shape, self.encoding, self.cuts)

    @property
    def sightings(self) -> Sightings:
        """Count, first and last as the profile folds them."""
        return Sightings(self.count, self.first, self.last)


def truncated_paths(truncations: Iterable[Truncation]) -> frozenset[Path]:
    """The paths where a limit left something out. A shortened name is no such place: its record is complete."""
    return frozenset(parse_path(cut.path) for cut in truncations if cut.limit != "name")


def reshaped(row: Row, shape: Shape, maps: frozenset[Path]) -> Row:
    """The row with its shape as it reads since the maps at ``maps`` are known; no truncated path names a key of one."""
    return msgspec.structs.replace(row, shape=shape, cuts=frozenset(as_map_values(path, maps) for path in row.cuts))


def join_rows(one: Row, other: Row) -> Row:
    """Two rows of the same shape and encoding as one: counts added, from the earlier first to the later last."""
    return Row(
        one.shape,
        one.count + other.count,
        min(one.first, other.first),
        max(one.last, other.last),
        one.encoding,
        one.cuts | other.cuts,
    )
