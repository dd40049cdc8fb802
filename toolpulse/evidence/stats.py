"""The evidence at one path of a tool's responses: how often each thing was seen there, first and last when.

The statistics that everything else in these rooms asks. Pure: counts and ordinals only, no value of a response. An
*ordinal* is the position, from 1, of an observation in its tool's sequence. ``fold`` and ``profile`` write them;
judgement, state and the command line read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import ITEMS, VALUES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from toolpulse._base.paths import Segment

CONTAINERS: Final = frozenset({"object", "array", "map"})

COUNTED: Final = ("seen", "objects", "valued", "empty", "filled", "truncated", "always", "in_some")
"""The attributes of PathStats that are sightings."""

STORED_NAMES: Final = {
    "truncated": "cut",
    "in_some": "partly",
    "last_absent": "lacking",
    "last_complete": "whole",
}
"""Attributes of PathStats that stored baselines know by another name. What is stored keeps it, so old files load."""

MOST_PAIRED: Final = 64
"""Fields at one path up to which pairs of keys are tracked; beyond it an array is never taken for a union."""

_VALUELESS: Final = frozenset({"null", "unknown"})


class Sightings:
    """How often something was seen, and the ordinals of its first and last time; all 0 where it never was."""

    __slots__ = ("count", "first", "last")

    def __init__(self, count: int = 0, first: int = 0, last: int = 0) -> None:
        self.count = count
        self.first = first
        self.last = last

    def add(self, other: Sightings) -> None:
        """Count ``other``'s sightings to these."""
        count, first, last = other.count, other.first, other.last
        if not count:
            return
        if first < self.first or not self.count:
            self.first = first
        if last > self.last:  # noqa: PLR1730 - the most called line of all; max takes several times as long
            self.last = last
        self.count += count

    def plain(self) -> tuple[int, int, int]:
        """Count, first and last ordinal, as they are stored."""
        return self.count, self.first, self.last

    def __repr__(self) -> str:
        return f"Sightings{self.plain()}"


def printed_kind(kind: str) -> str:
    """A kind as findings print it: a map is an object."""
    return "object" if kind == "map" else kind


