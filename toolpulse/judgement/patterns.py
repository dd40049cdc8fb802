"""Larger changes that explain several facts at once: renamed, wrapped, unwrapped, collapsed, replaced by an error.

A pattern is a hint beside the facts; it never changes their risk. Where two readings compete, none is given. Pure.
``judge`` calls it on what ``diff`` stated.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from toolpulse._base.paths import Path
from toolpulse.evidence.shape_paths import shapes_at
from toolpulse.judgement.changes import Change, Pattern
from toolpulse.judgement.path_diff import fits
from toolpulse.shape.nodes import Array, Object, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.evidence.profile import PathStats, Profile

# Beyond it a rename would hardly stand out, and a response must not buy the work of comparing all with all.
_MOST_PAIRS = 1024

_ERROR_FIELDS: Final = frozenset({"error", "errors", "errormessage", "exception", "fault", "detail", "message"})


def with_patterns(changes: tuple[Change, ...], profile: Profile, shape: Shape) -> tuple[Change, ...]:
    """The same changes, each with the pattern it is part of where one stands out."""
    patterns: _Patterns = {}
    for change in changes:
        if change.fact in {"container", "element"} and not change.in_some:
            patterns.update(_exchanged(change, profile, shape))
    for parent, (gone, new) in _by_parent(changes).items():
        stats = profile.at(parent)
        if stats is not None:
            patterns.update(_replaced(stats, gone, new, parent, shape) or _renamed(stats, gone, new, parent, shape))
    return tuple(
        msgspec.structs.replace(change, pattern=patterns[change][0], counterpart=patterns[change][1])
        if change in patterns
        else change
        for change in changes
    )


_Patterns: TypeAlias = dict[Change, tuple[Pattern, "Path | None"]]


def _by_parent(changes: Iterable[Change]) -> dict[Path, tuple[list[Change], list[Change]]]:
    parents: dict[Path, tuple[list[Change], list[Change]]] = {}
    for change in changes:
        if change.fact in {"missing", "added"} and not change.in_some:
            gone, new = parents.setdefault(change.path[:-1], ([], []))
            (gone if change.fact == "missing" else new).append(change)
    return {parent: (gone, new) for parent, (gone, new) in parents.items() if gone}


def _exchanged(change: Change, profile: Profile, shape: Shape) -> _Patterns:
    """A container became another one: collapsed to its single element, or wrapped in or taken out of an object."""
    stats, now = profile.at(change.path), shapes_at(shape, change.path)
    if stats is None or not now:
        return {}
    if stats.items is not None and stats.items.kinds and change.before == "array":
        if change.after == "object" and (holder := _only_holder(now, stats)):
            return {change: ("wrapped", (*change.path, holder))}
        if fits(stats.items, now, member=True):
            return {change: ("single-element-collapsed", None)}
    if change.before == "object" and change.after == "array":
        elements = frozenset(e for s in now if isinstance(s, Array) for e in s.elements)
        holders = [n for n, f in stats.fields.items() if elements and f.items and fits(f.items, elements, member=True)]
        if len(holders) == 1:
            return {change: ("unwrapped", (*change.path, holders[0]))}
    return {}


def _only_holder(objects: frozenset[Shape], stats: PathStats) -> str | None:
    """The one field of the new objects that holds what the array held."""
    holders = set()
    for shape in objects:
        for name, child in shape.fields.items() if isinstance(shape, Object) else ():
            if isinstance(child, Array) and child.elements and fits(stats, frozenset((child,))):
                holders.add(name)
    return holders.pop() if len(holders) == 1 else None


def _replaced(stats: PathStats, gone: list[Change], new: list[Change], parent: Path, shape: Shape) -> _Patterns:
    """All that was there is gone: into one new field, out of the one that is gone, or away for an error."""
    records = [s for s in shapes_at(shape, parent) if isinstance(s, Object)]
    wrapper = [c for c in new if _holds(stats, frozenset(shapes_at(shape, c.path)))]
    if len(wrapper) == 1:
        return dict.fromkeys((*gone, *wrapper), ("wrapped", wrapper[0].path))
    inner = stats.fields.get(str(gone[0].path[-1])) if len(gone) == 1 else None
    if inner is not None and inner.fields and new and _holds(inner, frozenset(records)):
        return dict.fromkeys((*gone, *new), ("unwrapped", gone[0].path))
    survives = any(name in stats.fields for record in records for name in record.names)
    errors = [c for c in new if str(c.path[-1]).replace("_", "").lower() in _ERROR_FIELDS]
    if errors and not survives:
        return dict.fromkeys((*gone, *new), ("replaced-by-error", errors[0].path))
    return {}


def _holds(stats: PathStats, shapes: frozenset[Shape]) -> bool:
    """Whether the shapes are records with everything that was always at the path, of the kinds it had."""
    if not shapes or not all(isinstance(s, Object) for s in shapes):
        return False
    always = {name: field for name, field in stats.fields.items() if field.always.count == stats.objects.count}
    return bool(always) and all(
        isinstance(s, Object)
        and always.keys() <= s.fields.keys()
        and all(fits(field, frozenset((s.fields[name],))) for name, field in always.items())
        for s in shapes
    )


def _renamed(stats: PathStats, gone: list[Change], new: list[Change], parent: Path, shape: Shape) -> _Patterns:
    """One gone and one new sibling of the same shape; the same letters in another spelling go before the rest."""
    renamed: _Patterns = {}
    spelled: dict[str, list[Change]] = {}
    for n in new:
        spelled.setdefault(_letters(n.path), []).append(n)
    alike = [(g, n) for g in gone if (letters := _letters(g.path)) for n in spelled.get(letters, ())]
    renamed.update(_pairs_of(alike, stats, shape))
    left_new = [n for n in new if n not in renamed]
    rest = ((g, n) for g in gone if g not in renamed for n in left_new)
    renamed.update(_pairs_of(list(islice(rest, _MOST_PAIRS + 1)), stats, shape))
    return renamed


def _pairs_of(candidates: list[tuple[Change, Change]], stats: PathStats, shape: Shape) -> _Patterns:
    """The candidates of the same shape of which neither side has a second; none where there are too many to ask."""
    if len(candidates) > _MOST_PAIRS:
        return {}
    pairs = [(g, n) for g, n in candidates if _same_shape(stats, g, n, shape)]
    olds, news = Counter(id(g) for g, _ in pairs), Counter(id(n) for _, n in pairs)
    renamed: _Patterns = {}
    for g, n in pairs:
        if olds[id(g)] == news[id(n)] == 1:
            renamed[g] = ("renamed", n.path)
            renamed[n] = ("renamed", g.path)
    return renamed


def _letters(path: Path) -> str:
    return "".join(c for c in str(path[-1]).lower() if c.isalnum())


def _same_shape(stats: PathStats, gone: Change, new: Change, shape: Shape) -> bool:
    field = stats.fields.get(str(gone.path[-1]))
    now = shapes_at(shape, new.path)
    return field is not None and bool(now) and bool(field.known) and fits(field, now)
