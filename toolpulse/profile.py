"""What the observations of a tool have in common: evidence for every path, folded from distinct shapes and counts.

A profile is a commutative monoid: any order, any grouping and any process gives the same one for the same rows.
It holds counts and ordinals only. An *ordinal* is an observation's position (from 1) in its tool's sequence.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from toolpulse._shapes import Array, Map, Object, Scalar, Shape
from toolpulse.paths import ITEMS, ROOT, VALUES, Path

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator

    from toolpulse.paths import Segment

CONTAINERS: Final = frozenset({"object", "array", "map"})

_VALUELESS: Final = frozenset({"null", "unknown"})

# Pairs of keys are tracked up to this many fields of one place; beyond it an array is never taken for a union.
_MOST_PAIRED = 64


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


class Place:
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
        self.fields: dict[str, Place] = {}
        self.items: Place | None = None
        self.values: Place | None = None
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
        return 2 <= count <= _MOST_PAIRED and len(self.pairs) < count * (count - 1) // 2

    def child(self, segment: Any) -> Place | None:
        """The place one segment further in."""
        if segment is ITEMS:
            return self.items
        return self.values if segment is VALUES else self.fields.get(segment)

    @property
    def has_children(self) -> bool:
        """Whether there are places further in."""
        return bool(self.fields) or self.items is not None or self.values is not None

    def children(self) -> Iterator[tuple[Segment, Place]]:
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
            "pairs": sorted(self.pairs) if len(self.fields) <= _MOST_PAIRED else [],
        }


class Profile:
    """The evidence of one tool (and key): the root place, and how containers at the root were encoded."""

    __slots__ = ("encodings", "has_maps", "root")

    def __init__(self) -> None:
        self.root = Place()
        self.encodings: dict[str, Sightings] = {}
        self.has_maps = False
        """Whether a map was seen anywhere."""

    @property
    def observations(self) -> Sightings:
        """All observations folded in."""
        return self.root.seen

    def add(self, shape: Shape, seen: Sightings, encoding: str = "native", cuts: frozenset[Path] = frozenset()) -> None:
        """Fold a row in: a shape seen ``seen.count`` times. ``cuts`` are the paths where its walk stopped short."""
        if shape.kind in CONTAINERS:
            self.encodings.setdefault(encoding, Sightings()).add(seen)
        row = _Fold(seen, cuts)
        row.place(self.root, shape, ROOT)
        self.has_maps = self.has_maps or row.has_maps

    def paths(self) -> Iterator[Path]:
        """Every path that was seen, the root among them."""
        waiting: list[tuple[Path, Place]] = [(ROOT, self.root)]
        while waiting:
            path, place = waiting.pop()
            yield path
            waiting.extend(((*path, name), field) for name, field in place.fields.items())
            waiting.extend(
                ((*path, step), below) for step, below in ((ITEMS, place.items), (VALUES, place.values)) if below
            )

    def with_maps(self, paths: Iterable[Path]) -> Profile:
        """A copy in which the records at some paths are read as maps: their fields' evidence becomes that of values."""
        found = merge(self, Profile())
        for path in sorted(paths, key=len):
            found.has_maps = _read_as_map(found.root, path) or found.has_maps
        return found

    def plain(self) -> dict[str, Any]:
        """Everything counted, as plain data in sorted order."""
        encodings = {name: self.encodings[name].plain() for name in sorted(self.encodings)}
        return {"encodings": encodings, "root": self.root.plain()}

    def __eq__(self, other: object) -> bool:
        return self.plain() == other.plain() if isinstance(other, Profile) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Fold:
    """One row on its way into a profile. Nearly every place shows one shape, most of them a value: those go first."""

    __slots__ = ("cuts", "has_maps", "row")

    def __init__(self, row: Sightings, cuts: frozenset[Path]) -> None:
        self.row = row
        self.cuts = cuts
        self.has_maps = False

    def place(self, place: Place, shape: Shape, path: Path) -> None:
        """Count the one shape of a place."""
        place.show(shape.kind, self.row)
        if isinstance(shape, Object):
            self._record(place, shape, path)
        elif isinstance(shape, Array):
            self._items(place, shape.elements, path)
        elif isinstance(shape, Map):
            self._values(place, shape.values, path)

    def _places(self, place: Place, shapes: frozenset[Shape], path: Path) -> None:
        """Count the shapes of a place inside arrays and maps, where it may have several."""
        if len(shapes) == 1:
            for shape in shapes:
                self.place(place, shape, path)
            return
        by_kind: dict[str, list[Any]] = {}
        for shape in shapes:
            by_kind.setdefault(shape.kind, []).append(shape)
        place.show_all(by_kind, self.row)
        if "object" in by_kind:
            self._records(place, by_kind["object"], path)
        if "array" in by_kind:
            self._items(place, frozenset().union(*(array.elements for array in by_kind["array"])), path)
        if "map" in by_kind:
            self._values(place, frozenset().union(*(found.values for found in by_kind["map"])), path)

    def _items(self, place: Place, elements: frozenset[Shape], path: Path) -> None:
        place.items = place.items or Place()
        self._members(place, place.items, elements, (*path, ITEMS))

    def _values(self, place: Place, values: frozenset[Shape], path: Path) -> None:
        self.has_maps = True
        place.values = place.values or Place()
        self._members(place, place.values, values, (*path, VALUES))

    def _members(self, place: Place, members: Place, shapes: frozenset[Shape], path: Path) -> None:
        if path in self.cuts or path[:-1] in self.cuts:
            members.cut.add(self.row)
        if not shapes:
            place.empty.add(self.row)
            return
        place.filled.add(self.row)
        for shape in shapes:
            if isinstance(shape, Object):
                members.pairs.update(_pairs(shape, members))
        self._places(members, shapes, path)

    def _record(self, place: Place, record: Object, path: Path) -> None:
        row, fields, before = self.row, place.fields, place.whole
        place.objects.add(row)
        (place.filled if record.names else place.empty).add(row)
        for name, child in record.fields.items():
            field = fields.get(name)
            if field is None:
                field = fields[name] = Place(lacking=before)
            field.always.add(row)
            if type(child) is Scalar:
                field.show(child.kind, row)
            else:
                self.place(field, child, (*path, name))
        self._lacked(place, record.fields, path)

    def _records(self, place: Place, records: list[Object], path: Path) -> None:
        row, before = self.row, place.whole
        place.objects.add(row)
        (place.filled if any(record.names for record in records) else place.empty).add(row)
        gathered: dict[str, list[Shape]] = {}
        for record in records:
            for name, child in record.fields.items():
                gathered.setdefault(name, []).append(child)
        for name, children in gathered.items():
            field = place.fields.get(name)
            if field is None:
                field = place.fields[name] = Place(lacking=before)
            if len(children) == len(records):
                field.always.add(row)
            else:
                field.partly.add(row)
                field.lacking = max(field.lacking, row.last)
            self._places(field, frozenset(children), (*path, name))
        self._lacked(place, gathered, path)

    def _lacked(self, place: Place, found: Container[str], path: Path) -> None:
        """Note for each field not found that a record lacked it, unless that was cut and may have had it."""
        if path in self.cuts:
            return
        last = self.row.last
        place.whole = max(place.whole, last)
        for name, field in place.fields.items():
            if last > field.lacking and name not in found:
                field.lacking = last


