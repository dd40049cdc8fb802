"""The file of a baseline: sorted JSON, one line a fact, made to be committed and merged. Bytes in and out, no file.

Files written by every version so far can be read. ``Baseline`` alone calls this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from toolpulse._base import files
from toolpulse._base.canonical import ascii_json, laid_out, load_strict
from toolpulse._base.paths import format_path, parse_path
from toolpulse.errors import InputError
from toolpulse.evidence.maps import LearnedMap
from toolpulse.evidence.profile import Profile
from toolpulse.evidence.profile_json import dense, sparse
from toolpulse.evidence.rows import Row
from toolpulse.judgement.consumer import Consumer
from toolpulse.shape import Limits
from toolpulse.shape.nodes import shape_from_normal

SCHEMA: Final = 1
"""The version of the file."""


class Contents(NamedTuple):
    """What a baseline is made of, by the names its constructor has for it."""

    rows: Sequence[Row]
    maps_learned: tuple[LearnedMap, ...]
    consumers: Sequence[Consumer]
    limits: Limits
    maps: Sequence[str]
    records: Sequence[str]
    unwrap: str
    merged: Profile | None


def encode(contents: Contents) -> bytes:
    """The bytes of the file. Equal contents give equal bytes."""
    merged = contents.merged
    stored = _Stored(
        schema=SCHEMA,
        unwrap=contents.unwrap,
        limits=contents.limits,
        maps=sorted(contents.maps),
        records=sorted(contents.records),
        maps_learned=[_StoredMap.of(decision) for decision in contents.maps_learned],
        consumers=[consumer.plain() for consumer in contents.consumers],
        rows=[_StoredRow.of(row) for row in contents.rows],
        merged=msgspec.UNSET if merged is None else msgspec.Raw(ascii_json(sparse(merged))),
    )
    return laid_out(msgspec.json.encode(stored, order="sorted"))


def decode(data: bytes) -> Contents:
    """Read the bytes of a file. Raises InputError saying what is wrong."""
    plain = load_strict(data)
    files.check_schema(plain, SCHEMA, "baseline")
    try:
        stored = msgspec.convert(plain, _Stored)
        return Contents(
            [row.row() for row in stored.rows],
            tuple(one.decision() for one in stored.maps_learned),
            [Consumer(**settings) for settings in stored.consumers],
            stored.limits,
            stored.maps,
            stored.records,
            stored.unwrap,
            None if stored.merged is msgspec.UNSET else dense(stored.merged),
        )
    except (msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"not a baseline: {error}") from None


class _StoredMap(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    observations: int
    keys: int
    largest: int
    returning: int
    single: int
    forms: int

    @classmethod
    def of(cls, decision: LearnedMap) -> _StoredMap:
        return cls(format_path(decision.path), *(getattr(decision, name) for name in cls.__struct_fields__[1:]))

    def decision(self) -> LearnedMap:
        return LearnedMap(parse_path(self.path), *(getattr(self, name) for name in self.__struct_fields__[1:]))


class _StoredRow(msgspec.Struct, forbid_unknown_fields=True):
    fingerprint: str
    shape: Any
    count: int
    first: int
    last: int
    encoding: str = "native"
    cuts: list[str] = []

    @classmethod
    def of(cls, row: Row) -> _StoredRow:
        cuts = sorted(map(format_path, row.cuts))
        normal = msgspec.Raw(row.shape.text.encode("ascii"))
        return cls(row.shape.fingerprint, normal, row.count, row.first, row.last, row.encoding, cuts)

    def row(self) -> Row:
        try:
            shape = shape_from_normal(self.shape)
        except ValueError as error:
            raise ValueError(f"{error} in row {self.fingerprint[:12]} (written by a newer ToolPulse?)") from None
        if shape.fingerprint != self.fingerprint:
            raise ValueError(f"row {self.fingerprint[:12]}: the shape does not have this fingerprint")
        if not self.count >= 1 or not 1 <= self.first <= self.last:
            raise ValueError(f"row {self.fingerprint[:12]}: count, first and last do not go together")
        return Row(shape, self.count, self.first, self.last, self.encoding, frozenset(map(parse_path, self.cuts)))


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    schema: int
    unwrap: str
    limits: Limits
    maps: list[str]
    records: list[str]
    maps_learned: list[_StoredMap]
    consumers: list[dict[str, Any]]
    rows: list[_StoredRow]
    merged: Any = msgspec.UNSET
