"""Plans: what the walk remembers of records it has met, so that the next one costs a look-up.

A plan says the shape of a record by its keys and the types of its values, or which of its fields to descend into.
Plans do not depend on where a record stands, hold no values, and are never made for maps, whose keys are data.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolpulse._base.canonical import digest
from toolpulse.shape import kinds as known_kinds
from toolpulse.shape.kinds import SCALARS, resolve
from toolpulse.shape.map_keys import DATA_LIKE, RECORD, data_keys, data_like
from toolpulse.shape.nodes import Array, Object, Scalar, Shape, fewest, writing_work
from toolpulse.shape.rows import TEXT_KEYED, Row, has_text_keys, hashable, kinds_of, paired, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolpulse.shape.observation import Limits

_Cut: TypeAlias = tuple[str, int, int]
"""Which limit, how much was seen, how much there is."""


Known: TypeAlias = "tuple[tuple[str, ...], tuple[type, ...], Plan | None]"
"""A record met before: its keys, the types of its values, and its plan. One object, since threads share it."""

NOT_KNOWN: Final[Known] = ((), (), None)


class Plan:
    """What is known of a record by its keys and the types of its values."""

    __slots__ = ("children", "cut", "has_content", "inner", "kinds", "names", "shape", "shapes", "size")

    def __init__(
        self, names: tuple[str, ...], children: list[Shape | None], keys: Mapping[str, Any], cut: tuple[_Cut, ...]
    ) -> None:
        """``names`` in order, what is known of each one's shape, and the key that each stands for."""
        self.size = len(names)
        self.names = names
        self.children = children
        fields = zip(names, children, strict=True)
        self.inner = tuple([(name, keys[name]) for name, child in fields if child is None])
        self.has_content = "content" in names
        """Whether it may be an envelope."""
        self.cut = cut
        self.kinds: tuple[type, ...] = ()
        """The types that the rows it is kept by name; while they are here no other type has one of their ids."""
        self.shape: Shape | None = None
        self.shapes: dict[tuple[Shape, ...], Shape] = {}
        if not self.inner and not cut:
            self.shape = self.of(())

    def of(self, found: tuple[Shape, ...]) -> Shape:
        """The record's shape, given the shapes of the fields that were descended into."""
        shape = self.shapes.get(found)
        if shape is None:
            rest = iter(found)
            shape = Object.of(self.names, tuple([child or next(rest) for child in self.children]))
            if len(self.shapes) >= _MOST_SHAPES_A_PLAN:
                self.shapes.clear()
            self.shapes[found] = shape
        return shape


_MOST_KEYS = 4096 * 64
"""Keys of records that are remembered; a plan itself takes about as much memory as some."""
_KEYS_A_PLAN = 61
_MOST_SHAPES_A_PLAN = 512
_MOST_ARRAYS = 4096
_MOST_SETS: Final = 64
_LARGEST_SET: Final = 1_000  # of writing_work


