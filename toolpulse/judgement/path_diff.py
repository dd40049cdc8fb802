"""The comparison from path to path: the shapes that a response shows at a path, against the evidence there.

``diff`` starts it at the root, and ``fits`` asks it of a part. What it finds it states as ``Change``s. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment
from toolpulse.evidence.stats import CONTAINERS, PathStats, printed_kind
from toolpulse.judgement.changes import NEW_SHAPE, WARM_UP, Change, Fact
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

# Comparisons spent on asking whether a structure fits an array further out; a hostile response must not buy more.
_MOST_FITS: Final = 64


def fits(stats: PathStats, shapes: frozenset[Shape], *, member: bool = False) -> bool:
    """Whether shapes at a path are all known there. ``member``: they are elements of an array."""
    comparison = PathDiff(frozenset(), sealed=True)
    comparison.compare(stats, shapes, ROOT, member=member, inside=True)
    return not comparison.changes


class PathDiff:
    """One comparison on its way: ``compare`` goes down from a path, and ``changes`` are what it stated.

    ``cuts`` are the paths where the walk over the response stopped short, so that absence there means nothing.
    ``sealed`` says that the profile is complete; else a path counts as required from its tenth sighting on.
    """

    def __init__(self, cuts: frozenset[Path], *, sealed: bool) -> None:
        self.cuts = cuts
        self.sealed = sealed
        self.changes: list[Change] = []
        self._enclosing: list[PathStats] = []
        self._fits_left = _MOST_FITS

    def compare(
        self, stats: PathStats, shapes: frozenset[Shape], path: Path, *, member: bool = False, inside: bool = False
    ) -> None:
        """Compare the set of shapes at one path with the evidence there, and go further in.

        ``member``: they are elements of an array; a map's values count as fields. ``inside``: the path lies in an
        array or map, where an empty container is ordinary.
        """
        by_kind: dict[str, list[Shape]] = {}
        for shape in shapes:
            by_kind.setdefault(shape.kind, []).append(shape)
        partial = by_kind.pop("unknown", None) is not None
        if not by_kind or not (stats.known or "null" in stats.kinds):
            return
        if not stats.known:
            self._refined(stats, by_kind, path)
            return
        for kind in _new_kinds(stats, by_kind):
            self._new_kind(stats, kind, by_kind, path, member, partial)
        if "object" in stats.kinds and "object" in by_kind:
            self._objects(stats, by_kind["object"], path, member, inside, partial)  # type: ignore[arg-type]
        if "array" in stats.kinds and "array" in by_kind:
            arrays: list[Array] = by_kind["array"]  # type: ignore[assignment]
            self._members(stats, stats.items, frozenset().union(*(a.elements for a in arrays)), path, ITEMS, inside)
        if "map" in by_kind and ("map" in stats.kinds or _only_empty_records(stats)):
            maps: list[Map] = by_kind["map"]  # type: ignore[assignment]
            self._members(stats, stats.values, frozenset().union(*(m.values for m in maps)), path, VALUES, inside)

    def _refined(self, stats: PathStats, by_kind: dict[str, list[Shape]], path: Path) -> None:
        for kind in sorted(by_kind.keys() - {"null"}):
            evidence = f"null in {share(stats.kinds['null'].count, stats.seen.count)}"
            self.state(path, "refined", "null", printed_kind(kind), evidence, stats.seen.count)

    def _new_kind(
        self, stats: PathStats, kind: str, by_kind: dict[str, list[Shape]], path: Path, member: bool, partial: bool
    ) -> None:
        before = stats.commonest
        others = any(other in stats.kinds for other in by_kind)
        evidence = share(stats.kinds[before].count, stats.seen.count)
        facts = (printed_kind(before), printed_kind(kind), evidence, stats.seen.count)
        if _numeric(stats, kind):
            known = "integer" if kind == "number" else "number"
            evidence = share(stats.kinds[known].count, stats.seen.count)
            self.state(path, "kind", known, kind, evidence, stats.seen.count, in_some=others)
        elif member and others:
            self._new_element(stats, path, printed_kind(before), evidence, partial)
        elif kind == "null":
            self.state(path, "null", *facts, in_some=len(by_kind) > 1)
        elif member:
            self.state(path, "element", *facts)
        elif kind in CONTAINERS or before in CONTAINERS:
            if {before, kind} == {"map", "object"}:
                # both print as object, so the evidence has to say what changed
                keys = "keys were data, and are names now" if kind == "object" else "keys were names, and are data now"
                facts = (*facts[:2], f"{evidence}; its {keys}", facts[3])
            self.state(path, "container", *facts, in_some=others)
        else:
            self.state(path, "kind", *facts, in_some=others)

    def _objects(
        self, stats: PathStats, objects: list[Object], path: Path, member: bool, inside: bool, partial: bool
    ) -> None:
        children: dict[str, set[Shape]] = {}
        holders: dict[str, int] = {}
        for shape in objects:
            for name, child in shape.fields.items():
                children.setdefault(name, set()).add(child)
                holders[name] = holders.get(name, 0) + 1
        required = {name for name, field in stats.fields.items() if self._required(stats, field)}
        if not (member and self._new_member(stats, objects, required, path, partial)):
            if not partial and path not in self.cuts:
                self._missing(stats, required, holders, len(objects), path)
            for name in children.keys() - stats.fields.keys():
                after = printed_kind(_leading(children[name]))
                evidence = f"in none of {stats.objects.count:,} before"
                in_some = holders[name] < len(objects)
                self.state((*path, name), "added", "missing", after, evidence, stats.objects.count, in_some=in_some)
        for name in children.keys() & stats.fields.keys():
            self.compare(stats.fields[name], frozenset(children[name]), (*path, name), inside=inside)

    def _required(self, stats: PathStats, field: PathStats) -> bool:
        """Whether every record had the field: all that a sealed profile learned, else all since its first sight."""
        if field.in_some.count:
            return False
        if self.sealed:
            return field.always.count == stats.objects.count
        return field.always.count >= WARM_UP and field.last_absent < field.always.first

    def _missing(self, stats: PathStats, required: set[str], holders: dict[str, int], records: int, path: Path) -> None:
        for name in required:
            having = holders.get(name, 0)
            if having == records or (having and stats.mostly_truncated):
                continue
            field = stats.fields[name]
            now = "absent in some now" if having else "absent now"
            since = field.always.count if not self.sealed else stats.objects.count
            evidence = f"{share(field.always.count, since)}; {now}"
            seen = stats.objects.count
            self.state((*path, name), "missing", field.printed_kind, "missing", evidence, seen, in_some=having > 0)

    def _new_member(
        self, stats: PathStats, objects: list[Object], required: set[str], path: Path, partial: bool
    ) -> bool:
        """In a union array: records that differ in which fields they have, beside one that does not."""
        if not stats.is_union:
            return False
        odd = [o for o in objects if not (required <= o.fields.keys() <= stats.fields.keys())]
        if not odd or len(odd) == len(objects):
            return False
        evidence = f"a set of fields in none of {stats.seen.count:,} before"
        self._new_element(stats, path, "object", evidence, partial)
        return True

    def _new_element(self, stats: PathStats, path: Path, before: str, evidence: str, partial: bool) -> None:
        # where elements were left out, then or now, a new one may have been there all along
        truncated = partial or stats.mostly_truncated or path in self.cuts or path[:-1] in self.cuts
        seen = stats.seen.count
        self.state(path, "element", before, NEW_SHAPE, evidence, seen, in_some=True, truncated=truncated)

    def _members(
        self,
        stats: PathStats,
        members: PathStats | None,
        shapes: frozenset[Shape],
        path: Path,
        step: Segment,
        inside: bool,
    ) -> None:
        if not shapes:
            if not inside and stats.filled.count and not stats.empty.count:
                evidence = f"non-empty in {share(stats.filled.count, stats.seen.count)}"
                self.state(path, "empty", "non-empty", "empty", evidence, stats.filled.count)
            return
        inner = (*path, step)
        stated = len(self.changes)
        if members is None or not members.kinds:
            after = printed_kind(_leading(shapes - {UNKNOWN} or shapes))
            evidence = f"empty in {share(stats.empty.count, stats.seen.count)}"
            self.state(inner, "learned", "missing", after, evidence, stats.seen.count)
        else:
            self._enclosing.append(members)
            self.compare(members, shapes, inner, member=step is ITEMS, inside=True)
            self._enclosing.pop()
        if len(self.changes) > stated and self._recurs(members, shapes, path, self.changes[stated:]):
            del self.changes[stated:]

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
            inner = PathDiff(frozenset(), sealed=True)
            inner._enclosing = [outer]
            inner._fits_left = self._fits_left
            inner.compare(outer, shapes, ROOT, member=True, inside=True)
            self._fits_left = inner._fits_left
            if not inner.changes:
                return True
        return False

    def state(
        self,
        path: Path,
        fact: Fact,
        before: str,
        after: str,
        evidence: str,
        learned_from: int,
        *,
        in_some: bool = False,
        truncated: bool = False,
    ) -> None:
        """Add a change; the arguments are its fields."""
        self.changes.append(Change(path, fact, before, after, evidence, in_some, learned_from, truncated))


def _new_kinds(stats: PathStats, by_kind: dict[str, list[Shape]]) -> list[str]:
    """The kinds never seen here; where integers and numbers are both new, numbers stand for both."""
    new = by_kind.keys() - stats.kinds.keys()
    if {"integer", "number"} <= new:
        new = new - {"integer"}
    if "map" in new and _only_empty_records(stats):
        new = new - {"map"}
    return sorted(new)


def _kinds_within(fields: dict[str, PathStats], outer: dict[str, PathStats]) -> bool:
    return all(field.kinds.keys() <= outer[name].kinds.keys() for name, field in fields.items())


def _numeric(stats: PathStats, kind: str) -> bool:
    return (kind == "number" and "integer" in stats.kinds) or (kind == "integer" and "number" in stats.kinds)


def _only_empty_records(stats: PathStats) -> bool:
    return "object" in stats.kinds and not stats.fields


def _leading(shapes: Iterable[Shape]) -> str:
    """The kind that stands for several: not null where another is there, numbers before integers, then by name."""
    kinds = {shape.kind for shape in shapes}
    kinds = kinds - {"null"} or kinds
    return "number" if {"integer", "number"} == kinds else min(kinds)


def share(count: int, total: int) -> str:
    """Evidence in words: ``412 of 412 before``."""
    return f"{count:,} of {total:,} before"
