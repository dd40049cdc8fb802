"""What the observations of a tool have in common: the evidence for every path, folded from distinct shapes and counts.

A profile is a commutative monoid: any order, any grouping and any process gives the same one for the same rows, so the
profiles of two processes can be merged. It holds counts and ordinals, no value of a response. Pure. The judge compares
with it; the state of a tool and the offline baseline build it; stores keep the part that no row is left of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import ROOT, Path
from toolpulse.evidence.fold import Fold, Shown
from toolpulse.evidence.stats import CONTAINERS, COUNTED, PathStats, Sightings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from toolpulse.shape.nodes import Shape

__all__ = ["CONTAINERS", "PathStats", "Profile", "Sightings", "fold", "merge"]

_NONE: Final[frozenset[Path]] = frozenset()


class Profile:
    """The evidence of one tool and key: ``root``, the statistics of the whole response, with everything below it.

    ``encodings`` says how containers at the root were encoded (``native``, ``json-text``, ``mcp-text``, ...).
    """

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
        _fold_into(self, {shape: seen}, cuts)

    def at(self, path: Path) -> PathStats | None:
        """The evidence at a path; None where it was never seen."""
        stats: PathStats | None = self.root
        for segment in path:
            stats = stats.child(segment) if stats else None
        return stats

    def paths(self) -> Iterator[Path]:
        """Every path that was seen, the root among them."""
        return (path for path, _ in self._stats_by_path())

    def _stats_by_path(self) -> Iterator[tuple[Path, PathStats]]:
        waiting: list[tuple[Path, PathStats]] = [(ROOT, self.root)]
        while waiting:
            path, stats = waiting.pop()
            yield path, stats
            waiting.extend(((*path, step), below) for step, below in stats.children())

    def map_paths(self) -> frozenset[Path]:
        """Where a map was seen."""
        return (
            frozenset(path for path, stats in self._stats_by_path() if stats.values is not None)
            if self.has_maps
            else _NONE
        )

    def with_maps(self, paths: Iterable[Path]) -> Profile:
        """A copy in which the records at some paths are read as maps: their fields' evidence becomes that of values."""
        copy = merge(self, Profile())
        for path in sorted(paths, key=len):
            copy.has_maps = _read_as_map(copy, path) or copy.has_maps
        return copy

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
    by_cuts: dict[frozenset[Path], dict[Shown, Sightings]] = {}
    for shape, seen, encoding, cuts in rows:
        if shape.kind in CONTAINERS:
            profile.encodings.setdefault(encoding, Sightings()).add(seen)
        by_cuts.setdefault(cuts, {}).setdefault(shape, Sightings()).add(seen)
    for cuts, shown in by_cuts.items():
        _fold_into(profile, shown, cuts)
    return profile


def _fold_into(profile: Profile, shown: Mapping[Shown, Sightings], cuts: frozenset[Path]) -> None:
    folding = Fold(cuts)
    folding.count(profile.root, shown, ROOT)
    profile.has_maps = profile.has_maps or folding.has_maps


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
    out = PathStats(last_absent=max(one.last_absent, other.last_absent))
    out.last_complete = max(one.last_complete, other.last_complete)
    for stats in (one, other):
        for counted in COUNTED:
            getattr(out, counted).add(getattr(stats, counted))
        for kind, seen in stats.kinds.items():
            out.kinds.setdefault(kind, Sightings()).add(seen)
        out.pairs |= stats.pairs
    for name in one.fields.keys() | other.fields.keys():
        out.fields[name] = _merge_field(one, other, name)
    out.items = _merge(one.items or PathStats(), other.items or PathStats()) if one.items or other.items else None
    out.values = _merge(one.values or PathStats(), other.values or PathStats()) if one.values or other.values else None
    return out


def _merge_field(one: PathStats, other: PathStats, name: str) -> PathStats:
    """A field that only one side knows was absent whenever the other side had a record."""
    a = one.fields.get(name) or PathStats(last_absent=one.last_complete)
    b = other.fields.get(name) or PathStats(last_absent=other.last_complete)
    return _merge(a, b)


def _cap(stats: PathStats, most: int) -> None:
    """No observation counts more than once at a path, however many fields it was merged from."""
    for seen in (*(getattr(stats, counted) for counted in COUNTED), *stats.kinds.values()):
        seen.count = min(seen.count, most)
    for below in (*stats.fields.values(), *filter(None, (stats.items, stats.values))):
        _cap(below, stats.seen.count)


def _read_as_map(profile: Profile, path: Path) -> bool:
    stats = profile.at(path)
    if stats is None or "object" not in stats.kinds:
        return False
    values = stats.values or PathStats()
    for field in stats.fields.values():
        values = _merge(values, field)
    for counted in ("always", "in_some"):
        setattr(values, counted, Sightings())
    values.last_absent = 0
    _cap(values, stats.objects.count)
    stats.values = values
    stats.kinds.setdefault("map", Sightings()).add(stats.kinds.pop("object"))
    stats.objects, stats.fields, stats.pairs = Sightings(), {}, set()
    return True