class Plans:
    """The plans of one walker, and the arrays it has met. Bounded; safe to share between threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.known: dict[Row, Plan] = {}
        """By ``row_of``."""
        self.latest: dict[tuple[str, ...], Known] = {}
        """The record met last of those with these keys."""
        self._flat: dict[frozenset[type], Shape] = {}
        """Arrays of scalars, by the types of their elements."""
        self._alike: dict[type, Shape] = {}
        """Those of one type."""
        self._fewest: dict[frozenset[Shape], tuple[int, frozenset[Shape]]] = {}
        """Shapes found in a container: what comparing them takes, and those that are kept."""
        self._arrays: dict[frozenset[Shape], Shape] = {}
        self._kept = 0
        self._generation = known_kinds.generation

    def refresh(self) -> None:
        """Start over where a type was registered since: what its values are may have changed."""
        if self._generation != known_kinds.generation:
            self._generation = known_kinds.generation
            self.forget()

    def forget(self) -> None:
        """Drop what is remembered; it is made again as records are met."""
        self._kept = 0
        self.known.clear()
        self.latest.clear()
        self._flat.clear()
        self._alike.clear()

    def find(self, value: dict[Any, Any]) -> Known:
        """What is known of a record that was met before; ``NOT_KNOWN`` where it was not, or may not be looked up."""
        if len(value) > self.limits.fields or not (size_of(value) in TEXT_KEYED or has_text_keys(value)):
            return NOT_KNOWN
        keys = tuple(value)
        known = self.latest.get(keys, NOT_KNOWN)
        # types are told apart by identity, which asks no metaclass
        if known[2] is not None and all(map(is_, map(type, value.values()), known[1])):
            return known
        return self.look_up(keys, value)

    def look_up(self, keys: tuple[str, ...], value: dict[Any, Any]) -> Known:
        """The same of a record of these keys, which are plain text, where the latest with these keys is another."""
        kinds = tuple(map(type, value.values()))
        plan = self.known.get((keys, hashable(kinds), None))
        if plan is None:
            return NOT_KNOWN
        if len(self.latest) > len(self.known):
            self.latest.clear()
        self.latest[keys] = known = (keys, kinds, plan)
        return known

    def plan(self, row: Row, value: dict[str, Any], *, plain: bool) -> Plan | None:
        """The plan of a record of this row, kept for the next one where its keys are ``plain``.

        None where it is a map by its keys.
        """
        keys, kinds, told = row
        if not plain:
            by_name = {paired(key): key for key in keys}
            return None if _is_map(by_name, told) else self._make(by_name, value)
        if _is_map(keys, told):
            return None
        names = tuple(sorted(keys))
        by_key = dict(zip(keys, kinds, strict=True))
        in_order = (names, tuple([by_key[name] for name in names]), told)
        plan = self.known.get(in_order)
        if plan is None:
            plan = self._make(dict(zip(names, names, strict=True)), value)
            plan.kinds = tuple(map(type, value.values()))
            self._keep(in_order, plan)
        if in_order != row:
            self._keep(row, plan)
        return plan

    def _keep(self, row: Row, plan: Plan) -> None:
        if self._kept > _MOST_KEYS:
            self._kept = 0
            self.known.clear()
            self.latest.clear()
        self._kept += _KEYS_A_PLAN + len(row[0])
        self.known[row] = plan

    def _make(self, names: dict[str, str], value: dict[str, Any]) -> Plan:
        """``names`` gives each field its key."""
        cut = []
        if names and max(map(len, names)) > self.limits.name:
            names = {_short(name, self.limits.name): key for name, key in names.items()}
            cut.append(("name", len(names), len(names)))
        kept = sorted(names)
        if len(kept) > self.limits.fields:
            cut.append(("fields", self.limits.fields, len(kept)))
            kept = kept[: self.limits.fields]
        children = [_scalar(value[names[name]]) for name in kept]
        return Plan(tuple(kept), children, names, tuple(cut))

    def array(self, found: set[Shape]) -> Shape:
        """The array of these element shapes."""
        elements = frozenset(found)
        shape = self._arrays.get(elements)
        if shape is None:
            shape = Array(elements)
            if len(self._arrays) >= _MOST_ARRAYS:
                self._arrays.clear()
            self._arrays[elements] = shape
        return shape

    def flat_array(self, members: list[Any]) -> Shape | None:
        """The shape of an array of scalars of types that were met before together; None of any other."""
        if len(members) > self.limits.elements:
            return None
        if members:
            first = type(members[0])
            if first is dict or first is list or type(first) is not type:
                return None
            for member in members:
                if type(member) is not first:
                    break
            else:
                return self._alike.get(first)
        kinds = kinds_of(members)
        return None if kinds is None else self._flat.get(kinds)

    def keep_flat(self, kinds: frozenset[type], shape: Shape) -> None:
        """Remember the shape of arrays of scalars of these types."""
        if kinds <= SCALARS.keys() and len(kinds) <= self.limits.shapes:
            if len(self._flat) >= _MOST_ARRAYS:
                self._flat.clear()
                self._alike.clear()
            self._flat[kinds] = shape
            if len(kinds) == 1:
                self._alike.update(dict.fromkeys(kinds, shape))

    def fewest(self, found: set[Shape], left: int) -> tuple[int, frozenset[Shape] | None]:
        """What it takes to compare these shapes, and the smallest of them, as many as are kept of an array.

        None where that takes all of what is left. Compared once for a set that is met again.
        """
        shapes = frozenset(found)
        known = self._fewest.get(shapes)
        if known is None:
            work = writing_work(shapes)
            if work >= left:
                return work, None
            known = (work, fewest(shapes, self.limits.shapes))
            if work <= _LARGEST_SET:
                if len(self._fewest) >= _MOST_SETS:
                    self._fewest.clear()
                self._fewest[shapes] = known
        return known if known[0] < left else (known[0], None)


def _scalar(value: object) -> Shape | None:
    found = resolve(value)
    return found if isinstance(found, Scalar) else None


def _is_map(names: Iterable[str], told: str | None) -> bool:
    if told is RECORD:
        return False
    read = tuple(names)
    return data_keys(read) or (told is DATA_LIKE and (not read or data_like(read)))


def _short(name: str, limit: int) -> str:
    return name if len(name) <= limit else "sha256:" + digest(name.encode("utf-8", "surrogatepass"))[:32]
