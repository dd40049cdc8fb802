"""The bounded walk from a response to its shape. Pure, and the hot path: it runs in the caller's thread.

One pass and no normalised copy. A record seen before costs one tuple of keys, one of types and a look-up: the
*plan* of that row says its shape where it holds scalars only, else which of its fields to descend into. Plans do
not depend on where a record stands, hold no values, and are never made for maps, whose keys are data.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec

from toolpulse import _kinds
from toolpulse._kinds import SCALARS, register, resolve
from toolpulse._shapes import UNKNOWN, Array, Map, Object, Scalar, Shape, fewest
from toolpulse.canonical import digest
from toolpulse.errors import ConfigurationError
from toolpulse.maps import data_keys, data_like
from toolpulse.paths import ITEMS, VALUES, Path, Segment, format_path, glob
from toolpulse.unwrap import unwrap as unwrap_response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Limits", "Observation", "Truncation", "Walker", "fingerprint", "register", "shape_of"]


# The walk, the folds and the diff recurse once or twice a level; this stays far below Python's own limit.
_DEEPEST = 100
_MOST_HOPS = 4


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a response is looked at. Work is bounded by these, not by the response.

    Raises ConfigurationError naming the limit that is not a positive whole number.
    """

    elements: int = 100
    """Elements looked at in an array, or values in a map."""
    shapes: int = 20
    """Distinct element shapes kept of an array (or values of a map)."""
    depth: int = 32
    """Levels of containers, the root's included."""
    fields: int = 256
    """Fields of a record; an object of more keys is a map."""
    name: int = 256
    """Characters of a field name; a longer one is replaced by a digest."""
    nodes: int = 20_000
    """Fields and elements in a whole response. A record's own fields are always listed."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigurationError(f"limits.{name} must be a whole number of at least 1, not {value!r}")
        if self.depth > _DEEPEST:
            raise ConfigurationError(f"limits.depth must be at most {_DEEPEST}, not {self.depth}")


DEFAULT_LIMITS: Final = Limits()


class Truncation(msgspec.Struct, frozen=True, order=True):
    """Where the walk stopped short. Never part of a fingerprint, always shown."""

    path: str
    limit: str
    """Which limit: ``elements``, ``shapes``, ``depth``, ``fields``, ``name``, ``nodes``; ``cycle``; or ``unreadable``
    where a reader given to ``register`` failed, or keys or classes that cannot be hashed or compared."""
    seen: int
    """How many elements, fields or shapes were looked at."""
    total: int
    """How many there are."""

    def __str__(self) -> str:
        if self.limit == "cycle":
            return f"{self.path}: refers to itself"
        if self.limit == "depth":
            return f"{self.path}: deeper than the limit"
        if self.limit == "name":
            return f"{self.path}: a field name is longer than the limit"
        if self.limit == "unreadable":
            return f"{self.path}: reading it failed"
        what = {"elements": "elements", "nodes": "elements", "shapes": "element shapes"}.get(self.limit, "fields")
        return f"{self.path}: {self.seen:,} of {self.total:,} {what} seen"


class Observation(msgspec.Struct, frozen=True):
    """One response, reduced: no value of it is kept."""

    shape: Shape
    truncations: tuple[Truncation, ...] = ()
    encoding: str = "native"
    outcome: str = "ok"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the shape's normal form, 64 hex digits."""
        return self.shape.fingerprint


_Cut: TypeAlias = tuple[str, int, int]
"""Which limit, how much was seen, how much there is."""


class _Plan:
    """What is known of a record by its keys and the types of its values."""

    __slots__ = ("children", "cut", "inner", "shape", "shapes", "size")

    def __init__(self, fields: dict[str, Shape | None], keys: dict[str, Any], cut: tuple[_Cut, ...]) -> None:
        self.size = len(fields)
        self.children = fields
        self.inner = tuple((name, keys[name]) for name, shape in fields.items() if shape is None)
        self.cut = cut
        self.shape: Shape | None = None
        self.shapes: dict[tuple[Shape, ...], Shape] = {}
        if not self.inner and not cut:
            self.shape = self.of(())

    def of(self, found: tuple[Shape, ...]) -> Shape:
        """The record's shape, given the shapes of the fields that were descended into."""
        shape = self.shapes.get(found)
        if shape is None:
            rest = iter(found)
            shape = Object({name: child or next(rest) for name, child in self.children.items()})
            if len(self.shapes) >= _MOST_SHAPES_A_PLAN:
                self.shapes.clear()
            self.shapes[found] = shape
        return shape


