"""Folding rows into the evidence: each place counts every shape it has once, for all rows that show it there.

Responses of one tool are mostly alike, and equal shapes are one object, so the rows of a whole baseline cost little
more than their differences.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from toolpulse._base.paths import ITEMS, VALUES, Path
from toolpulse.evidence.stats import MOST_PAIRED, PathStats, Sightings
from toolpulse.shape.nodes import Array, Map, Object, Scalar, Shape

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping


class Fold:
    """One row on its way into a profile. Nearly every place shows one shape, most of them a value: those go first."""

    __slots__ = ("cuts", "has_maps", "row")

    def __init__(self, row: Sightings, cuts: frozenset[Path]) -> None:
        self.row = row
        self.cuts = cuts
        self.has_maps = False

    def place(self, place: PathStats, shape: Shape, path: Path) -> None:
        """Count the one shape of a place."""
        place.show(shape.kind, self.row)
        if isinstance(shape, Object):
            self._record(place, shape, path)
        elif isinstance(shape, Array):
            self._items(place, shape.elements, path)
        elif isinstance(shape, Map):
            self._values(place, shape.values, path)

    def _places(self, place: PathStats, shapes: frozenset[Shape], path: Path) -> None:
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

    def _items(self, place: PathStats, elements: frozenset[Shape], path: Path) -> None:
        place.items = place.items or PathStats()
        self._members(place, place.items, elements, (*path, ITEMS))

    def _values(self, place: PathStats, values: frozenset[Shape], path: Path) -> None:
        self.has_maps = True
        place.values = place.values or PathStats()
        self._members(place, place.values, values, (*path, VALUES))

    def _members(self, place: PathStats, members: PathStats, shapes: frozenset[Shape], path: Path) -> None:
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

    def _record(self, place: PathStats, record: Object, path: Path) -> None:
        row, fields, before = self.row, place.fields, place.whole
        place.objects.add(row)
        (place.filled if record.names else place.empty).add(row)
        for name, child in record.fields.items():
            field = fields.get(name)
            if field is None:
                field = fields[name] = PathStats(lacking=before)
            field.always.add(row)
            if type(child) is Scalar:
                field.show(child.kind, row)
            else:
                self.place(field, child, (*path, name))
        self._lacked(place, record.fields, path)

    def _records(self, place: PathStats, records: list[Object], path: Path) -> None:
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
                field = place.fields[name] = PathStats(lacking=before)
            if len(children) == len(records):
                field.always.add(row)
            else:
                field.partly.add(row)
                field.lacking = max(field.lacking, row.last)
            self._places(field, frozenset(children), (*path, name))
        self._lacked(place, gathered, path)

    def _lacked(self, place: PathStats, found: Container[str], path: Path) -> None:
        """Note for each field not found that a record lacked it, unless that was cut and may have had it."""
        if path in self.cuts:
            return
        last = self.row.last
        place.whole = max(place.whole, last)
        for name, field in place.fields.items():
            if last > field.lacking and name not in found:
                field.lacking = last


def _pairs(shape: Object, members: PathStats) -> Iterable[tuple[str, str]]:
    if len(shape.names) > MOST_PAIRED or len(members.fields) > MOST_PAIRED:
        return ()
    return combinations(shape.names, 2)


class FoldAlike:
    """Rows that were cut at the same places on their way into a profile, all at once; what comes out is the same."""

    __slots__ = ("cuts", "has_maps")

    def __init__(self, cuts: frozenset[Path]) -> None:
        self.cuts = cuts
        self.has_maps = False

    def place(self, place: PathStats, shapes: Mapping[Shape, Sightings], path: Path) -> None:
        """Count observations that show one of these shapes each."""
        records: dict[Object, Sightings] = {}
        for shape, seen in shapes.items():
            if isinstance(shape, Object):
                place.show(shape.kind, seen)
                records[shape] = seen
            else:
                one = Fold(seen, self.cuts)
                one.place(place, shape, path)
                self.has_maps = self.has_maps or one.has_maps
        if records:
            self._records(place, records, path)

    def _records(self, place: PathStats, records: Mapping[Object, Sightings], path: Path) -> None:
        before = place.whole
        for record, seen in records.items():
            place.objects.add(seen)
            (place.filled if record.names else place.empty).add(seen)
        gathered = _gathered(records)
        for name, children in gathered.items():
            field = place.fields.get(name)
            if field is None:
                field = place.fields[name] = PathStats(lacking=before)
            for seen in children.values():
                field.always.add(seen)
            self.place(field, children, (*path, name))
        if path not in self.cuts:
            _lacked(place, records)


def _gathered(records: Mapping[Object, Sightings]) -> dict[str, dict[Shape, Sightings]]:
    """The shapes of each field, with the sightings of all records that have it."""
    gathered: dict[str, dict[Shape, Sightings]] = {}
    for record, seen in records.items():
        for name, child in record.fields.items():
            children = gathered.get(name)
            if children is None:
                children = gathered[name] = {}
            known = children.get(child)
            if known is None:
                children[child] = Sightings(*seen.plain())
            else:
                known.add(seen)
    return gathered


def _lacked(place: PathStats, records: Mapping[Object, Sightings]) -> None:
    """Note for each field the last record that lacked it."""
    newest = sorted(records.items(), key=lambda entry: -entry[1].last)
    place.whole = max(place.whole, newest[0][1].last)
    for name, field in place.fields.items():
        for record, seen in newest:
            if seen.last <= field.lacking:
                break
            if name not in record.fields:
                field.lacking = seen.last
                break
