"""Which kind a Python value is, by its type: one table for scalars, one for types whose parts must be read.

Nothing here calls a property, a ``__getattr__`` or an iterator of a response: fields are read from ``__dict__``
and slots, by the names the class declares. Classes are asked past their metaclass, which is the response's as well,
and told apart by identity: only a class that is made by ``type`` itself may be hashed.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from toolpulse._base.classes import attribute, field, module, mro, own_dict, package, qualname, with_text_keys
from toolpulse.errors import ConfigurationError
from toolpulse.shape.nodes import Scalar

Reader: TypeAlias = Callable[[Any], Any]
"""Gives the value to look at in place of an object: a dict, a list, a scalar, or another readable object."""

Reading: TypeAlias = Scalar | type | Reader

# Order matters: bool before int, datetime before date.
_SCALARS: Final[tuple[tuple[type, str], ...]] = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (bytes, "bytes"),
    (bytearray, "bytes"),
    (memoryview, "bytes"),
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
    (datetime.time, "time"),
    (datetime.timedelta, "duration"),
    (decimal.Decimal, "decimal"),
    (uuid.UUID, "uuid"),
    (pathlib.PurePath, "path"),
    (complex, "complex"),
)
_NUMPY_KINDS: Final = {
    "b": "boolean",
    "i": "integer",
    "u": "integer",
    "f": "number",
    "c": "complex",
    "U": "string",
    "S": "bytes",
    "M": "datetime",
    "m": "duration",
}
CONTAINERS: Final[tuple[type, ...]] = (dict, list, tuple, deque, set, frozenset)
"""The builtin containers, in the order in which a subclass is taken for one of them."""

# Types are few; the bound is against programs that make classes at run time.
_MOST_TYPES = 4096

SCALARS: Final[dict[type, Scalar]] = {}
"""Types whose every value is one scalar kind, made by ``type`` itself. Filled as types are met."""

_MOST_EXTRAS = 4096
"""Fields beside the declared ones that are copied to be read."""
_LONGEST_TYPE_NAME = 256
_FIELD: Final = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001 - no public name tells it apart

_readings: dict[int, tuple[type, Reading]] = {}
"""How values of other types are looked at, by the type's id; the type beside it keeps the id its own."""
_registered: dict[int, tuple[type, Reader]] = {}

generation = 0
"""Counts registrations: what was derived from the tables above before the last one is stale."""


def register(type_: type, function: Reader) -> None:
    """Say how responses of ``type_`` and its subclasses are read.

    ``function`` takes the object and returns what to look at instead (a dict, a list, a scalar, a dataclass ...).
    It runs in the caller's thread and must neither change nor consume the object.
    Where it raises, the object counts as not looked at, and a truncation says so.
    Raises ConfigurationError where ``type_`` is no class, is ``dict`` or ``list`` itself, or ``function`` not callable.
    """
    global generation  # noqa: PLW0603 - one table for the process
    if not isinstance(type_, type):
        raise ConfigurationError(f"register: type must be a class, not {type(type_).__name__}")
    if not callable(function):
        raise ConfigurationError(f"register: function must be callable, not {type(function).__name__}")
    if type_ is dict or type_ is list:
        raise ConfigurationError(f"register: {type_.__name__} is read as it is; register a subclass of it")
    _registered[id(type_)] = (type_, function)
    _forget()
    generation += 1


def resolve(value: object) -> Reading:
    """How to look at ``value``: its scalar shape, the builtin container it is one of, or a reader of its parts."""
    kind = type(value)
    scalar = SCALARS.get(kind) if type(kind) is type else None
    if scalar is not None:
        return scalar
    known = _readings.get(id(kind))
    if known is not None:
        return known[1]
    if len(SCALARS) + len(_readings) > _MOST_TYPES:
        _forget()
    found = _find(kind, value)
    if isinstance(found, Scalar) and type(kind) is type:
        SCALARS[kind] = found
    else:
        _readings[id(kind)] = (kind, found)
    return found


def _find(kind: type, value: object) -> Reading:
    for base in mro(kind):
        if id(base) in _registered:
            return _registered[id(base)][1]
    if issubclass(kind, enum.Enum) and not issubclass(kind, int | str | float | bytes):
        return _enum_value
    for matches, reader in _OBJECT_READERS:
        if matches(kind):
            return reader(kind)
    for container in CONTAINERS:
        if issubclass(kind, container):
            return container
    for base, name in _SCALARS:
        if issubclass(kind, base):
            return Scalar(name)
    return Scalar(_numpy_kind(kind, value) or other_kind(kind))


def other_kind(kind: type) -> str:
    """The kind of values of a type that nothing here knows; of bounded length."""
    name = f"{module(kind)}.{qualname(kind)}".encode("utf-8", "replace").decode()
    return "other:" + (name if len(name) <= _LONGEST_TYPE_NAME else name[: _LONGEST_TYPE_NAME - 3] + "...")


