"""One walk over one response. The hot path: it runs in the caller's thread.

One pass and no normalised copy. A record met before costs one tuple of keys, one of types and a look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolpulse._base.paths import ITEMS, VALUES, Path, Segment
from toolpulse.shape.budget import Budget
from toolpulse.shape.kinds import SCALARS, resolve
from toolpulse.shape.map_keys import RECORD
from toolpulse.shape.nodes import UNKNOWN, Map, Scalar, Shape
from toolpulse.shape.plans import NOT_KNOWN
from toolpulse.shape.rows import TEXT_KEYED, are_names, by_name, key_work, kinds_of, row_of, scalars_of, size_of
from toolpulse.shape.text import UnreadText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.shape.plans import Plan, Plans
    from toolpulse.shape.rows import Row

Reading: TypeAlias = Callable[[Path], str | None]
"""What is told of the objects at a path: one of the three below, or nothing."""

MAP: Final = "map"

_TO_ENTER_A_RECORD: Final = 3
_TO_ENTER: Final = 6
_TO_READ: Final = 12
_TO_RENAME: Final = 10
_MOST_NAMES: Final = 20_000


class Walk(Budget):
    """One walk over one response."""

    __slots__ = ("_plans", "_reading")

    def __init__(self, plans: Plans, reading: Reading | None) -> None:
        super().__init__(plans.limits)
        self._plans = plans
        self._reading = reading

    def visit(self, value: Any) -> Shape:
        """The shape of a value that stands where the walk is."""
        kind = type(value)
        scalar = SCALARS.get(kind) if type(kind) is type else None
        if scalar is not None:
            return scalar
        if kind is dict:
            return self._object(value)
        if kind is list:
            return self._array(value, value, len(value))
        if kind is UnreadText:
            self._cut("text", 0, value.length)
            return UNKNOWN
        how = resolve(value)
        if isinstance(how, Scalar):
            return how
        if how is dict:
            return self._subclass(value)
        if isinstance(how, type):
            return self._array(value, how.__iter__(value), how.__len__(value))  # type: ignore[attr-defined]
        return self._read(value, how)

    def _read(self, value: Any, reader: Callable[[Any], Any]) -> Shape:
        if self._closed(value):
            return UNKNOWN
        self._open.append(id(value))
        self._take(_TO_READ)
        try:
            inner = reader(value)
        except Exception:  # noqa: BLE001 - the reader is the application's, the object the response's
            self._cut("unreadable", 0, 1)
            shape = UNKNOWN
        else:
            shape = self.visit(inner)
        self._open.pop()
        return shape

    def _subclass(self, value: Any) -> Shape:
        """A subclass of dict is read by ``dict``'s own methods: its overrides may do anything."""
        told = self._reading(tuple(self._path)) if self._reading is not None else None
        if dict.__len__(value) > self._limits.fields and told is not RECORD:
            return self._map(value)
        if all(type(key) is str for key in dict.keys(value)):
            return self._object(dict(dict.items(value)), value)
        return self._renamed(value)

    def _renamed(self, value: dict[Any, Any]) -> Shape:
        """An object whose keys are not plain text, read by the names that JSON would write."""
        if self._closed(value):
            return UNKNOWN
        self._take(_TO_RENAME + 2 * key_work(dict.keys(value)))
        if self.left <= 0:
            self._cut(self._spent, 0, 1)
            return UNKNOWN
        named = by_name(value)
        return self._map(value) if named is None else self._object(named, value)

    def _object(self, value: dict[Any, Any], owner: Any = None) -> Shape:
        told = self._reading(tuple(self._path)) if self._reading is not None else None
        if told is MAP or (len(value) > self._limits.fields and told is not RECORD):
            return self._map(value)
        if len(value) > _MOST_NAMES:
            self._cut("fields", 0, len(value))
            return UNKNOWN
        row = row_of(value, told)
        if row is None:
            return self._renamed(value)
        plan = self._plans.known.get(row)
        if plan is None:
            return self._new_object(row, value, value if owner is None else owner)
        if plan.shape is None or self.left <= 0 or self._depth >= self._limits.depth:
            return self._record(value, plan, value if owner is None else owner)
        self.left -= plan.size
        return plan.shape

    def _new_object(self, row: Row, value: dict[str, Any], owner: Any) -> Shape:
        """An object of which no plan is kept: it was not met before, is a map, or has odd names.

        What is charged here is for what is never kept, so that it does not depend on what was met before.
        """
        if (self.left <= 0 or self._depth >= self._limits.depth) and self._closed(owner):
            return UNKNOWN
        keys = row[0]
        plain = are_names(keys, self._limits.name)
        if not plain:
            self._take(_TO_RENAME + key_work(keys))
            if self.left <= 0:
                self._cut(self._spent, 0, 1)
                return UNKNOWN
        plan = self._plans.plan(row, value, plain=plain)
        if plan is None:
            if plain:
                self._take(key_work(keys))
            return self._map(value)
        if plan.shape is None:
            return self._record(value, plan, owner)
        self.left -= plan.size
        return plan.shape

    def _record(self, value: dict[Any, Any], plan: Plan, owner: Any) -> Shape:
        if self._closed(owner):
            return UNKNOWN
        self.left -= plan.size
        if plan.shape is not None:
            return plan.shape
        if plan.cut:
            for limit, seen, total in plan.cut:
                self._cut(limit, seen, total)
        self.work -= _TO_ENTER_A_RECORD
        if self.work <= 0:
            self._take(0)
        self._open.append(id(owner))
        self._depth += 1
        self._path.append("")
        found = self._inner(value, plan)
        self._path.pop()
        self._depth -= 1
        self._open.pop()
        inner = tuple(found)
        shape = plan.shapes.get(inner) or plan.of(inner)
        if shape not in self._met:
            self._meet(shape)
        return shape

    def _inner(self, value: dict[str, Any], plan: Plan) -> list[Shape]:
        """The shapes of the fields of a record that are no scalars."""
        at_ease = self._reading is None and self._depth < self._limits.depth
        find, flat = self._plans.find, self._plans.flat_array
        path, met, found = self._path, self._met, []
        for name, key in plan.inner:
            child = value[key]
            shape = None
            if at_ease and self.left > 0:
                if type(child) is dict:
                    known = find(child)[2]
                    if known is not None:
                        shape = known.shape
                        if shape is not None:
                            self.left -= known.size
                        else:
                            path[-1] = name
                            shape = self._record(child, known, child)
                elif type(child) is list:
                    shape = flat(child)
                    if shape is not None:
                        self.left -= len(child)
            if shape is None:
                path[-1] = name
                shape = self.visit(child)
            found.append(shape)
            if shape not in met:
                self._meet(shape)
        return found

    def _map(self, value: dict[Any, Any]) -> Shape:
        if self._closed(value):
            return UNKNOWN
        looked_at = list(islice(dict.values(value), self._limits.elements))
        kinds = kinds_of(looked_at)
        return Map(self._members(value, looked_at, dict.__len__(value), VALUES, kinds))

    def _array(self, owner: Any, items: Iterable[Any], total: int) -> Shape:
        if self._closed(owner):
            return UNKNOWN
        looked_at = list(islice(items, self._limits.elements))
        flat = self._plans.flat_array(looked_at) if len(looked_at) == total else None
        if flat is not None:
            self.left -= total
            return flat
        kinds = kinds_of(looked_at)
        shape = self._plans.array(self._members(owner, looked_at, total, ITEMS, kinds))
        if kinds is not None:
            self._plans.keep_flat(kinds, shape)
        return shape

    def _members(
        self, owner: Any, looked_at: list[Any], total: int, step: Segment, kinds: frozenset[type] | None
    ) -> set[Shape]:
        """The distinct shapes of the first elements (values) of a container."""
        self._path.append(step)
        found = None if kinds is None else scalars_of(kinds)
        if found is not None:
            self.left -= len(looked_at)
        else:
            self._take(_TO_ENTER)
            self._open.append(id(owner))
            self._depth += 1
            found = self._each(looked_at)
            self._depth -= 1
            self._open.pop()
        known = len(found) - (UNKNOWN in found)
        if known > self._limits.shapes:
            found = self._fewest(found, known)
        self._path.pop()
        if total > len(looked_at):
            self._cut("elements", len(looked_at), total)
        return found

    def _fewest(self, found: set[Shape], known: int) -> set[Shape]:
        """The smallest of the shapes; none where comparing them costs more than is left."""
        work, kept = self._plans.fewest(found, self.work)
        self._take(work)
        if kept is None:
            self._cut("work", 0, known)
            return {UNKNOWN}
        self._cut("shapes", self._limits.shapes, known)
        return set(kept)

    def _each(self, members: list[Any]) -> set[Shape]:
        found: set[Shape] = set()
        at_ease = self._reading is None and self._depth < self._limits.depth
        plans, met, before, left = self._plans, self._met, None, self.left
        keys, kinds, plan = NOT_KNOWN
        for index, member in enumerate(members):
            if left <= 0:
                self.left = left
                self._cut(self._spent, index, len(members))
                return found | {UNKNOWN}
            left -= 1
            if not at_ease or type(member) is not dict:
                plan = None
            elif size_of(member) in TEXT_KEYED:
                its = tuple(member)
                if its != keys:
                    keys, kinds, plan = plans.latest.get(its, NOT_KNOWN)
                if plan is None or not all(map(is_, map(type, member.values()), kinds)):
                    keys, kinds, plan = plans.look_up(its, member)
            else:
                keys, kinds, plan = plans.find(member)
            if plan is not None and plan.shape is not None and left > 0:
                left -= plan.size
                shape = plan.shape
            else:
                self.left = left
                shape = self.visit(member) if plan is None else self._record(member, plan, member)
                left = self.left
            if shape is not before:
                found.add(shape)
                before = shape
                if shape not in met:  # as _meet does
                    met.add(shape)
                    self.work -= shape.work
                    if self.work <= 0:
                        self.left = left
                        self._take(0)
                        left = self.left
        self.left = left
        return found
