"""What is different: facts with paths and evidence, a new shape against a profile. No judgement is made here.

Compared is with everything known at a path, never with another shape: a new combination of known parts is no
change, a kind not seen this time is none, and only the outermost path of an added or removed subtree is a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment, format_path
from toolpulse.evidence.maps import rewrite
from toolpulse.evidence.profile import CONTAINERS, PathStats, Profile
from toolpulse.shape.map_keys import data_like
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Shape, is_empty

if TYPE_CHECKING:
    from collections.abc import Iterable

Fact: TypeAlias = Literal[
    "missing",
    "added",
    "kind",
    "container",
    "encoding",
    "null",
    "refined",
    "learned",
    "element",
    "empty",
    "vanished",
    "valueless",
    "errors",
    "broken",
    "map",
    "truncation",
]

WARM: Final = 10
"""Sightings after which a path of a live baseline is judged: a tool's first observations, and a path's, teach."""

NEW_SHAPE: Final = "new element shape"

# Comparisons spent on asking whether a structure fits an array further out; a hostile response must not buy more.
_MOST_FITS = 64


class Change(msgspec.Struct, frozen=True):
    """A fact: one path, what was known there and what is there now."""

    path: Path
    fact: Fact
    before: str
    """A kind, ``missing``, ``empty``, ``non-empty``; of an encoding its name."""
    after: str
    evidence: str
    partly: bool = False
    """In some elements only."""
    taught: int = 0
    """How many observations taught this path (for presence: its parent)."""
    cut: bool = False
    """The walk, then or now, did not see everything here."""
    pattern: str | None = None
    """Which larger change this is part of: ``renamed``, ``wrapped``, ``unwrapped``, ``replaced-by-error``, ..."""
    counterpart: str | None = None
    """The path on the other side of the pattern."""
    shown: int = 1
    """How many observations showed it when it was found: of a silence, how long it was."""

    @property
    def where(self) -> str:
        """The path, printed."""
        return format_path(self.path)


def align(profile: Profile, shape: Shape, limit: int) -> Shape:
    """The shape with records read as maps where the profile knows a map and they fit it.

    They fit when they are empty, when all their keys look like data, or when their values are like the map's.
    """

    def as_map(path: Path, record: Object) -> bool:
        place = find(profile, path)
        if place is None or place.values is None or place.fields:
            return False
        return not record.names or data_like(record.names) or _like(place.values, record.fields.values())

    return rewrite(shape, as_map, limit) if profile.has_maps else shape


def _like(values: PathStats, shapes: Iterable[Shape]) -> bool:
    always = {name for name, field in values.fields.items() if field.always.count == values.objects.count}
    return all(
        shape.kind in values.kinds and (not isinstance(shape, Object) or always <= shape.fields.keys())
        for shape in shapes
    )


def find(profile: Profile, path: Path) -> PathStats | None:
    """The place at a path, if the profile knows it."""
    place: PathStats | None = profile.root
    for segment in path:
        place = place.child(segment) if place else None
    return place


def diff(
    profile: Profile,
    shape: Shape,
    *,
    encoding: str = "native",
    cuts: frozenset[Path] = frozenset(),
    sealed: bool = True,
) -> tuple[Change, ...]:
    """The facts by which ``shape`` differs from ``profile``, outermost and first by path.

    ``cuts`` are the paths where the walk over this response stopped short. ``sealed`` says that the profile is
    complete: a field is required where all it learned had it; else where it was there since it first appeared, at
    least ten times.
    """
    found = _Diff(cuts, sealed)
    found.root(profile, shape, encoding)
    unique = {(change.path, change.fact, change.before, change.after): change for change in found.changes}
    return tuple(sorted(unique.values(), key=lambda change: (change.where, change.fact, change.after)))


def fits(place: PathStats, shapes: frozenset[Shape], *, member: bool = False) -> bool:
    """Whether shapes at a place differ in nothing from what is known there."""
    found = _Diff(frozenset(), sealed=True)
    found.place(place, shapes, ROOT, member, True)
    return not found.changes


class _Diff:
    """One comparison on its way."""

    def __init__(self, cuts: frozenset[Path], sealed: bool) -> None:
        self.cuts = cuts
        self.sealed = sealed
        self.changes: list[Change] = []
        self._enclosing: list[PathStats] = []
        self._fits_left = _MOST_FITS

    def root(self, profile: Profile, shape: Shape, encoding: str) -> None:
        place = profile.root
        if not place.kinds:
            return
        if self._response_empty(place, shape):
            return
        encoded = profile.encodings
        if shape.kind in place.kinds and shape.kind in CONTAINERS and encoded and encoding not in encoded:
            known = max(sorted(encoded), key=lambda name: encoded[name].count)
            self._found(
                ROOT, "encoding", known, encoding, _of(encoded[known].count, place.seen.count), place.seen.count
            )
            return
        self.place(place, frozenset((shape,)), ROOT, False, False)

    def _response_empty(self, place: PathStats, shape: Shape) -> bool:
        """None at the root, or an empty container of a kind not known as empty, where the root said something."""
        if not (place.known or "unknown" in place.kinds):
            return False
        if shape.kind == "null":
            if "null" not in place.kinds:
                evidence = _of(place.seen.count, place.seen.count)
                self._found(ROOT, "empty", named(place.commonest), "null", evidence, place.seen.count)
            return True
        if not is_empty(shape) or not (place.filled.count or place.known - CONTAINERS):
            return False
        if not place.empty.count or shape.kind not in place.kinds:
            self._found(
                ROOT, "empty", "non-empty", "empty", _of(place.filled.count, place.seen.count), place.seen.count
            )
        return True

    def place(self, place: PathStats, shapes: frozenset[Shape], path: Path, member: bool, inside: bool) -> None:
        """Compare the set of shapes at one path. ``member``: elements of an array; a map's values count as fields."""
        by_kind: dict[str, list[Shape]] = {}
        for shape in shapes:
            by_kind.setdefault(shape.kind, []).append(shape)
        blind = by_kind.pop("unknown", None) is not None
        if not by_kind or not (place.known or "null" in place.kinds):
            return
        if not place.known:
            self._refined(place, by_kind, path)
            return
        for kind in self._fresh(place, by_kind):
            self._fresh_kind(place, kind, by_kind, path, member, blind)
        if "object" in place.kinds and "object" in by_kind:
            self._objects(place, by_kind["object"], path, member, inside, blind)  # type: ignore[arg-type]
        if "array" in place.kinds and "array" in by_kind:
            arrays: list[Array] = by_kind["array"]  # type: ignore[assignment]
            self._members(place, place.items, frozenset().union(*(a.elements for a in arrays)), path, ITEMS, inside)
        if "map" in by_kind and ("map" in place.kinds or _only_empty_records(place)):
            maps: list[Map] = by_kind["map"]  # type: ignore[assignment]
            self._members(place, place.values, frozenset().union(*(m.values for m in maps)), path, VALUES, inside)

    def _refined(self, place: PathStats, by_kind: dict[str, list[Shape]], path: Path) -> None:
        for kind in sorted(by_kind.keys() - {"null"}):
            evidence = f"null in {_of(place.kinds['null'].count, place.seen.count)}"
            self._found(path, "refined", "null", named(kind), evidence, place.seen.count)

    def _fresh(self, place: PathStats, by_kind: dict[str, list[Shape]]) -> list[str]:
        """The kinds never seen here; where integers and numbers are both new, numbers stand for both."""
        fresh = by_kind.keys() - place.kinds.keys()
        if {"integer", "number"} <= fresh:
            fresh = fresh - {"integer"}
        if "map" in fresh and _only_empty_records(place):
            fresh = fresh - {"map"}
        return sorted(fresh)

    def _fresh_kind(
        self, place: PathStats, kind: str, by_kind: dict[str, list[Shape]], path: Path, member: bool, blind: bool
    ) -> None:
        before = place.commonest
        others = any(other in place.kinds for other in by_kind)
        evidence = _of(place.kinds[before].count, place.seen.count)
        facts = (named(before), named(kind), evidence, place.seen.count)
        if _numeric(place, kind):
            before = "integer" if kind == "number" else "number"
            evidence = _of(place.kinds[before].count, place.seen.count)
            self._found(path, "kind", before, kind, evidence, place.seen.count, partly=others)
        elif member and others:
            cut = blind or place.mostly_cut or path in self.cuts or path[:-1] in self.cuts
            self._found(path, "element", named(before), NEW_SHAPE, evidence, place.seen.count, partly=True, cut=cut)
        elif kind == "null":
            self._found(path, "null", *facts, partly=len(by_kind) > 1)
        elif member:
            self._found(path, "element", *facts)
        elif kind in CONTAINERS or before in CONTAINERS:
            if {before, kind} == {"map", "object"}:
                said = "keys were data, and are names now" if kind == "object" else "keys were names, and are data now"
                facts = (*facts[:2], f"{evidence}; its {said}", facts[3])
            self._found(path, "container", *facts, partly=others)
        else:
            self._found(path, "kind", *facts, partly=others)

    def _objects(
        self, place: PathStats, objects: list[Object], path: Path, member: bool, inside: bool, blind: bool
    ) -> None:
        gathered: dict[str, set[Shape]] = {}
        holders: dict[str, int] = {}
        for shape in objects:
            for name, child in shape.fields.items():
                gathered.setdefault(name, set()).add(child)
                holders[name] = holders.get(name, 0) + 1
        required = {name for name, field in place.fields.items() if self._required(place, field)}
        if not (member and self._new_member(place, objects, required, path, blind)):
            if not blind and path not in self.cuts:
                self._missing(place, required, holders, len(objects), path)
            for name in gathered.keys() - place.fields.keys():
                after = named(_leading(gathered[name]))
                evidence = f"in none of {place.objects.count:,} before"
                partly = holders[name] < len(objects)
                self._found((*path, name), "added", "missing", after, evidence, place.objects.count, partly=partly)
        for name in gathered.keys() & place.fields.keys():
            self.place(place.fields[name], frozenset(gathered[name]), (*path, name), False, inside)

    def _required(self, place: PathStats, field: PathStats) -> bool:
        if field.partly.count:
            return False
        if self.sealed:
            return field.always.count == place.objects.count
        return field.always.count >= WARM and field.lacking < field.always.first

    def _missing(self, place: PathStats, required: set[str], holders: dict[str, int], records: int, path: Path) -> None:
        for name in required:
            held = holders.get(name, 0)
            if held == records or (held and place.mostly_cut):
                continue
            field = place.fields[name]
            now = "absent in some now" if held else "absent now"
            since = field.always.count if not self.sealed else place.objects.count
            evidence = f"{_of(field.always.count, since)}; {now}"
            kind = named(field.commonest)
            self._found((*path, name), "missing", kind, "missing", evidence, place.objects.count, partly=held > 0)

    def _new_member(self, place: PathStats, objects: list[Object], required: set[str], path: Path, blind: bool) -> bool:
        """In a union array: records that differ in which fields they have, beside one that does not."""
        if not place.is_union:
            return False
        odd = [o for o in objects if not (required <= o.fields.keys() <= place.fields.keys())]
        if not odd or len(odd) == len(objects):
            return False
        cut = blind or place.mostly_cut or path in self.cuts or path[:-1] in self.cuts
        evidence = f"a set of fields in none of {place.seen.count:,} before"
        self._found(path, "element", "object", NEW_SHAPE, evidence, place.seen.count, partly=True, cut=cut)
        return True

    def _members(
        self,
        place: PathStats,
        members: PathStats | None,
        shapes: frozenset[Shape],
        path: Path,
        step: Segment,
        inside: bool,
    ) -> None:
        if not shapes:
            if not inside and place.filled.count and not place.empty.count:
                evidence = f"non-empty in {_of(place.filled.count, place.seen.count)}"
                self._found(path, "empty", "non-empty", "empty", evidence, place.filled.count)
            return
        inner = (*path, step)
        start = len(self.changes)
        if members is None or not members.kinds:
            after = named(_leading(shapes - {UNKNOWN} or shapes))
            evidence = f"empty in {_of(place.empty.count, place.seen.count)}"
            self._found(inner, "learned", "missing", after, evidence, place.seen.count)
        else:
            self._enclosing.append(members)
            self.place(members, shapes, inner, step is ITEMS, True)
            self._enclosing.pop()
        if len(self.changes) > start and self._recurs(members, shapes, path, self.changes[start:]):
            del self.changes[start:]

    def _recurs(self, members: PathStats | None, shapes: frozenset[Shape], path: Path, changes: list[Change]) -> bool:
        """Whether the members repeat the structure of an array further out (replies within replies).

        Additions do where what was known of the members is known further out. Anything else does only where the members
        are seen to be of that structure: they hold the field that holds them, and no kind the outer ones do not.
        """
        if members is not None and members.known - {"object"}:
            return False
        known = members.fields if members else {}
        additions = all(change.fact in {"added", "learned"} for change in changes)
        for outer in reversed(self._enclosing):
            if self._fits_left <= 0:
                return False
            if not outer.fields or not known.keys() <= outer.fields.keys():
                continue
            if not additions and not (path and path[-1] in known and _kinds_within(known, outer.fields)):
                continue
            self._fits_left -= 1
            inner = _Diff(frozenset(), sealed=True)
            inner._enclosing = [outer]
            inner._fits_left = self._fits_left
            inner.place(outer, shapes, ROOT, True, True)
            self._fits_left = inner._fits_left
            if not inner.changes:
                return True
        return False

    def _found(
        self,
        path: Path,
        fact: Fact,
        before: str,
        after: str,
        evidence: str,
        taught: int,
        *,
        partly: bool = False,
        cut: bool = False,
    ) -> None:
        self.changes.append(Change(path, fact, before, after, evidence, partly, taught, cut))


def _kinds_within(fields: dict[str, PathStats], outer: dict[str, PathStats]) -> bool:
    return all(field.kinds.keys() <= outer[name].kinds.keys() for name, field in fields.items())


def _numeric(place: PathStats, kind: str) -> bool:
    return (kind == "number" and "integer" in place.kinds) or (kind == "integer" and "number" in place.kinds)


def _only_empty_records(place: PathStats) -> bool:
    return "object" in place.kinds and not place.fields


def _leading(shapes: Iterable[Shape]) -> str:
    """The kind that stands for several: not null where another is there, numbers before integers, then by name."""
    kinds = {shape.kind for shape in shapes}
    kinds = kinds - {"null"} or kinds
    return "number" if {"integer", "number"} == kinds else min(kinds)


def named(kind: str) -> str:
    """The kind as findings print it: a map is an object."""
    return "object" if kind == "map" else kind


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} before"
