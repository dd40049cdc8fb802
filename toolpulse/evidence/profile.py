"""What the observations of a tool have in common: evidence for every path, folded from distinct shapes and counts.

A profile is a commutative monoid: any order, any grouping and any process gives the same one for the same rows.
It holds counts and ordinals only. An *ordinal* is an observation's position (from 1) in its tool's sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import ROOT, Path
from toolpulse.evidence.fold import Fold, FoldAlike
from toolpulse.evidence.stats import CONTAINERS, COUNTED, PathStats, Sightings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from toolpulse.shape.nodes import Shape

__all__ = ["CONTAINERS", "PathStats", "Profile", "Sightings", "fold", "merge"]

_NONE: Final[frozenset[Path]] = frozenset()


class Profile:
    """The evidence of one tool (and key): the root place, and how containers at the root were encoded."""

    __slots__ = ("encodings", "has_maps", "root")

    def __init__(self) -> None:
        self.root = PathStats()
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
        row = Fold(seen, cuts)
        row.place(self.root, shape, ROOT)
        self.has_maps = self.has_maps or row.has_maps

    def paths(self) -> Iterator[Path]:
        """Every path that was seen, the root among them."""
        return (path for path, _ in self._places())

    def _places(self) -> Iterator[tuple[Path, PathStats]]:
        waiting: list[tuple[Path, PathStats]] = [(ROOT, self.root)]
        while waiting:
            path, place = waiting.pop()
            yield path, place
            waiting.extend(((*path, step), below) for step, below in place.children())

    def map_paths(self) -> frozenset[Path]:
        """Where a map was seen."""
        return frozenset(path for path, place in self._places() if place.values is not None) if self.has_maps else _NONE

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

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Profile:
        """The profile of what ``plain`` gave; what is left out there counts nothing.

        Raises TypeError, ValueError or AttributeError where it is nothing that ``plain`` gives.
        """
        profile = cls()
        profile.encodings = {name: Sightings(*seen) for name, seen in plain.get("encodings", {}).items()}
        profile.root = PathStats.from_plain(plain.get("root", {}))
        profile.has_maps = profile.root.shows_map
        return profile

    def __eq__(self, other: object) -> bool:
        return self.plain() == other.plain() if isinstance(other, Profile) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def fold(rows: Iterable[tuple[Shape, Sightings, str, frozenset[Path]]]) -> Profile:
    """The profile of rows: (shape, sightings, encoding, cuts) in any order."""
    profile = Profile()
    alike: dict[frozenset[Path], dict[Shape, Sightings]] = {}
    for shape, seen, encoding, cuts in rows:
        if shape.kind in CONTAINERS:
            profile.encodings.setdefault(encoding, Sightings()).add(seen)
        alike.setdefault(cuts, {}).setdefault(shape, Sightings()).add(seen)
    for cuts, shapes in alike.items():
        folding = FoldAlike(cuts)
        folding.place(profile.root, shapes, ROOT)
        profile.has_maps = profile.has_maps or folding.has_maps
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


def _merge(one: PathStats, other: PathStats) -> PathStats:
    out = PathStats(lacking=max(one.lacking, other.lacking))
    out.whole = max(one.whole, other.whole)
    for place in (one, other):
        for counted in COUNTED:
            getattr(out, counted).add(getattr(place, counted))
        for kind, seen in place.kinds.items():
            out.kinds.setdefault(kind, Sightings()).add(seen)
        out.pairs |= place.pairs
    for name in one.fields.keys() | other.fields.keys():
        out.fields[name] = _merge_field(one, other, name)
    out.items = _merge(one.items or PathStats(), other.items or PathStats()) if one.items or other.items else None
    out.values = _merge(one.values or PathStats(), other.values or PathStats()) if one.values or other.values else None
    return out


def _merge_field(one: PathStats, other: PathStats, name: str) -> PathStats:
    """A field only one side knows was lacking whenever the other side had a record."""
    a = one.fields.get(name) or PathStats(lacking=one.whole)
    b = other.fields.get(name) or PathStats(lacking=other.whole)
    return _merge(a, b)


def _cap(place: PathStats, most: int) -> None:
    """No observation counts more than once at a place, however many fields it was merged from."""
    for seen in (*(getattr(place, counted) for counted in COUNTED), *place.kinds.values()):
        seen.count = min(seen.count, most)
    for below in (*place.fields.values(), *filter(None, (place.items, place.values))):
        _cap(below, place.seen.count)


def _read_as_map(root: PathStats, path: Path) -> bool:
    place: PathStats | None = root
    for segment in path:
        place = place.child(segment) if place else None
    if place is None or "object" not in place.kinds:
        return False
    values = place.values or PathStats()
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
