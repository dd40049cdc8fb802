"""The evidence at one path of a tool's responses: how often what was seen there, since when and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import ITEMS, VALUES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from toolpulse._base.paths import Segment

CONTAINERS: Final = frozenset({"object", "array", "map"})

COUNTED: Final = ("seen", "valued", "objects", "empty", "filled", "cut", "always", "partly")
"""What of a place are sightings."""

MOST_PAIRED: Final = 64
"""Fields of one place up to which pairs of keys are tracked; beyond it an array is never taken for a union."""

_VALUELESS: Final = frozenset({"null", "unknown"})


class Sightings:
    """How often something was seen, and the ordinals of its first and last time. Zero count: never."""

    __slots__ = ("count", "first", "last")

    def __init__(self, count: int = 0, first: int = 0, last: int = 0) -> None:
        self.count = count
        self.first = first
        self.last = last

    def add(self, other: Sightings) -> None:
        """Count ``other`` in."""
        count, first, last = other.count, other.first, other.last
        if not count:
            return
        if first < self.first or not self.count:
            self.first = first
        if last > self.last:  # noqa: PLR1730 - the most called line of all; max takes several times as long
            self.last = last
        self.count += count

    def plain(self) -> tuple[int, int, int]:
        """Count, first and last ordinal."""
        return self.count, self.first, self.last

    def __repr__(self) -> str:
        return f"Sightings{self.plain()}"


class PathStats:
    """The evidence at one path.

    ``seen`` counts the observations that reach it; ``kinds`` those that show each kind; ``valued`` those that show
    any but null; ``objects`` those with a record, ``empty`` and ``filled`` those with a container without and with
    members. Of a field, ``always`` counts the observations in which every record had it, ``partly`` those in which some
    had it; ``lacking`` is the last ordinal at which a record was there without it; ``whole`` the last with a record of
    which every field was listed.
    """

    __slots__ = (
        "always", "cut", "empty", "fields", "filled", "items", "kinds", "lacking", "objects", "pairs", "partly", "seen",
        "valued", "values", "whole",
    )  # fmt: skip

    def __init__(self, lacking: int = 0) -> None:
        self.seen = Sightings()
        self.kinds: dict[str, Sightings] = {}
        self.objects = Sightings()
        self.valued = Sightings()
        self.empty = Sightings()
        self.filled = Sightings()
        self.cut = Sightings()
        self.always = Sightings()
        self.partly = Sightings()
        self.lacking = lacking
        self.whole = 0
        self.fields: dict[str, PathStats] = {}
        self.items: PathStats | None = None
        self.values: PathStats | None = None
        self.pairs: set[tuple[str, str]] = set()

    def show(self, kind: str, row: Sightings) -> None:
        """Count observations that show one kind here."""
        self.seen.add(row)
        seen = self.kinds.get(kind)
        if seen is None:
            seen = self.kinds[kind] = Sightings()
        seen.add(row)
        if kind not in _VALUELESS:
            self.valued.add(row)

    def show_all(self, kinds: Collection[str], row: Sightings) -> None:
        """Count observations that show several kinds here."""
        self.seen.add(row)
        for kind in kinds:
            self.kinds.setdefault(kind, Sightings()).add(row)
        if not _VALUELESS.issuperset(kinds):
            self.valued.add(row)

    @property
    def known(self) -> frozenset[str]:
        """The kinds seen here, ``null`` and ``unknown`` left out."""
        return frozenset(self.kinds) - _VALUELESS

    @property
    def sightings(self) -> Sightings:
        """Of a field: the observations in which every record had it or some had."""
        seen = Sightings(*self.always.plain())
        seen.add(self.partly)
        return seen

    @property
    def commonest(self) -> str:
        """The commonest kind but null, of equally common ones the first by name; ``null`` where only null is."""
        known = self.known
        if not known:
            return "null" if "null" in self.kinds else "unknown"
        found = min(known, key=lambda kind: (-self.kinds[kind].count, kind))
        return "number" if found == "integer" and "number" in known else found

    @property
    def mostly_cut(self) -> bool:
        """Whether most observations were not looked at in full here, so that more may have been there all along."""
        return self.cut.count * 2 > self.seen.count

    @property
    def is_union(self) -> bool:
        """Whether members of this array (map) come in kinds: two fields known here were never met in one record."""
        count = len(self.fields)
        return 2 <= count <= MOST_PAIRED and len(self.pairs) < count * (count - 1) // 2

    def child(self, segment: Any) -> PathStats | None:
        """The place one segment further in."""
        if segment is ITEMS:
            return self.items
        return self.values if segment is VALUES else self.fields.get(segment)

    @property
    def has_children(self) -> bool:
        """Whether there are places further in."""
        return bool(self.fields) or self.items is not None or self.values is not None

    def children(self) -> Iterator[tuple[Segment, PathStats]]:
        """The places one segment further in."""
        yield from self.fields.items()
        if self.items is not None:
            yield ITEMS, self.items
        if self.values is not None:
            yield VALUES, self.values

    def plain(self) -> dict[str, Any]:
        """Everything counted, as plain data in sorted order; equal profiles give equal data."""
        return {
            "seen": self.seen.plain(),
            "kinds": {kind: self.kinds[kind].plain() for kind in sorted(self.kinds)},
            "objects": self.objects.plain(),
            "valued": self.valued.plain(),
            "empty": self.empty.plain(),
            "filled": self.filled.plain(),
            "cut": self.cut.plain(),
            "always": self.always.plain(),
            "partly": self.partly.plain(),
            "lacking": self.lacking,
            "whole": self.whole,
            "fields": {name: self.fields[name].plain() for name in sorted(self.fields)},
            "items": self.items and self.items.plain(),
            "values": self.values and self.values.plain(),
            "pairs": sorted(self.pairs) if len(self.fields) <= MOST_PAIRED else [],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PathStats:
        """The place of what ``plain`` gave; what is left out there counts nothing."""
        place = cls(plain.get("lacking", 0))
        place.whole = plain.get("whole", 0)
        for counted in COUNTED:
            getattr(place, counted).add(Sightings(*plain.get(counted, ())))
        place.kinds = {kind: Sightings(*seen) for kind, seen in plain.get("kinds", {}).items()}
        place.fields = {name: cls.from_plain(field) for name, field in plain.get("fields", {}).items()}
        place.items, place.values = (
            cls.from_plain(plain[inside]) if plain.get(inside) is not None else None for inside in ("items", "values")
        )
        place.pairs = {(one, other) for one, other in plain.get("pairs", ())}
        return place

    @property
    def shows_map(self) -> bool:
        """Whether a map was seen here or further in."""
        return self.values is not None or any(below.shows_map for _, below in self.children())
