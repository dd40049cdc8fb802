"""Folding rows (distinct shapes with counts) into the evidence per path.

Responses of one tool are mostly alike, and equal shapes are one object. So rows are folded together: at each path every
distinct shape is counted once, for all rows that show it there, and a whole baseline costs little more than its
differences: 200 shapes of 1,000 paths take about 30 ms so, and 400 ms one by one. A single row is a fold of one.
Pure. Only ``profile`` calls it.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from toolpulse._base.paths import ITEMS, VALUES, Path
from toolpulse.evidence.stats import MOST_PAIRED, PathStats, Sightings
from toolpulse.shape.nodes import Array, Map, Object, Scalar, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Shown: TypeAlias = Shape | frozenset[Shape]
"""What observations show at one path: a shape, or in arrays and maps several. One is never a set of one."""


class Fold:
    """Adds rows whose walks stopped short at the same paths, ``cuts``, to the evidence of a profile.

    ``has_maps`` says afterwards whether any of them showed a map.
    """

    __slots__ = ("cuts", "has_maps")

    def __init__(self, cuts: frozenset[Path]) -> None:
        self.cuts = cuts
        self.has_maps = False

    def count(self, stats: PathStats, shown: Mapping[Shown, Sightings], path: Path) -> None:
        """Count observations at one path, given as what they show there and when they showed it."""
        records: dict[Shown, Sightings] = {}
        elements: dict[Shown, Sightings] = {}
        values: dict[Shown, Sightings] = {}
        for shapes, seen in shown.items():
            if isinstance(shapes, frozenset):
                stats.count_kinds({shape.kind for shape in shapes}, seen)
                _add_members(records, [frozenset({shape}) for shape in shapes if isinstance(shape, Object)], seen)
                _add_members(elements, [shape.elements for shape in shapes if isinstance(shape, Array)], seen)
                _add_members(values, [shape.values for shape in shapes if isinstance(shape, Map)], seen)
                continue
            stats.count_kind(shapes.kind, seen)
            if isinstance(shapes, Object):
                _add(records, shapes, seen)
            elif isinstance(shapes, Array):
                _add(elements, _shown(shapes.elements), seen)
            elif isinstance(shapes, Map):
                _add(values, _shown(shapes.values), seen)
        if records:
            self._records(stats, records, path)
        if elements:
            stats.items = stats.items or PathStats()
            self._members(stats, stats.items, elements, (*path, ITEMS))
        if values:
            self.has_maps = True
            stats.values = stats.values or PathStats()
            self._members(stats, stats.values, values, (*path, VALUES))

    def _members(self, stats: PathStats, members: PathStats, shown: dict[Shown, Sightings], path: Path) -> None:
        if path in self.cuts or path[:-1] in self.cuts:
            for seen in shown.values():
                members.truncated.add(seen)
        nothing = shown.pop(_NOTHING, None)
        if nothing is not None:
            stats.empty.add(nothing)
        for shapes, seen in shown.items():
            stats.filled.add(seen)
            for shape in _each(shapes):
                if isinstance(shape, Object):
                    members.pairs.update(_pairs(shape, members))
        if shown:
            self.count(members, shown, path)

    def _record(self, stats: PathStats, record: Object, seen: Sightings, path: Path) -> None:
        """A record alone, as nearly all of a single row's are: what ``_records`` does, without gathering its fields."""
        before = stats.last_complete
        stats.objects.add(seen)
        (stats.filled if record.names else stats.empty).add(seen)
        for name, child in record.fields.items():
            field = _field(stats, name, before)
            field.always.add(seen)
            if type(child) is Scalar:
                field.count_kind(child.kind, seen)
            else:
                self.count(field, {child: seen}, (*path, name))
        if path not in self.cuts:
            _note_absent(stats, {record: seen})

    def _records(self, stats: PathStats, records: dict[Shown, Sightings], path: Path) -> None:
        if len(records) == 1:
            for group, seen in records.items():
                if isinstance(group, Object):
                    self._record(stats, group, seen, path)
                    return
        before = stats.last_complete
        always: dict[str, dict[Shown, Sightings]] = {}
        in_some: dict[str, dict[Shown, Sightings]] = {}
        for group, seen in records.items():
            stats.objects.add(seen)
            (stats.filled if any(record.names for record in _objects(group)) else stats.empty).add(seen)
            _gather(group, seen, always, in_some)
        for name, children in always.items():
            field = _field(stats, name, before)
            for seen in children.values():
                field.always.add(seen)
            self.count(field, children, (*path, name))
        for name, children in in_some.items():
            field = _field(stats, name, before)
            for seen in children.values():
                field.in_some.add(seen)
                field.last_absent = max(field.last_absent, seen.last)
            self.count(field, children, (*path, name))
        # a record that was cut may have had the fields that were not listed
        if path not in self.cuts:
            _note_absent(stats, records)


