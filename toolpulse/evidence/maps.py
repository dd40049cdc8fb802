"""Which objects were learned to be maps: objects whose keys are data, by the way they come and go.

The walk over one response (``shape.map_keys``) reads it off the spelling of keys; here it is read off many
observations, and decided once and for all (DESIGN: such decisions only grow). Keys of a map are neither kept nor
logged; a decision holds figures only. Pure. The baseline and the state of a tool ask.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from toolpulse._base.paths import ROOT, Path, format_path
from toolpulse.evidence.shape_paths import map_paths, rewrite_as_maps, shapes_by_path
from toolpulse.shape.map_keys import data_like
from toolpulse.shape.nodes import Object, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class LearnedMap(msgspec.Struct, frozen=True):
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

    def decide(self, path: Path) -> LearnedMap | None:
        if self.observations < 2:
            return None
        returning = sum(n >= _RETURNING_SHARE * self.observations for n in self.counts.values())
        single = sum(n == 1 for n in self.counts.values())
        if not (self._keys_come_and_go(returning, single) or self._no_key_returns()):
            return None
        forms = len(self._kinds_of_values())
        return LearnedMap(path, self.observations, len(self.counts), self.largest, returning, single, forms)

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


def learn_maps(rows: Iterable[tuple[Shape, int]], is_record: Callable[[Path], bool]) -> tuple[LearnedMap, ...]:
    """The outermost paths whose keys are data by the way they come and go, over (shape, count) rows.

    Call again on the rewritten rows for the maps further in (``decide_maps`` does). ``is_record`` says which paths must
    stay records.
    """
    keys: dict[Path, _Keys] = {}
    for shape, count in rows:
        for path, shapes in shapes_by_path(shape):
            objects = [s for s in shapes if isinstance(s, Object)]
            if objects:
                keys.setdefault(path, _Keys()).add(objects, count)
    learned: list[LearnedMap] = []
    for path in sorted(keys, key=lambda p: (len(p), format_path(p))):
        if is_record(path) or any(path[: len(outer.path)] == outer.path for outer in learned):
            continue
        decision = keys[path].decide(path)
        if decision is not None:
            learned.append(decision)
    return tuple(learned)


def decide_maps(
    rows: Sequence[tuple[Shape, int]],
    is_record: Callable[[Path], bool],
    limit: int,
    decided: Sequence[LearnedMap] = (),
) -> tuple[list[Shape], tuple[LearnedMap, ...]]:
    """Decide on maps for all (shape, count) rows together.

    Gives each row's shape, rewritten, and the decisions: those ``decided`` before come first. ``limit`` is how many
    different shapes a map's values may have (``Limits.shapes``). A record whose keys all look like data and that is met
    beside a map at the same path is a map, too.
    """
    shapes = [shape for shape, _ in rows]
    counts = [count for _, count in rows]
    known: dict[Path, LearnedMap] = {decision.path: decision for decision in decided}
    while True:
        shapes = _rewritten(shapes, frozenset(known), is_record, limit)
        new = learn_maps(zip(shapes, counts, strict=True), lambda p: is_record(p) or p in known)
        if not new:
            return shapes, tuple(known.values())
        known.update((decision.path, decision) for decision in new)


def _rewritten(
    shapes: list[Shape], decided: frozenset[Path], is_record: Callable[[Path], bool], limit: int
) -> list[Shape]:
    """The shapes with their records read as maps until none is left: one that is read so can bring others together."""
    while True:
        as_map = _reads_as_map(decided, map_paths(shapes), is_record)
        rewritten = [rewrite_as_maps(shape, as_map, limit) for shape in shapes]
        if rewritten == shapes:
            return shapes
        shapes = rewritten


def _reads_as_map(
    decided: frozenset[Path], beside: frozenset[Path], is_record: Callable[[Path], bool]
) -> Callable[[Path, Object], bool]:
    def as_map(path: Path, shape: Object) -> bool:
        if path in decided:
            return True
        return path in beside and not is_record(path) and (not shape.names or data_like(shape.names))

    return as_map
