"""Plans: what the walk remembers of records it has met, so that the next one costs a look-up.

A plan says the shape of a record by its keys and the types of its values, or which of its fields to descend into.
Plans do not depend on where a record stands, hold no values, and are never made for maps, whose keys are data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolpulse._base.canonical import digest
from toolpulse.shape import kinds as known_kinds
from toolpulse.shape.kinds import SCALARS, resolve
from toolpulse.shape.map_keys import DATA_LIKE, RECORD, data_keys, data_like
from toolpulse.shape.nodes import Array, Object, Scalar, Shape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from toolpulse.shape.observation import Limits

Row: TypeAlias = tuple[tuple[str, ...], tuple[Any, ...], str | None]
"""A record's keys, the types of its values or their ids, and what is told of objects where it stands."""

_NO_KINDS: Final[frozenset[type]] = frozenset()
_Cut: TypeAlias = tuple[str, int, int]
"""Which limit, how much was seen, how much there is."""


class Last:
    """A row met before, by the very keys and types that it had: most often the next one has the same."""

    __slots__ = ("misses", "row")

    def __init__(self) -> None:
        self.row: tuple[tuple[str, ...], tuple[Any, ...], Plan] | None = None
        """Keys, types and plan; one object, since threads share it."""
        self.misses = 0


class Plan:
    """What is known of a record by its keys and the types of its values."""

    __slots__ = ("children", "cut", "has_content", "inner", "kinds", "last", "names", "shape", "shapes", "size")

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
        self.last: list[Last] = [Last() for _ in self.inner]
        """The row met last in each of the inner fields: most often the next one is like it."""
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
_MOST_MISSES = 4
_MOST_SHAPES_A_PLAN = 512
_MOST_ARRAYS = 4096
_FLOATS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# Of a name that is compared with the forms of data, hashed, or both; of a number that is written.
_OF_AN_OBJECT = 8
_ASCII_A_UNIT = 128
_OTHERS_A_UNIT = 32
_BITS_A_UNIT = 64
_MOST_BITS = 8192  # Python refuses to print much longer integers in decimal


class Plans:
    """The plans of one walker, and the arrays it has met. Bounded; safe to share between threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.known: dict[Row, Plan] = {}
        """By ``row_of``."""
        self.flat: dict[frozenset[type], Shape] = {}
        """Arrays of scalars, by the types of their elements."""
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
        self.flat.clear()

    def like(self, value: dict[Any, Any], last: Last) -> Plan | None:
        """The plan of a record met before; None where there is none. Told by identity where it is like the last one."""
        if last.row is not None:
            keys, kinds, plan = last.row
            if len(value) == len(keys):
                try:
                    for (key, child), known, kind in zip(value.items(), keys, kinds, strict=False):
                        if key is not known or type(child) is not kind:
                            break
                    else:
                        last.misses = 0
                        return plan
                except RuntimeError:  # somebody else writes to it meanwhile
                    pass
        return self._looked_up(value, last)

    def _looked_up(self, value: dict[Any, Any], last: Last) -> Plan | None:
        row = row_of(value) if len(value) <= self.limits.fields else None
        plan = self.known.get(row) if row is not None else None
        if plan is not None and row is not None and last.misses < _MOST_MISSES:
            last.row = (row[0], row[1], plan)
            last.misses += 1
        return plan

    def plan(self, row: Row, value: dict[str, Any], *, plain: bool) -> Plan | None:
        """The plan of a record of this row, kept for the next one where its keys are ``plain``.

        None where it is a map by its keys.
        """
        keys, kinds, told = row
        if not plain:
            paired = {_paired(key): key for key in keys}
            return None if _is_map(paired, told) else self._make(paired, value)
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

    def keep_flat(self, kinds: frozenset[type], shape: Shape) -> None:
        """Remember the shape of arrays of scalars of these types."""
        if kinds <= SCALARS.keys() and len(kinds) <= self.limits.shapes:
            if len(self.flat) >= _MOST_ARRAYS:
                self.flat.clear()
            self.flat[kinds] = shape


def _scalar(value: object) -> Shape | None:
    found = resolve(value)
    return found if isinstance(found, Scalar) else None


def _is_map(names: Iterable[str], told: str | None) -> bool:
    if told is RECORD:
        return False
    read = tuple(names)
    return data_keys(read) or (told is DATA_LIKE and (not read or data_like(read)))


def are_names(keys: tuple[str, ...], longest: int) -> bool:
    """Whether keys are names as they stand: text of JSON's characters, none of them longer than ``longest``."""
    if all(map(str.isascii, keys)):
        return not keys or max(map(len, keys)) <= longest
    return max(map(len, keys)) <= longest and all(_paired(key) == key for key in keys)


def key_work(keys: Collection[Any]) -> int:
    """What reading these keys takes, in the units of ``Shape.work``, without reading them."""
    work = _OF_AN_OBJECT + len(keys)
    for key in keys:
        kind = type(key)
        if issubclass(kind, str):
            work += str.__len__(key) // (_ASCII_A_UNIT if str.isascii(key) else _OTHERS_A_UNIT)
        elif issubclass(kind, int):
            work += int.bit_length(key) // _BITS_A_UNIT
    return work


def row_of(value: dict[Any, Any], told: str | None = None) -> Row | None:
    """What the plan of a record is kept by; None where a key is no plain text.

    To be looked up is to be hashed and compared. Plain text and types made by ``type`` itself do that by the
    interpreter's code alone. Any other key does it by its own, and any other type by its metaclass's: such a type
    stands there by its id.
    """
    keys = tuple(value)
    for key in keys:
        if type(key) is not str:
            return None
    kinds = tuple(map(type, value.values()))
    for kind in kinds:
        if type(kind) is not type:
            return keys, tuple(map(id, kinds)), told
    return keys, kinds, told


def kinds_of(members: list[Any]) -> frozenset[type] | None:
    """The types of the members of an array; None where one of them must not be hashed, as ``row_of`` says."""
    first = type(members[0]) if members else None
    for member in members:
        if type(member) is not first:
            break
    else:
        return _NO_KINDS if first is None else frozenset((first,)) if type(first) is type else None
    kinds = list(map(type, members))
    for kind in kinds:
        if type(kind) is not type:
            return None
    return frozenset(kinds)


def by_name(value: dict[Any, Any]) -> dict[str, Any] | None:
    """What a dict holds by field names as JSON writes them; no key is hashed or compared.

    None where a key is no scalar, so that the keys must be data.
    """
    named: dict[str, Any] = {}
    for key, child in tuple(dict.items(value)):
        name = _name(key)
        if name is None:
            return None
        named[name] = child
    return named


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
