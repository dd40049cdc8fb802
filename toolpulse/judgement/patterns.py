"""Larger changes that explain several facts at once: renamed, wrapped, unwrapped, collapsed, replaced by an error.

A pattern is a hint beside the facts; it never changes their risk. Where two readings compete, none is given.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.paths import Path, format_path
from toolpulse.evidence.maps import shapes_at
from toolpulse.judgement.diff import Change, find, fits
from toolpulse.shape.nodes import Array, Object, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.evidence.profile import PathStats, Profile

# Beyond it a rename would hardly stand out, and a response must not buy the work of comparing all with all.
_MOST_PAIRS = 1024

_ERROR_FIELDS: Final = frozenset({"error", "errors", "errormessage", "exception", "fault", "detail", "message"})


def explain(changes: tuple[Change, ...], profile: Profile, shape: Shape) -> tuple[Change, ...]:
    """The same changes, each with the pattern it is part of where one stands out."""
    found: dict[Change, tuple[str, str | None]] = {}
    for change in changes:
        if change.fact in {"container", "element"} and not change.partly:
            found.update(_exchanged(change, profile, shape))
    for parent, (gone, new) in _by_parent(changes).items():
        place = find(profile, parent)
        if place is not None:
            found.update(_replaced(place, gone, new, parent, shape) or _renamed(place, gone, new, parent, shape))
    return tuple(
        msgspec.structs.replace(change, pattern=found[change][0], counterpart=found[change][1])
        if change in found
        else change
        for change in changes
    )


_Found = dict[Change, tuple[str, "str | None"]]


def _by_parent(changes: Iterable[Change]) -> dict[Path, tuple[list[Change], list[Change]]]:
    parents: dict[Path, tuple[list[Change], list[Change]]] = {}
    for change in changes:
        if change.fact in {"missing", "added"} and not change.partly:
            gone, new = parents.setdefault(change.path[:-1], ([], []))
            (gone if change.fact == "missing" else new).append(change)
    return {parent: (gone, new) for parent, (gone, new) in parents.items() if gone}


def _exchanged(change: Change, profile: Profile, shape: Shape) -> _Found:
    """A container became another one: collapsed to its single element, or wrapped in or taken out of an object."""
    place, now = find(profile, change.path), shapes_at(shape, change.path)
    if place is None or not now:
        return {}
    if place.items is not None and place.items.kinds and change.before == "array":
        if change.after == "object" and (holder := _only_holder(now, place)):
            return {change: ("wrapped", format_path((*change.path, holder)))}
        if fits(place.items, now, member=True):
            return {change: ("single-element-collapsed", None)}
    if change.before == "object" and change.after == "array":
        elements = frozenset(e for s in now if isinstance(s, Array) for e in s.elements)
        holders = [n for n, f in place.fields.items() if elements and f.items and fits(f.items, elements, member=True)]
        if len(holders) == 1:
            return {change: ("unwrapped", format_path((*change.path, holders[0])))}
    return {}


def _only_holder(objects: frozenset[Shape], place: PathStats) -> str | None:
    """The one field of the new objects that holds what the array held."""
    holders = set()
    for shape in objects:
        for name, child in shape.fields.items() if isinstance(shape, Object) else ():
            if isinstance(child, Array) and child.elements and fits(place, frozenset((child,))):
                holders.add(name)
    return holders.pop() if len(holders) == 1 else None


def _replaced(place: PathStats, gone: list[Change], new: list[Change], parent: Path, shape: Shape) -> _Found:
    """All that was there is gone: into one new field, out of the one that is gone, or away for an error."""
    records = [s for s in shapes_at(shape, parent) if isinstance(s, Object)]
    wrapper = [c for c in new if _holds(place, frozenset(shapes_at(shape, c.path)))]
    if len(wrapper) == 1:
        return {change: ("wrapped", format_path(wrapper[0].path)) for change in (*gone, *wrapper)}
    inner = place.fields.get(str(gone[0].path[-1])) if len(gone) == 1 else None
    if inner is not None and inner.fields and new and _holds(inner, frozenset(records)):
        return {change: ("unwrapped", format_path(gone[0].path)) for change in (*gone, *new)}
    survives = any(name in place.fields for record in records for name in record.names)
    errors = [c for c in new if str(c.path[-1]).replace("_", "").lower() in _ERROR_FIELDS]
    if errors and not survives:
        return {change: ("replaced-by-error", format_path(errors[0].path)) for change in (*gone, *new)}
    return {}


def _holds(place: PathStats, shapes: frozenset[Shape]) -> bool:
    """Whether the shapes are records with everything that was always in the place, of the kinds it had."""
    if not shapes or not all(isinstance(s, Object) for s in shapes):
        return False
    always = {name: field for name, field in place.fields.items() if field.always.count == place.objects.count}
    return bool(always) and all(
        isinstance(s, Object)
        and always.keys() <= s.fields.keys()
        and all(fits(field, frozenset((s.fields[name],))) for name, field in always.items())
        for s in shapes
    )


def _renamed(place: PathStats, gone: list[Change], new: list[Change], parent: Path, shape: Shape) -> _Found:
    """One gone and one new sibling of the same shape; the same letters in another spelling go before the rest."""
    found: _Found = {}
    spelled: dict[str, list[Change]] = {}
    for n in new:
        spelled.setdefault(_letters(n.path), []).append(n)
    alike = [(g, n) for g in gone if (letters := _letters(g.path)) for n in spelled.get(letters, ())]
    found.update(_pairs_of(alike, place, shape))
    left_new = [n for n in new if n not in found]
    rest = ((g, n) for g in gone if g not in found for n in left_new)
    found.update(_pairs_of(list(islice(rest, _MOST_PAIRS + 1)), place, shape))
    return found


def _pairs_of(candidates: list[tuple[Change, Change]], place: PathStats, shape: Shape) -> _Found:
    """The candidates of the same shape of which neither side has a second; none where there are too many to ask."""
    if len(candidates) > _MOST_PAIRS:
        return {}
    pairs = [(g, n) for g, n in candidates if _same_shape(place, g, n, shape)]
    olds, news = Counter(id(g) for g, _ in pairs), Counter(id(n) for _, n in pairs)
    found: _Found = {}
    for g, n in pairs:
        if olds[id(g)] == news[id(n)] == 1:
            found[g] = ("renamed", format_path(n.path))
            found[n] = ("renamed", format_path(g.path))
    return found


def _letters(path: Path) -> str:
    return "".join(c for c in str(path[-1]).lower() if c.isalnum())


def _same_shape(place: PathStats, gone: Change, new: Change, shape: Shape) -> bool:
    field = place.fields.get(str(gone.path[-1]))
    now = shapes_at(shape, new.path)
    return field is not None and bool(now) and bool(field.known) and fits(field, now)