class PathStats:
    """The evidence at one path.

    All but the last three are ``Sightings``, counted in observations; kinds are those of ``toolpulse.shape``.

    - ``seen``: observations that reach the path.
    - ``kinds``: of these, the ones that show each kind; ``valued``: those that show any but null.
    - ``objects``: those with a record here; ``empty`` and ``filled``: those with a container without and with members.
    - ``truncated``: of array elements and map values, those of which a limit left some out.
    - ``always`` and ``in_some``: of a field, the observations in which every record had it, or only some had.
    - ``last_absent``: of a field, the last ordinal at which a record was there without it; 0 for never.
    - ``last_complete``: the last ordinal at which a record here was listed with all its fields.
    - ``pairs``: pairs of fields that were met in one record, as long as there are few fields.
    - ``fields``, ``items``, ``values``: the evidence one segment further in.
    """

    __slots__ = (
        "always", "empty", "fields", "filled", "in_some", "items", "kinds", "last_absent", "last_complete", "objects",
        "pairs", "seen", "truncated", "valued", "values",
    )  # fmt: skip

    def __init__(self, last_absent: int = 0) -> None:
        self.seen = Sightings()
        self.kinds: dict[str, Sightings] = {}
        self.objects = Sightings()
        self.valued = Sightings()
        self.empty = Sightings()
        self.filled = Sightings()
        self.truncated = Sightings()
        self.always = Sightings()
        self.in_some = Sightings()
        self.last_absent = last_absent
        self.last_complete = 0
        self.fields: dict[str, PathStats] = {}
        self.items: PathStats | None = None
        self.values: PathStats | None = None
        self.pairs: set[tuple[str, str]] = set()

    def count_kind(self, kind: str, sightings: Sightings) -> None:
        """Count observations that show one kind here."""
        self.seen.add(sightings)
        seen = self.kinds.get(kind)
        if seen is None:
            seen = self.kinds[kind] = Sightings()
        seen.add(sightings)
        if kind not in _VALUELESS:
            self.valued.add(sightings)

    def count_kinds(self, kinds: Collection[str], sightings: Sightings) -> None:
        """Count observations that show several kinds here."""
        self.seen.add(sightings)
        for kind in kinds:
            self.kinds.setdefault(kind, Sightings()).add(sightings)
        if not _VALUELESS.issuperset(kinds):
            self.valued.add(sightings)

    @property
    def known(self) -> frozenset[str]:
        """The kinds seen here, ``null`` and ``unknown`` left out."""
        return frozenset(self.kinds) - _VALUELESS

    @property
    def sightings(self) -> Sightings:
        """Of a field: the observations in which every record had it or some had."""
        seen = Sightings(*self.always.plain())
        seen.add(self.in_some)
        return seen

    @property
    def commonest(self) -> str:
        """The commonest kind but null, of equally common ones the first by name; ``null`` where only null is."""
        known = self.known
        if not known:
            return "null" if "null" in self.kinds else "unknown"
        commonest = min(known, key=lambda kind: (-self.kinds[kind].count, kind))
        # integers are numbers: where both were seen, a finding says number
        return "number" if commonest == "integer" and "number" in known else commonest

    @property
    def printed_kind(self) -> str:
        """The commonest kind as findings print it."""
        return printed_kind(self.commonest)

    @property
    def mostly_truncated(self) -> bool:
        """Whether a limit left something out here in most observations, so that more may have been there all along."""
        return self.truncated.count * 2 > self.seen.count

    @property
    def is_union(self) -> bool:
        """Whether members of this array (map) come in kinds: two fields known here were never met in one record."""
        count = len(self.fields)
        return 2 <= count <= MOST_PAIRED and len(self.pairs) < count * (count - 1) // 2

    def child(self, segment: Any) -> PathStats | None:
        """The evidence one segment further in; None where that was never seen."""
        if segment is ITEMS:
            return self.items
        return self.values if segment is VALUES else self.fields.get(segment)

    @property
    def has_children(self) -> bool:
        """Whether anything was seen further in."""
        return bool(self.fields) or self.items is not None or self.values is not None

    def children(self) -> Iterator[tuple[Segment, PathStats]]:
        """Each segment further in, with its evidence."""
        yield from self.fields.items()
        if self.items is not None:
            yield ITEMS, self.items
        if self.values is not None:
            yield VALUES, self.values

    def plain(self) -> dict[str, Any]:
        """Everything counted, as plain data in sorted order under its stored names; equal profiles give equal data."""
        return {
            "seen": self.seen.plain(),
            "kinds": {kind: self.kinds[kind].plain() for kind in sorted(self.kinds)},
            **{_stored(name): getattr(self, name).plain() for name in COUNTED if name != "seen"},
            **{_stored(name): getattr(self, name) for name in _ORDINALS},
            "fields": {name: self.fields[name].plain() for name in sorted(self.fields)},
            "items": self.items and self.items.plain(),
            "values": self.values and self.values.plain(),
            "pairs": sorted(self.pairs) if len(self.fields) <= MOST_PAIRED else [],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PathStats:
        """The evidence of what ``plain`` gave; what is left out there counts nothing."""
        stats = cls()
        for name in COUNTED:
            getattr(stats, name).add(Sightings(*plain.get(_stored(name), ())))
        for name in _ORDINALS:
            setattr(stats, name, plain.get(_stored(name), 0))
        stats.kinds = {kind: Sightings(*seen) for kind, seen in plain.get("kinds", {}).items()}
        stats.fields = {name: cls.from_plain(field) for name, field in plain.get("fields", {}).items()}
        stats.items, stats.values = (
            cls.from_plain(plain[inside]) if plain.get(inside) is not None else None for inside in ("items", "values")
        )
        stats.pairs = {(one, other) for one, other in plain.get("pairs", ())}
        return stats

    @property
    def shows_map(self) -> bool:
        """Whether a map was seen here or further in."""
        return self.values is not None or any(below.shows_map for _, below in self.children())


_ORDINALS: Final = ("last_absent", "last_complete")


def _stored(name: str) -> str:
    return STORED_NAMES.get(name, name)
