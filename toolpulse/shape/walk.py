"""One walk over one response. The hot path: it runs in the caller's thread.

One pass and no normalised copy. A record met before costs one tuple of keys, one of types and a look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from toolpulse._base.paths import ITEMS, VALUES, Path, Segment, format_path
from toolpulse.shape.kinds import SCALARS, resolve
from toolpulse.shape.map_keys import data_keys, data_like
from toolpulse.shape.nodes import UNKNOWN, Map, Scalar, Shape, fewest
from toolpulse.shape.observation import Truncation
from toolpulse.shape.plans import by_name, kinds_of, names_of, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.shape.plans import Plan, Plans

Reading: TypeAlias = Callable[[Path], str | None]
"""What is told of the objects at a path: one of the three below, or nothing."""

MAP: Final = "map"
RECORD: Final = "record"
DATA_LIKE: Final = "data-like"

# Readers may give readable objects again, without a level of their own; so many a level at most.
_MOST_HOPS = 4


class Walk:
    """One walk over one response: what is left of the budget, where it stands, what it cut."""

    __slots__ = ("_depth", "_limits", "_open", "_path", "_plans", "_reading", "left", "truncations")

    def __init__(self, plans: Plans, reading: Reading | None) -> None:
        self._limits = plans.limits
        self._plans = plans
        self._reading = reading
        self._depth = 0
        self._open: list[int] = []
        self._path: list[Segment] = []
        self.left = plans.limits.nodes
        self.truncations: list[Truncation] = []

    def visit(self, value: Any) -> Shape:
        kind = type(value)
        scalar = SCALARS.get(kind) if type(kind) is type else None
        if scalar is not None:
            return scalar
        if kind is dict:
            return self._object(value)
        if kind is list:
            return self._array(value, value, len(value))
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
        try:
            inner = reader(value)
        except Exception:  # noqa: BLE001 - the reader is the application's, the object the response's
            self._cut("unreadable", 0, 1)
            shape = UNKNOWN
        else:
            shape = self.visit(inner)
        self._open.pop()
        return shape

    def _closed(self, value: Any) -> bool:
        """Whether the walk must not go into this container."""
        # readers may give readable objects again, without a level of their own; that must end too
        if self._depth >= self._limits.depth or len(self._open) > _MOST_HOPS * self._limits.depth:
            self._cut("depth", 0, 1)
        elif self.left <= 0:
            self._cut("nodes", 0, 1)
        elif id(value) in self._open:
            self._cut("cycle", 0, 1)
        else:
            return False
        return True

    def _cut(self, limit: str, seen: int, total: int) -> None:
        self.truncations.append(Truncation(format_path(tuple(self._path)), limit, seen, total))

    def _subclass(self, value: Any) -> Shape:
        """A subclass of dict is read by ``dict``'s own methods: its overrides may do anything."""
        told = self._reading(tuple(self._path)) if self._reading is not None else None
        if dict.__len__(value) > self._limits.fields and told is not RECORD:
            return self._map(value)
        named = by_name(value)
        return self._map(value) if named is None else self._object(named, value)

    def _object(self, value: dict[Any, Any], owner: Any = None) -> Shape:
        told = self._reading(tuple(self._path)) if self._reading is not None else None
        if told is MAP or (len(value) > self._limits.fields and told is not RECORD):
            return self._map(value)
        row = row_of(value) if told is None else None
        plan = self._plans.known.get(row) if row is not None else None
        named: dict[str, Any] | None = value
        if plan is None:
            named = value if row is not None else by_name(value)
            if named is not None:
                plan = self._plans.plan(row, named) if told is None else self._told_plan(named, told)
        if plan is None or named is None:
            return self._map(value)
        if plan.shape is None or self.left <= 0 or self._depth >= self._limits.depth:
            return self._record(named, plan, value if owner is None else owner)
        self.left -= plan.size
        return plan.shape

    def _told_plan(self, value: dict[str, Any], told: str) -> Plan | None:
        names = names_of(value)
        if told is DATA_LIKE and (not names or data_keys(tuple(names)) or data_like(tuple(names))):
            return None
        return self._plans.record_plan(names, value)

    def _record(self, value: dict[str, Any], plan: Plan, owner: Any) -> Shape:
        if self._closed(owner):
            return UNKNOWN
        self.left -= plan.size
        if plan.shape is not None:
            return plan.shape
        for limit, seen, total in plan.cut:
            self._cut(limit, seen, total)
        self._open.append(id(owner))
        self._depth += 1
        self._path.append("")
        at_ease = self._reading is None and self._depth < self._limits.depth
        found = []
        for name, key in plan.inner:
            child = value[key]
            shape = self._leaf(child) if at_ease and self.left > 0 else None
            if shape is None:
                self._path[-1] = name
                shape = self.visit(child)
            found.append(shape)
        self._path.pop()
        self._depth -= 1
        self._open.pop()
        return plan.of(tuple(found))

    def _leaf(self, child: Any) -> Shape | None:
        """The shape of a known row of scalars or array of scalars, by one look-up; None where it must be walked."""
        kind = type(child)
        if kind is dict:
            row = row_of(child)
            plan = self._plans.known.get(row) if row is not None else None
            if plan is None or plan.shape is None:
                return None
            self.left -= plan.size
            return plan.shape
        if kind is list and len(child) <= self._limits.elements:
            kinds = kinds_of(child)
            flat = self._plans.flat.get(kinds) if kinds is not None else None
            if flat is not None:
                self.left -= len(child)
            return flat
        return None

    def _map(self, value: dict[Any, Any]) -> Shape:
        if self._closed(value):
            return UNKNOWN
        looked_at = list(islice(dict.values(value), self._limits.elements))
        return Map(self._members(value, looked_at, dict.__len__(value), VALUES))

    def _array(self, owner: Any, items: Iterable[Any], total: int) -> Shape:
        if self._closed(owner):
            return UNKNOWN
        looked_at = list(islice(items, self._limits.elements))
        kinds = kinds_of(looked_at)
        flat = self._plans.flat.get(kinds) if kinds is not None else None
        if flat is not None and len(looked_at) == total:
            self.left -= total
            return flat
        shape = self._plans.array(self._members(owner, looked_at, total, ITEMS))
        if kinds is not None:
            self._plans.keep_flat(kinds, shape)
        return shape

    def _members(self, owner: Any, looked_at: list[Any], total: int, step: Segment) -> set[Shape]:
        """The distinct shapes of the first elements (values) of a container."""
        self._path.append(step)
        found = self._scalars(looked_at)
        if found is None:
            self._open.append(id(owner))
            self._depth += 1
            found = self._each(looked_at)
            self._depth -= 1
            self._open.pop()
        known = len(found) - (UNKNOWN in found)
        if known > self._limits.shapes:
            self._cut("shapes", self._limits.shapes, known)
            found = set(fewest(found, self._limits.shapes))
        self._path.pop()
        if total > len(looked_at):
            self._cut("elements", len(looked_at), total)
        return found

    def _scalars(self, members: list[Any]) -> set[Shape] | None:
        """The shapes of members that are all scalars of known types: one look-up a type, not one a member."""
        kinds = kinds_of(members)
        found = {None} if kinds is None else set(map(SCALARS.get, kinds))
        if None in found:
            return None
        self.left -= len(members)
        return cast("set[Shape]", found)

    def _each(self, members: list[Any]) -> set[Shape]:
        found: set[Shape] = set()
        blocked = self._reading is not None or self._depth >= self._limits.depth
        plans = None if blocked else self._plans.known
        for index, member in enumerate(members):
            if self.left <= 0:
                self._cut("nodes", index, len(members))
                found.add(UNKNOWN)
                break
            self.left -= 1
            if plans is not None and type(member) is dict:
                row = row_of(member)
                plan = plans.get(row) if row is not None else None
                if plan is not None:
                    if plan.shape is None or self.left <= 0:
                        found.add(self._record(member, plan, member))
                    else:
                        self.left -= plan.size
                        found.add(plan.shape)
                    continue
            found.add(self.visit(member))
        return found
