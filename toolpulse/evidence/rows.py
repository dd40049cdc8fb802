"""Rows: the distinct shapes of a tool, each with its count and its first and last ordinal.

Values that baselines, the state of a tool and stores share. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from toolpulse._base.paths import Path, parse_path
from toolpulse.evidence.maps import as_values
from toolpulse.evidence.profile import Sightings
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
        """What makes it a row of its own: a cut one says less of what was absent."""
        return (self.shape, self.encoding, self.cuts)

    @property
    def sightings(self) -> Sightings:
        """Count, first and last as the profile folds them."""
        return Sightings(self.count, self.first, self.last)


def cut_paths(truncations: Iterable[Truncation]) -> frozenset[Path]:
    """The paths where something was not looked at. A long name is shortened, and nothing of its record is missing."""
    return frozenset(parse_path(cut.path) for cut in truncations if cut.limit != "name")


def reread(row: Row, shape: Shape, maps: frozenset[Path]) -> Row:
    """A row whose shape was read again with the maps known since; where it was cut below one, no key is named."""
    return msgspec.structs.replace(row, shape=shape, cuts=frozenset(as_values(path, maps) for path in row.cuts))


def join(one: Row, other: Row) -> Row:
    """Two rows of the same shape and encoding as one."""
    return Row(
        one.shape,
        one.count + other.count,
        min(one.first, other.first),
        max(one.last, other.last),
        one.encoding,
        one.cuts | other.cuts,
    )