def _pairs(shape: Object, members: Place) -> Iterable[tuple[str, str]]:
    if len(shape.names) > _MOST_PAIRED or len(members.fields) > _MOST_PAIRED:
        return ()
    return combinations(shape.names, 2)


def fold(rows: Iterable[tuple[Shape, Sightings, str, frozenset[Path]]]) -> Profile:
    """The profile of rows: (shape, sightings, encoding, cuts) in any order."""
    profile = Profile()
    for shape, seen, encoding, cuts in rows:
        profile.add(shape, seen, encoding, cuts)
    return profile


def merge(one: Profile, other: Profile) -> Profile:
    """The profile of the rows of both, which are left as they were."""
    merged = Profile()
    for profile in (one, other):
        for name, seen in profile.encodings.items():
            merged.encodings.setdefault(name, Sightings()).add(seen)
    merged.root = _merge(one.root, other.root)
    merged.has_maps = one.has_maps or other.has_maps
    return merged


_COUNTED: Final = ("seen", "valued", "objects", "empty", "filled", "cut", "always", "partly")


def _merge(one: Place, other: Place) -> Place:
    out = Place(lacking=max(one.lacking, other.lacking))
    out.whole = max(one.whole, other.whole)
    for place in (one, other):
        for counted in _COUNTED:
            getattr(out, counted).add(getattr(place, counted))
        for kind, seen in place.kinds.items():
            out.kinds.setdefault(kind, Sightings()).add(seen)
        out.pairs |= place.pairs
    for name in one.fields.keys() | other.fields.keys():
        out.fields[name] = _merge_field(one, other, name)
    out.items = _merge(one.items or Place(), other.items or Place()) if one.items or other.items else None
    out.values = _merge(one.values or Place(), other.values or Place()) if one.values or other.values else None
    return out


def _merge_field(one: Place, other: Place, name: str) -> Place:
    """A field only one side knows was lacking whenever the other side had a record."""
    a = one.fields.get(name) or Place(lacking=one.whole)
    b = other.fields.get(name) or Place(lacking=other.whole)
    return _merge(a, b)


def _cap(place: Place, most: int) -> None:
    """No observation counts more than once at a place, however many fields it was merged from."""
    for seen in (*(getattr(place, counted) for counted in _COUNTED), *place.kinds.values()):
        seen.count = min(seen.count, most)
    for below in (*place.fields.values(), *filter(None, (place.items, place.values))):
        _cap(below, place.seen.count)


def _read_as_map(root: Place, path: Path) -> bool:
    place: Place | None = root
    for segment in path:
        place = place.child(segment) if place else None
    if place is None or "object" not in place.kinds:
        return False
    values = place.values or Place()
    for field in place.fields.values():
        values = _merge(values, field)
    for counted in ("always", "partly"):
        setattr(values, counted, Sightings())
    values.lacking = 0
    _cap(values, place.objects.count)
    place.values = values
    place.kinds.setdefault("map", Sightings()).add(place.kinds.pop("object"))
    place.objects, place.fields, place.pairs = Sightings(), {}, set()
    return True
