"""Plans: what the walk remembers of records it has met, so that the next one costs a look-up.

A plan says the shape of a record by its keys and the types of its values, or which of its fields to descend into.
Plans do not depend on where a record stands, hold no values, and are never made for maps, whose keys are data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolpulse._base.canonical import digest
from toolpulse.shape import kinds
from toolpulse.shape.kinds import SCALARS, resolve
from toolpulse.shape.map_keys import data_keys
from toolpulse.shape.nodes import Array, Object, Scalar, Shape

if TYPE_CHECKING:
    from toolpulse.shape.observation import Limits

Row: TypeAlias = tuple[tuple[str, ...], tuple[Any, ...]]
"""A record's keys, and the types of its values or their ids."""

_Cut: TypeAlias = tuple[str, int, int]
"""Which limit, how much was seen, how much there is."""


class Plan:
    """What is known of a record by its keys and the types of its values."""

    __slots__ = ("children", "cut", "inner", "kinds", "shape", "shapes", "size")

    def __init__(self, fields: dict[str, Shape | None], keys: dict[str, str], cut: tuple[_Cut, ...]) -> None:
        self.size = len(fields)
        self.children = fields
        self.inner = tuple((name, keys[name]) for name, shape in fields.items() if shape is None)
        self.cut = cut
        self.kinds: tuple[type, ...] = ()
        """The types that the row it is kept by names; while they are here no other type has one of their ids."""
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


class Plans:
    """The plans of one walker, and the arrays it has met. Bounded; safe to share between threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.known: dict[Row, Plan] = {}
        """By ``row_of``: keys and types of values."""
        self.flat: dict[frozenset[type], Shape] = {}
        """Arrays of scalars, by the types of their elements."""
        self._arrays: dict[frozenset[Shape], Shape] = {}
        self._generation = kinds.generation

    def refresh(self) -> None:
        """Start over where a type was registered since: what its values are may have changed."""
        if self._generation != kinds.generation:
            self._generation = kinds.generation
            self.forget()

    def forget(self) -> None:
        """Drop what is remembered; it is made again as records are met."""
        self.known.clear()
        self.flat.clear()

    def plan(self, row: Row | None, value: dict[str, Any]) -> Plan | None:
        """The plan of a record not seen before, kept for the next of its row; None where it is a map by its keys."""
        names = names_of(value)
        if data_keys(tuple(names)):
            return None
        plan = self.record_plan(names, value)
        if row is not None and not plan.cut and all(name == key for name, key in names.items()):
            plan.kinds = tuple(map(type, value.values()))
            if len(self.known) >= _MOST_PLANS:
                self.known.clear()
            self.known[row] = plan
        return plan

    def record_plan(self, names: dict[str, str], value: dict[str, Any]) -> Plan:
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
        return Plan(fields, names, tuple(cut))

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

    def keep_flat(self, kinds: frozenset[type], shape: Shape) -> None:
        """Remember the shape of arrays of scalars of these types."""
        if kinds <= SCALARS.keys() and len(kinds) <= self.limits.shapes:
            if len(self.flat) >= _MOST_ARRAYS:
                self.flat.clear()
            self.flat[kinds] = shape


def _scalar(value: object) -> Shape | None:
    found = resolve(value)
    return found if isinstance(found, Scalar) else None


def row_of(value: dict[Any, Any]) -> Row | None:
    """What the plan of a record is kept by; None where none is kept: many keys, or one that is no plain text.

    To be looked up is to be hashed and compared. Plain text and types made by ``type`` itself do that by the
    interpreter's code alone. Any other key does it by its own, and any other type by its metaclass's: such a type
    stands there by its id.
    """
    if len(value) > _LONGEST_CACHED_ROW:
        return None
    keys = tuple(value)
    for key in keys:
        if type(key) is not str:
            return None
    kinds = tuple(map(type, value.values()))
    for kind in kinds:
        if type(kind) is not type:
            return keys, tuple(map(id, kinds))
    return keys, kinds


def kinds_of(members: list[Any]) -> frozenset[type] | None:
    """The types of the members of an array; None where one of them must not be hashed, as ``row_of`` says."""
    kinds = list(map(type, members))
    for kind in kinds:
        if type(kind) is not type:
            return None
    return frozenset(kinds)


def by_name(value: dict[Any, Any]) -> dict[str, Any] | None:
    """A dict, or what a subclass of it holds, by field names as JSON writes them; no key is hashed or compared.

    None where a key is no scalar, so that the keys must be data. A dict with plain text for keys is given itself.
    """
    items = tuple(dict.items(value))
    if all(type(key) is str for key, _ in items):
        return value if type(value) is dict else dict(items)
    named: dict[str, Any] = {}
    for key, child in items:
        name = _name(key)
        if name is None:
            return None
        named[name] = child
    return named


def names_of(value: dict[str, Any]) -> dict[str, str]:
    """Field names as JSON writes them, each with its key."""
    return {_paired(key): key for key in value}


def _name(key: Any) -> str | None:
    kind = type(key)  # not isinstance, which asks the key
    if issubclass(kind, str):
        return _paired(str.__str__(key))
    if key is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[key]
    if issubclass(kind, int):
        return int.__repr__(key) if int.bit_length(key) < _MOST_BITS else int.__format__(key, "x")
    if issubclass(kind, float):
        return _FLOATS.get(float.__repr__(key), float.__repr__(key))
    return None


def _paired(name: str) -> str:
    """Two surrogates that JSON text would read back as one character, as that character."""
    return name if name.isascii() else name.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _short(name: str, limit: int) -> str:
    return name if len(name) <= limit else "sha256:" + digest(name.encode("utf-8", "surrogatepass"))[:32]
