"""Which kind a Python value is, by its type: one table for scalars, one for types whose parts must be read.

Nothing here calls a property, a ``__getattr__`` or an iterator of a response: fields are read from ``__dict__``
and slots, by the names the class declares.
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
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from toolpulse._shapes import Scalar
from toolpulse.errors import ConfigurationError

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
"""Types whose every value is one scalar kind. Filled as types are met."""

_readings: dict[type, type | Reader] = {}
_registered: dict[type, Reader] = {}


def register(type_: type, function: Reader) -> None:
    """Say how responses of ``type_`` and its subclasses are read.

    ``function`` takes the object and returns what to look at instead (a dict, a list, a scalar, a dataclass ...).
    It runs in the caller's thread and must neither change nor consume the object.
    Raises ConfigurationError where ``type_`` is no class or ``function`` not callable.
    """
    if not isinstance(type_, type):
        raise ConfigurationError(f"register: type must be a class, not {type(type_).__name__}")
    if not callable(function):
        raise ConfigurationError(f"register: function must be callable, not {type(function).__name__}")
    _registered[type_] = function
    _forget()


def resolve(value: object) -> Reading:
    """How to look at ``value``: its scalar shape, the builtin container it is one of, or a reader of its parts."""
    kind = type(value)
    known = SCALARS.get(kind) or _readings.get(kind)
    if known is not None:
        return known
    if len(SCALARS) + len(_readings) > _MOST_TYPES:
        _forget()
    found = _find(kind, value)
    if isinstance(found, Scalar):
        SCALARS[kind] = found
    else:
        _readings[kind] = found
    return found


def _find(kind: type, value: object) -> Reading:
    for base in kind.__mro__:
        if base in _registered:
            return _registered[base]
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
    return Scalar(_numpy_kind(kind, value) or f"other:{kind.__module__}.{kind.__qualname__}")


def _numpy_kind(kind: type, value: object) -> str | None:
    if kind.__module__.split(".")[0] != "numpy" or not hasattr(kind, "dtype") or hasattr(kind, "__len__"):
        return None
    return _NUMPY_KINDS.get(getattr(getattr(value, "dtype", None), "kind", ""))


def _enum_value(value: Any) -> Any:
    return value._value_


def _fields_reader(names: Callable[[type], tuple[str, ...]]) -> Callable[[type], Reader]:
    """A reader of declared fields: from the instance's ``__dict__``, else from the slot of that name."""

    def for_type(kind: type) -> Reader:
        declared = names(kind)
        slots = {name: slot for name in declared if (slot := _slot(kind, name)) is not None}

        def read(value: Any) -> dict[str, Any]:
            own = getattr(value, "__dict__", None) or {}
            found: dict[str, Any] = {}
            for name in declared:
                if name in own:
                    found[name] = own[name]
                elif name in slots:
                    try:
                        found[name] = slots[name].__get__(value, kind)
                    except AttributeError:  # declared, but never set
                        continue
            return found

        return read

    return for_type


def _slot(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        found = base.__dict__.get(name)
        if found is not None:
            return found if isinstance(found, types.MemberDescriptorType) else None
    return None


def _pydantic(kind: type) -> Reader:
    declared: tuple[str, ...] = tuple(getattr(kind, "model_fields", None) or getattr(kind, "__fields__", None) or ())
    names = frozenset(declared)

    def read(value: Any) -> dict[str, Any]:
        own = value.__dict__
        found = {name: own[name] for name in declared if name in own}
        # version 2 keeps extra fields apart, version 1 among the others
        extra = getattr(value, "__pydantic_extra__", None) if "model_fields" in dir(kind) else own
        if extra:
            found.update((name, item) for name, item in extra.items() if name not in names)
        return found

    return read


def _is_pydantic(kind: type) -> bool:
    return any(base.__module__.split(".")[0] == "pydantic" and base.__name__ == "BaseModel" for base in kind.__mro__)


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def _namedtuple(kind: type) -> Reader:
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return lambda value: dict(zip(names, tuple.__iter__(value), strict=False))


def _attrs_names(kind: Any) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in kind.__attrs_attrs__)


# A row a family of types: how to recognise it, and what reads its declared fields.
_OBJECT_READERS: Final[tuple[tuple[Callable[[type], bool], Callable[[type], Reader]], ...]] = (
    (_is_pydantic, _pydantic),
    (dataclasses.is_dataclass, _fields_reader(lambda kind: tuple(kind.__dataclass_fields__))),  # type: ignore[attr-defined]
    (lambda kind: hasattr(kind, "__attrs_attrs__"), _fields_reader(_attrs_names)),
    (lambda kind: hasattr(kind, "__struct_fields__"), _fields_reader(lambda kind: kind.__struct_fields__)),  # type: ignore[attr-defined]
    (_is_namedtuple, _namedtuple),
)


def _forget() -> None:
    """Start over with the types every program uses; what a registration or the bound made stale goes."""
    SCALARS.clear()
    _readings.clear()
    SCALARS.update((kind, Scalar(name)) for kind, name in _SCALARS if kind not in _registered)


_forget()