def _numpy_kind(kind: type, value: Any) -> str | None:
    if package(kind) != "numpy" or attribute(kind, "__len__") is not None:
        return None
    letter = field(field(value, "dtype"), "kind")
    return _NUMPY_KINDS.get(letter) if type(letter) is str else None


def _enum_value(value: Any) -> Any:
    return own_dict(value).get("_value_")


def _fields_reader(names: Callable[[type], tuple[str, ...]]) -> Callable[[type], Reader]:
    """A reader of declared fields: from the instance's ``__dict__``, else its slot, else the class's own default."""

    def for_type(kind: type) -> Reader:
        declared = names(kind)
        standing = {name: attribute(kind, name) for name in declared}
        slots = {name: found for name, found in standing.items() if type(found) is types.MemberDescriptorType}
        defaults = {
            name: found
            for name, found in standing.items()
            if found is not None and attribute(type(found), "__get__") is None
        }

        def read(value: Any) -> dict[str, Any]:
            own = own_dict(value)
            found: dict[str, Any] = {}
            for name in declared:
                if name in own:
                    found[name] = own[name]
                elif name in slots:
                    try:
                        found[name] = slots[name].__get__(value, kind)
                    except AttributeError:  # declared, but never set
                        continue
                elif name in defaults:
                    found[name] = defaults[name]
            return found

        return read

    return for_type


def _dataclass_fields(kind: type) -> tuple[str, ...]:
    declared = attribute(kind, "__dataclass_fields__")
    fields = tuple(dict.values(declared)) if issubclass(type(declared), dict) else ()
    # ClassVar and InitVar stand there too, marked
    return _texts(one.name for one in fields if type(one) is dataclasses.Field and one._field_type is _FIELD)  # type: ignore[attr-defined]  # noqa: SLF001


def _attrs_fields(kind: type) -> tuple[str, ...]:
    declared = attribute(kind, "__attrs_attrs__")
    return _texts(field(one, "name") for one in tuple.__iter__(declared)) if issubclass(type(declared), tuple) else ()


def _struct_fields(kind: type) -> tuple[str, ...]:
    declared = field(kind, "__struct_fields__")
    return _texts(declared) if type(declared) is tuple else ()


def _texts(names: Iterable[Any]) -> tuple[str, ...]:
    """Those of the names that are plain text; what else stands there is no field of a library that we know."""
    return tuple(name for name in names if type(name) is str)


def _pydantic(kind: type) -> Reader:
    tables = (attribute(kind, name) for name in ("__pydantic_fields__", "model_fields", "__fields__"))
    table = next((table for table in tables if issubclass(type(table), dict)), None)
    declared = () if table is None else _texts(dict.keys(table))
    names = frozenset(declared)
    extras = attribute(kind, "__pydantic_extra__")

    def read(value: Any) -> dict[str, Any]:
        own = own_dict(value)
        found = {name: own[name] for name in declared if name in own}
        # version 2 keeps extra fields apart, version 1 among the others
        extra = extras.__get__(value, kind) if type(extras) is types.MemberDescriptorType else own
        if type(extra) is dict and len(extra) > _MOST_EXTRAS:
            return extra  # so many are data, and the first of them are all that is looked at
        if type(extra) is dict:
            found.update((name, item) for name, item in with_text_keys(extra).items() if name not in names)
        return found

    return read


def _is_pydantic(kind: type) -> bool:
    return any(qualname(base) == "BaseModel" and package(base) == "pydantic" for base in mro(kind))


def _is_namedtuple(kind: type) -> bool:
    names = attribute(kind, "_fields")
    return issubclass(kind, tuple) and type(names) is tuple and len(_texts(names)) == len(names)


def _namedtuple(kind: type) -> Reader:
    names: tuple[str, ...] = attribute(kind, "_fields")
    return lambda value: dict(zip(names, tuple.__iter__(value), strict=False))


# A row a family of types: how to recognise it, and what reads its declared fields.
_OBJECT_READERS: Final[tuple[tuple[Callable[[type], bool], Callable[[type], Reader]], ...]] = (
    (_is_pydantic, _pydantic),
    (lambda kind: attribute(kind, "__dataclass_fields__") is not None, _fields_reader(_dataclass_fields)),
    (lambda kind: attribute(kind, "__attrs_attrs__") is not None, _fields_reader(_attrs_fields)),
    (lambda kind: attribute(type(kind), "__struct_fields__") is not None, _fields_reader(_struct_fields)),
    (_is_namedtuple, _namedtuple),
)


def _forget() -> None:
    """Start over with the types every program uses; what a registration or the bound made stale goes."""
    SCALARS.clear()
    _readings.clear()
    SCALARS.update((kind, Scalar(name)) for kind, name in _SCALARS if id(kind) not in _registered)


_forget()