_NOTHING: Shown = frozenset()


def _shown(shapes: frozenset[Shape]) -> Shown:
    return next(iter(shapes)) if len(shapes) == 1 else shapes


def _each(shown: Shown) -> Iterable[Shape]:
    return shown if isinstance(shown, frozenset) else (shown,)


def _objects(group: Shown) -> Iterable[Object]:
    return group if isinstance(group, frozenset) else (group,)  # type: ignore[return-value]


def _add(shown: dict[Shown, Sightings], shapes: Shown, seen: Sightings) -> None:
    known = shown.get(shapes)
    if known is None:
        # a copy: it grows below, and the row's own must not
        shown[shapes] = Sightings(seen.count, seen.first, seen.last)
    else:
        known.add(seen)


def _add_members(shown: dict[Shown, Sightings], holders: list[frozenset[Shape]], seen: Sightings) -> None:
    """Add what several containers of one observation hold together."""
    if holders:
        _add(shown, _shown(frozenset().union(*holders)), seen)


def _field(stats: PathStats, name: str, before: int) -> PathStats:
    """The evidence of a field; one never seen was absent up to ``before``, the last record listed in full."""
    field = stats.fields.get(name)
    if field is None:
        field = stats.fields[name] = PathStats(last_absent=before)
    return field


def _gather(
    group: Shown,
    seen: Sightings,
    always: dict[str, dict[Shown, Sightings]],
    in_some: dict[str, dict[Shown, Sightings]],
) -> None:
    """Add the shapes of each field, apart by whether all records of the observation have it."""
    if isinstance(group, Object):
        for name, child in group.fields.items():
            children = always.get(name)
            if children is None:
                children = always[name] = {}
            known = children.get(child)
            # what _add does, without a call: this is where folding spends its time
            if known is None:
                children[child] = Sightings(seen.count, seen.first, seen.last)
            else:
                known.add(seen)
        return
    fields: dict[str, list[Shape]] = {}
    records = list(_objects(group))
    for record in records:
        for name, child in record.fields.items():
            fields.setdefault(name, []).append(child)
    for name, shapes in fields.items():
        there = always if len(shapes) == len(records) else in_some
        _add(there.setdefault(name, {}), _shown(frozenset(shapes)), seen)


def _note_absent(stats: PathStats, records: Mapping[Shown, Sightings]) -> None:
    """Note for each field the last observation in which no record had it."""
    fields = stats.fields
    for group, seen in records.items():
        stats.last_complete = max(stats.last_complete, seen.last)
        there = {name for record in _objects(group) for name in record.names}
        for name in fields.keys() - there:
            fields[name].last_absent = max(fields[name].last_absent, seen.last)


def _pairs(record: Object, members: PathStats) -> Iterable[tuple[str, str]]:
    if len(record.names) > MOST_PAIRED or len(members.fields) > MOST_PAIRED:
        return ()
    return combinations(record.names, 2)