_MOST_PLANS = 4096
_MOST_SHAPES_A_PLAN = 512
_MOST_ARRAYS = 4096
_LONGEST_CACHED_ROW = 64
_FLOATS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_MOST_BITS = 8192  # Python refuses to print much longer integers in decimal

_MAP: Final = "map"
_RECORD: Final = "record"
_DATA_LIKE: Final = "data-like"


class Walker:
    """The walk under one configuration. Safe to share between threads.

    ``maps`` and ``records`` are globs of paths whose objects are (are not) maps; ``learned`` are paths decided to be
    maps, ``beside`` paths where a map was met, so that an object whose keys all look like data is one too.
    Raises ConfigurationError for a bad glob or one named on both sides.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        maps: Sequence[str] = (),
        records: Sequence[str] = (),
        learned: frozenset[Path] = frozenset(),
        beside: frozenset[Path] = frozenset(),
    ) -> None:
        if not isinstance(limits, Limits):
            raise ConfigurationError(f"limits must be Limits(...), not {type(limits).__name__}")
        self.limits = limits
        for name, globs in (("maps", maps), ("records", records)):
            if isinstance(globs, str):
                raise ConfigurationError(f"{name} takes a list of paths, not a bare string")
        both = set(maps) & set(records)
        if both:
            raise ConfigurationError(f"maps and records both name {min(both)}")
        self.maps = tuple(maps)
        self.records = tuple(records)
        self._maps = tuple(map(glob, maps))
        self._records = tuple(map(glob, records))
        self._learned = learned
        self._beside = beside
        self._told: dict[Path, str | None] = {}
        self.tells = bool(maps or records or learned or beside)
        """Whether some path is told to be a map or a record."""
        self.plans: dict[tuple[Any, ...], _Plan] = {}
        """By keys and types of values; for the walk alone."""
        self._arrays: dict[frozenset[Shape], Shape] = {}
        self.flat: dict[frozenset[type], Shape] = {}
        """Arrays of scalars by the types of their elements; for the walk alone."""
        self._generation = _kinds.generation

    def with_maps(self, learned: frozenset[Path], beside: frozenset[Path]) -> Walker:
        """The same configuration told which paths were found to be maps."""
        return Walker(self.limits, self.maps, self.records, learned, beside)

    def observe(self, response: object, unwrap: str = "none") -> Observation:
        """Reduce a response to its shape. Recursion, size and cycles are bounded by the limits."""
        value, encoding, outcome = unwrap_response(response, unwrap)
        if self._generation != _kinds.generation:
            self._generation, self.plans, self.flat = _kinds.generation, {}, {}
        walk = _Walk(self)
        try:
            shape = walk.visit(value)
        except Exception:  # noqa: BLE001 - keys and classes that cannot be hashed or compared
            return Observation(UNKNOWN, (Truncation("$", "unreadable", 0, 1),), encoding, outcome)
        cuts = tuple(sorted(set(walk.truncations))) if walk.truncations else ()
        return Observation(shape, cuts, encoding, outcome)

    def forget(self) -> None:
        """Drop the plans of records met so far; they are made again as records are met."""
        self.plans.clear()

    def is_record(self, path: Path) -> bool:
        """Whether ``records`` names the path."""
        return any(pattern.matches(path) for pattern in self._records)

    def reading(self, path: Path) -> str | None:
        """What is told of objects at a path: ``map``, ``record``, ``data-like``, or nothing."""
        told = self._told
        if path not in told:
            if len(told) >= _MOST_PLANS:
                told.clear()
            told[path] = self._reading(path)
        return told.get(path)

    def _reading(self, path: Path) -> str | None:
        if self.is_record(path):
            return _RECORD
        if path in self._learned or any(pattern.matches(path) for pattern in self._maps):
            return _MAP
        return _DATA_LIKE if path in self._beside else None

    def plan(self, row: tuple[Any, ...], value: dict[Any, Any]) -> _Plan | None:
        """The plan of a record not seen before, kept for the next one; None where it is a map by its keys."""
        keys = row[0]
        plain = all(type(key) is str and _paired(key) == key for key in keys)
        names = dict(zip(keys, keys, strict=True)) if plain else _names(keys)
        if names is None or data_keys(tuple(names)):
            return None
        plan = self.record_plan(names, value)
        if plain and len(keys) <= _LONGEST_CACHED_ROW and not plan.cut:
            if len(self.plans) >= _MOST_PLANS:
                self.plans.clear()
            self.plans[row] = plan
        return plan

    def record_plan(self, names: dict[str, Any], value: dict[Any, Any]) -> _Plan:
        """The plan of an object that is a record, whatever its keys look like. ``names`` gives each field its key."""
        cut = []
        if any(len(name) > self.limits.name for name in names):
            names = {_short(name, self.limits.name): key for name, key in names.items()}
            cut.append(("name", len(names), len(names)))
        kept = sorted(names)
        if len(kept) > self.limits.fields:
            cut.append(("fields", self.limits.fields, len(kept)))
            kept = kept[: self.limits.fields]
        fields = {name: _scalar(value[names[name]]) for name in kept}
        return _Plan(fields, names, tuple(cut))

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


def _scalar(value: object) -> Shape | None:
    known = SCALARS.get(type(value))
    if known is not None:
        return known
    found = resolve(value)
    return found if isinstance(found, Scalar) else None


def _names(keys: tuple[Any, ...]) -> dict[str, Any] | None:
    """Field names as JSON writes them; None where a key is no scalar, so that the keys must be data."""
    names: dict[str, Any] = {}
    for key in keys:
        kind = type(key)  # not isinstance, which asks the key
        if issubclass(kind, str):
            name = _paired(str.__str__(key))
        elif key is None or kind is bool:
            name = {None: "null", True: "true", False: "false"}[key]
        elif issubclass(kind, int):
            name = int.__repr__(key) if int.bit_length(key) < _MOST_BITS else int.__format__(key, "x")
        elif issubclass(kind, float):
            name = _FLOATS.get(float.__repr__(key), float.__repr__(key))
        else:
            return None
        names[name] = key
    return names


def _paired(name: str) -> str:
    """Two surrogates that JSON text would read back as one character, as that character."""
    return name if name.isascii() else name.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _short(name: str, limit: int) -> str:
    return name if len(name) <= limit else "sha256:" + digest(name.encode("utf-8", "surrogatepass"))[:32]


class _Walk:
    """One walk over one response: what is left of the budget, where it stands, what it cut."""

    __slots__ = ("_depth", "_limits", "_open", "_path", "_plans", "_told", "_walker", "left", "truncations")

    def __init__(self, walker: Walker) -> None:
        self._walker = walker
        self._limits = walker.limits
        self._plans = walker.plans
        self._told = walker.tells
        self._depth = 0
        self._open: list[int] = []
        self._path: list[Segment] = []
        self.left = walker.limits.nodes
        self.truncations: list[Truncation] = []

    def visit(self, value: Any) -> Shape:
        kind = type(value)
        scalar = SCALARS.get(kind)
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
        told = self._walker.reading(tuple(self._path)) if self._told else None
        if dict.__len__(value) > self._limits.fields and told is not _RECORD:
            return self._map(value)
        return self._object(dict(dict.items(value)), value)

    def _object(self, value: dict[Any, Any], owner: Any = None) -> Shape:
        told = self._walker.reading(tuple(self._path)) if self._told else None
        if told is _MAP or (len(value) > self._limits.fields and told is not _RECORD):
            return self._map(value)
        if told is not None:
            plan = self._told_plan(value, told)
        else:
            row = (tuple(value), tuple(map(type, value.values())))
            plan = self._plans.get(row) or self._walker.plan(row, value)
        if plan is None:
            return self._map(value)
        if plan.shape is None or self.left <= 0 or self._depth >= self._limits.depth:
            return self._record(value, plan, value if owner is None else owner)
        self.left -= plan.size
        return plan.shape

    def _told_plan(self, value: dict[Any, Any], told: str) -> _Plan | None:
        names = _names(tuple(value))
        if names is None:
            return None
        if told is _DATA_LIKE and (not names or data_keys(tuple(names)) or data_like(tuple(names))):
            return None
        return self._walker.record_plan(names, value)

    def _record(self, value: dict[Any, Any], plan: _Plan, owner: Any) -> Shape:
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
        found = []
        for name, key in plan.inner:
            self._path[-1] = name
            found.append(self.visit(value[key]))
        self._path.pop()
        self._depth -= 1
        self._open.pop()
        return plan.of(tuple(found))

    def _map(self, value: dict[Any, Any]) -> Shape:
        if self._closed(value):
            return UNKNOWN
        looked_at = list(islice(dict.values(value), self._limits.elements))
        return Map(self._members(value, looked_at, dict.__len__(value), VALUES))

    def _array(self, owner: Any, items: Iterable[Any], total: int) -> Shape:
        if self._closed(owner):
            return UNKNOWN
        looked_at = list(islice(items, self._limits.elements))
        kinds = frozenset(map(type, looked_at))
        flat = self._walker.flat.get(kinds)
        if flat is not None and len(looked_at) == total:
            self.left -= total
            return flat
        shape = self._walker.array(self._members(owner, looked_at, total, ITEMS))
        if kinds <= SCALARS.keys() and len(kinds) <= self._limits.shapes:
            if len(self._walker.flat) >= _MOST_ARRAYS:
                self._walker.flat.clear()
            self._walker.flat[kinds] = shape
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
        found = set(map(SCALARS.get, set(map(type, members))))
        if None in found:
            return None
        self.left -= len(members)
        return cast("set[Shape]", found)

    def _each(self, members: list[Any]) -> set[Shape]:
        found: set[Shape] = set()
        plans = None if self._told or self._depth >= self._limits.depth else self._plans
        for index, member in enumerate(members):
            if self.left <= 0:
                self._cut("nodes", index, len(members))
                found.add(UNKNOWN)
                break
            self.left -= 1
            if plans is not None and type(member) is dict:
                plan = plans.get((tuple(member), tuple(map(type, member.values()))))
                if plan is not None:
                    if plan.shape is None or self.left <= 0:
                        found.add(self._record(member, plan, member))
                    else:
                        self.left -= plan.size
                        found.add(plan.shape)
                    continue
            found.add(self.visit(member))
        return found


_default = Walker()


def shape_of(
    value: object,
    limits: Limits = DEFAULT_LIMITS,
    *,
    maps: Sequence[str] = (),
    records: Sequence[str] = (),
    unwrap: str = "none",
) -> Observation:
    """Reduce a value to its shape, fingerprint and truncations.

    ``maps`` and ``records`` are globs of paths whose objects are (are not) maps. ``unwrap="auto"`` looks through
    envelopes: JSON text, MCP results, framework messages. Raises ConfigurationError for a bad setting, and nothing
    for a value, however large, deep or cyclic.
    """
    if limits is DEFAULT_LIMITS and not maps and not records:
        return _default.observe(value, unwrap)
    return Walker(limits, maps, records).observe(value, unwrap)


def fingerprint(value: object) -> str:
    """SHA-256 (64 hex digits) of the shape of ``value``, taken as it is: nothing is unwrapped.

    For plain JSON within the limits and without maps it is
    ``sha256(json.dumps(normal_form, sort_keys=True, separators=(",", ":")))``; see ``docs/fingerprint.md``.
    """
    return _default.observe(value).fingerprint
