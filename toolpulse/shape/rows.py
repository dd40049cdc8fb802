"""What a record is looked up by: its keys and the types of its values, told so that neither is asked.

To be looked up is to be hashed and compared. Plain text and types made by ``type`` itself do that by the interpreter's
code alone. Any other key does it by its own, and any other type by its metaclass's.

Whether all keys of a dict are plain text is told in one step where the interpreter knows: CPython keeps a dict of
nothing but plain text in a smaller table, as it looks such keys up by their characters alone; so its size tells. Where
that is not so, or a dict is larger than any record, its keys are looked at one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolpulse.shape.kinds import SCALARS

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolpulse.shape.nodes import Shape

Row: TypeAlias = tuple[tuple[str, ...], tuple[Any, ...], str | None]
"""A record's keys, the types of its values or their ids, and what is told of objects where it stands."""

_NO_KINDS: Final[frozenset[type]] = frozenset()
_FLOATS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# Of a name that is compared with the forms of data, hashed, or both; of a number that is written.
_OF_AN_OBJECT = 20
_ASCII_A_UNIT = 64
_OTHERS_A_UNIT = 16
_BITS_A_UNIT = 32
_MOST_BITS = 8192  # Python refuses to print much longer integers in decimal


size_of: Final = dict.__sizeof__
"""Of a ``dict`` itself; asks nothing of its keys and values."""

_MOST_KEYS: Final = 341
"""As many as the table for 256 fields, the usual limit of a record, has room for."""


class _Text(str):
    __slots__ = ()


def _sizes() -> frozenset[int]:
    """The sizes of dicts of plain text that no dict with another key has; nothing where the tables are alike."""
    plain, other = set(), set()
    text: dict[str, None] = {}
    for count in range(2 * _MOST_KEYS):
        for key in (_Text(count), count):
            mixed: dict[Any, None] = {key: None}
            mixed.update(text)
            other.add(size_of(mixed))
        text[f"a{count}"] = None
        if count < _MOST_KEYS:
            plain.add(size_of(text))
    return frozenset(plain - other)


TEXT_KEYED: Final = _sizes()
"""A dict of one of these sizes has no key but plain text."""


def has_text_keys(value: dict[Any, Any]) -> bool:
    """Whether all keys of a dict are plain text."""
    # a copy of the keys: somebody else may write to it meanwhile
    return size_of(value) in TEXT_KEYED or all(type(key) is str for key in tuple(value))


def are_names(keys: tuple[str, ...], longest: int) -> bool:
    """Whether keys are names as they stand: text of JSON's characters, none of them longer than ``longest``."""
    if all(map(str.isascii, keys)):
        return not keys or max(map(len, keys)) <= longest
    return max(map(len, keys)) <= longest and all(paired(key) == key for key in keys)


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
    return (tuple(value), hashable(tuple(map(type, value.values()))), told) if has_text_keys(value) else None


def hashable(kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Types by which something may be looked up: their ids where the metaclass of one would be asked for its hash."""
    for kind in kinds:
        if type(kind) is not type:
            return tuple(map(id, kinds))
    return kinds


def kinds_of(members: list[Any]) -> frozenset[type] | None:
    """The types of the members of an array; None where one must not be hashed, or the first is a dict or list."""
    if not members:
        return _NO_KINDS
    first = type(members[0])
    if first is dict or first is list or type(first) is not type:
        return None
    kinds = list(map(type, members))
    for kind in kinds:
        if kind is not first and type(kind) is not type:
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
        return paired(str.__str__(key))
    if key is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[key]
    if issubclass(kind, int):
        return int.__repr__(key) if int.bit_length(key) < _MOST_BITS else int.__format__(key, "x")
    if issubclass(kind, float):
        return _FLOATS.get(float.__repr__(key), float.__repr__(key))
    return None


def paired(name: str) -> str:
    """Two surrogates that JSON text would read back as one character, as that character."""
    return name if name.isascii() else name.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def scalars_of(kinds: frozenset[type]) -> set[Shape] | None:
    """The shapes of values of these types, where all of those are scalars that were met before."""
    found = set(map(SCALARS.get, kinds))
    return None if None in found else found  # type: ignore[return-value]
