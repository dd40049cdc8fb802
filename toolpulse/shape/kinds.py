"""Which kind a Python value is, by its type: one table for scalars, one for types whose parts must be read.

Nothing here calls a property, a ``__getattr__`` or an iterator of a response: fields are read from ``__dict__``
and slots, by the names the class declares. Classes are asked past their metaclass, which is the response's as well.
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
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

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
"""Types whose every value is one scalar kind. Filled as types are met."""

_LONGEST_TYPE_NAME = 256

_readings: dict[type, type | Reader] = {}
_registered: dict[type, Reader] = {}

generation = 0
"""Counts registrations: what was derived from the tables above before the last one is stale."""

_mro: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
_class_dict: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
_module: Final[Callable[[type], Any]] = type.__dict__["__module__"].__get__
_qualname: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__


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
    if type_ in (dict, list):
        raise ConfigurationError(f"register: {type_.__name__} is read as it is; register a subclass of it")
    _registered[type_] = function
    _forget()
    generation += 1


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
    for base in _mro(kind):
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
    return Scalar(_numpy_kind(kind, value) or other_kind(kind))


def other_kind(kind: type) -> str:
    """The kind of values of a type that nothing here knows; of bounded length."""
    name = f"{_package(kind)}.{_qualname(kind)}".encode("utf-8", "replace").decode()
    return "other:" + (name if len(name) <= _LONGEST_TYPE_NAME else name[: _LONGEST_TYPE_NAME - 3] + "...")


def _package(kind: type) -> str:
    module = _module(kind)
    return module if type(module) is str else "?"


def _numpy_kind(kind: type, value: Any) -> str | None:
    if _package(kind).split(".")[0] != "numpy" or not hasattr(kind, "dtype") or hasattr(kind, "__len__"):
        return None
    return _NUMPY_KINDS.get(getattr(getattr(value, "dtype", None), "kind", ""))


def _enum_value(value: Any) -> Any:
    return _own_dict(type(value))(value).get("_value_")


def _own_dict(kind: type) -> Callable[[Any], dict[str, Any]]:
    """What gives an instance's ``__dict__``, by the interpreter's own descriptor; empty where it has none."""
    bases = (_class_dict(base).get("__dict__") for base in _mro(kind))
    found = next((found for found in bases if type(found) is types.GetSetDescriptorType), None)

    def read(value: Any) -> dict[str, Any]:
        own = found.__get__(value) if found is not None else None
        return own if type(own) is dict else {}

    return read


def _attribute(kind: type, name: str) -> Any:
    """What a class or one of its bases has under a name, as it stands there; None where nothing does."""
    for base in _mro(kind):
        found = _class_dict(base)
        if name in found:
            return found[name]
    return None


def _fields_reader(names: Callable[[type], tuple[str, ...]]) -> Callable[[type], Reader]:
    """A reader of declared fields: from the instance's ``__dict__``, else its slot, else the class's own default."""

    def for_type(kind: type) -> Reader:
        declared = names(kind)
        own_dict = _own_dict(kind)
        standing = {name: _attribute(kind, name) for name in declared}
        slots = {name: found for name, found in standing.items() if type(found) is types.MemberDescriptorType}
        defaults = {
            name: found
            for name, found in standing.items()
            if found is not None and _attribute(type(found), "__get__") is None
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
    return tuple(field.name for field in dataclasses.fields(kind))  # neither ClassVar nor InitVar


def _attrs_fields(kind: type) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in _attribute(kind, "__attrs_attrs__"))


def _struct_fields(kind: type) -> tuple[str, ...]:
    return tuple(kind.__struct_fields__)  # type: ignore[attr-defined]


def _pydantic(kind: type) -> Reader:
    tables = (_attribute(kind, name) for name in ("__pydantic_fields__", "model_fields", "__fields__"))
    declared: tuple[str, ...] = next((tuple(table) for table in tables if isinstance(table, dict)), ())
    names = frozenset(declared)
    extras = _attribute(kind, "__pydantic_extra__")
    own_dict = _own_dict(kind)

    def read(value: Any) -> dict[str, Any]:
        own = own_dict(value)
        found = {name: own[name] for name in declared if name in own}
        # version 2 keeps extra fields apart, version 1 among the others
        extra = extras.__get__(value, kind) if type(extras) is types.MemberDescriptorType else own
        if extra:
            found.update((name, item) for name, item in extra.items() if name not in names)
        return found

    return read


def _is_pydantic(kind: type) -> bool:
    return any(_qualname(base) == "BaseModel" and _package(base).split(".")[0] == "pydantic" for base in _mro(kind))


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and type(_attribute(kind, "_fields")) is tuple


def _namedtuple(kind: type) -> Reader:
    names: tuple[str, ...] = _attribute(kind, "_fields")
    return lambda value: dict(zip(names, tuple.__iter__(value), strict=False))


# A row a family of types: how to recognise it, and what reads its declared fields.
_OBJECT_READERS: Final[tuple[tuple[Callable[[type], bool], Callable[[type], Reader]], ...]] = (
    (_is_pydantic, _pydantic),
    (lambda kind: _attribute(kind, "__dataclass_fields__") is not None, _fields_reader(_dataclass_fields)),
    (lambda kind: _attribute(kind, "__attrs_attrs__") is not None, _fields_reader(_attrs_fields)),
    (lambda kind: _attribute(type(kind), "__struct_fields__") is not None, _fields_reader(_struct_fields)),
    (_is_namedtuple, _namedtuple),
)


def _forget() -> None:
    """Start over with the types every program uses; what a registration or the bound made stale goes."""
    SCALARS.clear()
    _readings.clear()
    SCALARS.update((kind, Scalar(name)) for kind, name in _SCALARS if kind not in _registered)


_forget()
