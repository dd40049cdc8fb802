"""Which objects are maps: objects whose keys are data.

Two ways lead there. ``data_keys`` reads it off the keys of one object. ``learn`` reads it off the way keys come
and go over many observations. Keys of a map are neither kept nor logged; a decision holds figures only.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment, format_path
from toolpulse.shape.map_keys import data_like
from toolpulse.shape.nodes import Array, Map, Object, Shape, fewest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class MapDecision(msgspec.Struct, frozen=True):
    """A path that was learned to be a map, and the figures that said so. Decisions only grow."""

    path: Path
    observations: int
    """How many observations showed an object here."""
    keys: int
    """How many different keys these had together."""
    largest: int
    """The size of the largest of them."""
    returning: int
    """How many keys were in 80% or more of the observations."""
    single: int
    """How many keys were in one observation only."""
    forms: int
    """How many different shapes the values had."""

    @property
    def why(self) -> str:
        """The figures as one sentence."""
        return (
            f"over {self.observations} observations {self.keys} keys (at most {self.largest} at once), "
            f"{self.returning} of them in most, {self.single} in one only; values of {self.forms} form"
            f"{'' if self.forms == 1 else 's'}"
        )


# Figures of the learned-map rule; they were chosen on recorded calls and synthetic traffic.
_OBSERVATIONS = 5
_RETURNING_SHARE = 0.8
_RETURNING_AT_MOST = 0.25
_SINGLE_AT_LEAST = 0.25
_UNION_AT_LEAST = 1.5
_FORMS = 5
_SAME_CONTAINERS = 5


class _Keys:
    """How keys came and went at one path: counts of keys, never kept beyond the decision."""

    def __init__(self) -> None:
        self.observations = 0
        self.sizes = 0
        self.largest = 0
        self.counts: Counter[str] = Counter()
        self.forms: Counter[Shape] = Counter()

    def add(self, objects: Sequence[Object], count: int) -> None:
        keys = {name for shape in objects for name in shape.names}
        if not keys:
            return
        self.observations += count
        self.sizes += len(keys) * count
        self.largest = max(self.largest, len(keys))
        for name in keys:
            self.counts[name] += count
        for shape in objects:
            self.forms.update(shape.fields.values())

    def decide(self, path: Path) -> MapDecision | None:
        if self.observations < 2:
            return None
        returning = sum(n >= _RETURNING_SHARE * self.observations for n in self.counts.values())
        single = sum(n == 1 for n in self.counts.values())
        if not (self._keys_come_and_go(returning, single) or self._no_key_returns()):
            return None
        forms = len(self._kinds_of_values())
        return MapDecision(path, self.observations, len(self.counts), self.largest, returning, single, forms)

    def _keys_come_and_go(self, returning: int, single: int) -> bool:
        union = len(self.counts)
        return (
            self.observations >= _OBSERVATIONS
            and returning <= _RETURNING_AT_MOST * (self.sizes / self.observations)
            and single >= _SINGLE_AT_LEAST * union
            and union >= _UNION_AT_LEAST * self.largest
            and self._alike()
        )

    def _no_key_returns(self) -> bool:
        containers = [n for form, n in self.forms.items() if _is_container(form)]
        return (
            max(self.counts.values()) == 1
            and len(containers) == len(self.forms)
            and max(containers, default=0) >= _SAME_CONTAINERS
        )

    def _alike(self) -> bool:
        kinds = self._kinds_of_values()
        if len(kinds) > _FORMS:
            return self._hold_maps()
        return len({isinstance(kind, frozenset) or kind in {"array", "map"} for kind in kinds}) <= 1

    def _kinds_of_values(self) -> list[str | frozenset[str]]:
        """The values grouped: scalars by kind (null aside), records with those they share half of their fields with.

        A record whose fields come and go, or are null at times, has many shapes and is one kind of value all the same.
        """
        groups: list[str | frozenset[str]] = []
        for form in self.forms:
            if len(groups) > _FORMS:
                break
            if isinstance(form, Object):
                names = frozenset(form.names)
                if not any(isinstance(g, frozenset) and _overlap(names, g) for g in groups):
                    groups.append(names)
            elif form.kind != "null":
                kind = "number" if form.kind == "integer" else form.kind
                if kind not in groups:
                    groups.append(kind)
        return groups

    def _hold_maps(self) -> bool:
        """Whether the values are many only because they are maps themselves."""
        inner = _Keys()
        for form, count in self.forms.items():
            if not isinstance(form, Object):
                return False
            inner.add([form], count)
        return inner.decide(ROOT) is not None


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return 2 * len(one & other) >= len(one | other)


def _is_container(shape: Shape) -> bool:
    return shape.kind in {"object", "array", "map"}


def learn(rows: Iterable[tuple[Shape, int]], is_record: Callable[[Path], bool]) -> tuple[MapDecision, ...]:
    """The outermost paths whose keys are data by the way they come and go, over (shape, count) rows.

    Call again on the rewritten rows for the maps further in. ``is_record`` says which paths must stay records.
    """
    keys: dict[Path, _Keys] = {}
    for shape, count in rows:
        for path, shapes in places(shape):
            objects = [s for s in shapes if isinstance(s, Object)]
            if objects:
                keys.setdefault(path, _Keys()).add(objects, count)
    found: list[MapDecision] = []
    for path in sorted(keys, key=lambda p: (len(p), format_path(p))):
        if is_record(path) or any(path[: len(outer.path)] == outer.path for outer in found):
            continue
        decision = keys[path].decide(path)
        if decision is not None:
            found.append(decision)
    return tuple(found)


def map_paths(shapes: Iterable[Shape]) -> frozenset[Path]:
    """Where the shapes show a map."""
    return frozenset(path for shape in shapes for path, here in places(shape) if any(isinstance(s, Map) for s in here))


def places(shape: Shape) -> Iterator[tuple[Path, frozenset[Shape]]]:
    """Every path of a response and the set of shapes it has there, outermost first."""
    waiting: list[tuple[Path, frozenset[Shape]]] = [(ROOT, frozenset((shape,)))]
    while waiting:
        path, shapes = waiting.pop()
        yield path, shapes
        below: dict[Segment, set[Shape]] = {}
        for here in shapes:
            if isinstance(here, Object):
                for name, child in here.fields.items():
                    below.setdefault(name, set()).add(child)
            elif isinstance(here, Array):
                below.setdefault(ITEMS, set()).update(here.elements)
            elif isinstance(here, Map):
                below.setdefault(VALUES, set()).update(here.values)
        waiting.extend(((*path, segment), frozenset(found)) for segment, found in below.items())


def as_values(path: Path, maps: frozenset[Path]) -> Path:
    """A path that was walked before some objects were read as maps: the keys of these are values now."""
    read: Path = ROOT
    for segment in path:
        read = (*read, VALUES if read in maps and isinstance(segment, str) else segment)
    return read


def shapes_at(shape: Shape, path: Path) -> frozenset[Shape]:
    """The shapes a response has at a path; none where the path is not there."""
    here = frozenset((shape,))
    for segment in path:
        if segment is ITEMS:
            here = frozenset(e for s in here if isinstance(s, Array) for e in s.elements)
        elif segment is VALUES:
            here = frozenset(v for s in here if isinstance(s, Map) for v in s.values)
        else:
            name = str(segment)
            here = frozenset(s.fields[name] for s in here if isinstance(s, Object) and name in s.fields)
    return here


def rewrite(shape: Shape, as_map: Callable[[Path, Object], bool], limit: int, path: Path = ROOT) -> Shape:
    """The shape with every record for which ``as_map`` says so read as a map; its keys are gone then."""
    if isinstance(shape, Object):
        if as_map(path, shape):
            inner = (*path, VALUES)
            return Map(fewest((rewrite(v, as_map, limit, inner) for v in shape.fields.values()), limit))
        return Object({n: rewrite(v, as_map, limit, (*path, n)) for n, v in shape.fields.items()})
    if isinstance(shape, Array):
        return Array(fewest((rewrite(e, as_map, limit, (*path, ITEMS)) for e in shape.elements), limit))
    if isinstance(shape, Map):
        return Map(fewest((rewrite(v, as_map, limit, (*path, VALUES)) for v in shape.values), limit))
    return shape


def settle(
    rows: Sequence[tuple[Shape, int]],
    is_record: Callable[[Path], bool],
    limit: int,
    taken: Sequence[MapDecision] = (),
) -> tuple[list[Shape], tuple[MapDecision, ...]]:
    """Read maps off all rows together: each row's shape rewritten, and the decisions, those ``taken`` before first.

    A record whose keys all look like data and that is met beside a map at the same path is a map, too.
    """
    shapes = [shape for shape, _ in rows]
    counts = [count for _, count in rows]
    decided: dict[Path, MapDecision] = {decision.path: decision for decision in taken}
    while True:
        shapes = _read(shapes, frozenset(decided), is_record, limit)
        new = learn(zip(shapes, counts, strict=True), lambda p: is_record(p) or p in decided)
        if not new:
            return shapes, tuple(decided.values())
        decided.update((decision.path, decision) for decision in new)


def _read(shapes: list[Shape], decided: frozenset[Path], is_record: Callable[[Path], bool], limit: int) -> list[Shape]:
    """The shapes with their records read as maps until none is left: one that is read so can bring others together."""
    while True:
        as_map = _settled(decided, map_paths(shapes), is_record)
        read = [rewrite(shape, as_map, limit) for shape in shapes]
        if read == shapes:
            return shapes
        shapes = read


def _settled(
    decided: frozenset[Path], beside: frozenset[Path], is_record: Callable[[Path], bool]
) -> Callable[[Path, Object], bool]:
    def as_map(path: Path, shape: Object) -> bool:
        if path in decided:
            return True
        return path in beside and not is_record(path) and (not shape.names or data_like(shape.names))

    return as_map
