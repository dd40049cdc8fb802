"""The five shapes, interned: equal shapes are one object, so equality and hashing are those of identity.

``Scalar(kind)``, ``Object(fields)``, ``Array(elements)`` with the *set* of distinct element shapes, ``Map(values)``
(an object whose keys are data) and ``UNKNOWN`` (not looked at). An empty array is an array of nothing known.
The normal form and its bytes are specified, with vectors, in ``docs/fingerprint.md``.
"""

from __future__ import annotations

import threading
import weakref
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from toolpulse.canonical import digest, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

S = TypeVar("S", bound="Shape")

_lock = threading.RLock()  # a finalizer may run inside, and observe
_interned: weakref.WeakValueDictionary[tuple[Any, ...], Shape] = weakref.WeakValueDictionary()


class Shape:
    """What a response looks like without its values. Immutable; compare with ``is`` or ``==``, both are identity."""

    __slots__ = ("__weakref__", "_fingerprint", "_text")

    kind: str
    _text: str | None
    _fingerprint: str | None

    @property
    def text(self) -> str:
        """The normal form as ASCII JSON with sorted keys and no spaces."""
        if self._text is None:
            self._text = self._write()
        return self._text

    @property
    def fingerprint(self) -> str:
        """SHA-256 of ``text``, 64 hex digits."""
        if self._fingerprint is None:
            self._fingerprint = digest(self.text.encode("ascii"))
        return self._fingerprint

    def _write(self) -> str:
        raise NotImplementedError

    def __copy__(self) -> Shape:
        return self

    def __deepcopy__(self, memo: object) -> Shape:
        return self

    def __repr__(self) -> str:
        text = self.text
        return f"<Shape {text if len(text) <= 200 else text[:200] + '...'}>"


class Scalar(Shape):
    """A value without parts: one of the JSON kinds, a Python kind, or ``other:<module.qualname>``."""

    __slots__ = ("kind",)

    def __new__(cls, kind: str) -> Self:
        """The one scalar of this kind."""
        return _intern(cls, (cls, kind), kind=kind)

    def _write(self) -> str:
        return escape(self.kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scalar, (self.kind,)


class Object(Shape):
    """A record: field names and the shape of each. ``names`` is sorted by code point."""

    __slots__ = ("fields", "names")

    kind = "object"
    fields: Mapping[str, Shape]
    names: tuple[str, ...]

    def __new__(cls, fields: Mapping[str, Shape]) -> Self:
        """The one record with these fields."""
        names = tuple(sorted(fields))
        children = tuple(fields[name] for name in names)
        mapping = MappingProxyType(dict(zip(names, children, strict=True)))
        return _intern(cls, (cls, names, children), names=names, fields=mapping)

    def _write(self) -> str:
        return "{" + ",".join(f"{escape(name)}:{child.text}" for name, child in self.fields.items()) + "}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Object, (dict(self.fields),)


class Array(Shape):
    """An array: the set of distinct shapes of its elements; empty where nothing is known of them."""

    __slots__ = ("elements",)

    kind = "array"
    elements: frozenset[Shape]

    def __new__(cls, elements: Iterable[Shape] = ()) -> Self:
        """The one array of these element shapes."""
        found = frozenset(elements)
        return _intern(cls, (cls, found), elements=found)

    def _write(self) -> str:
        return "[" + ",".join(sorted(element.text for element in self.elements)) + "]"

    def __reduce__(self) -> tuple[Any, ...]:
        return Array, (tuple(self.elements),)


class Map(Shape):
    """An object whose keys are data: the set of distinct shapes of its values."""

    __slots__ = ("values",)

    kind = "map"
    values: frozenset[Shape]

    def __new__(cls, values: Iterable[Shape] = ()) -> Self:
        """The one map of these value shapes."""
        found = frozenset(values)
        return _intern(cls, (cls, found), values=found)

    def _write(self) -> str:
        # no plain JSON shape holds a number, so the 0 in front collides with nothing
        return "[" + ",".join(["0", *sorted(value.text for value in self.values)]) + "]"

    def __reduce__(self) -> tuple[Any, ...]:
        return Map, (tuple(self.values),)


class _Unknown(Shape):
    __slots__ = ()

    kind = "unknown"

    def _write(self) -> str:
        return '"unknown"'

    def __reduce__(self) -> str:
        return "UNKNOWN"


def _intern(cls: type[S], key: tuple[Any, ...], **slots: Any) -> S:
    with _lock:
        shape: Any = _interned.get(key)
        if shape is None:
            shape = object.__new__(cls)
            for name, value in {**slots, "_text": None, "_fingerprint": None}.items():
                setattr(shape, name, value)
            shape = _interned.setdefault(key, shape)
        found: S = shape
        return found


def after_fork() -> None:
    """In a child: the lock may be held by a thread that is not there."""
    global _lock  # noqa: PLW0603 - the one lock of the process
    _lock = threading.RLock()


UNKNOWN: Final[Shape] = _intern(_Unknown, (_Unknown,))
"""Not looked at: something was cut here."""

JSON_KINDS: Final = ("null", "boolean", "integer", "number", "string")
PYTHON_KINDS: Final = ("bytes", "date", "time", "datetime", "duration", "decimal", "uuid", "path", "complex")
"""Beside these there is ``other:<module.qualname>``."""

_KNOWN_KINDS: Final = frozenset((*JSON_KINDS, *PYTHON_KINDS))


def shape_from_normal(normal: object) -> Shape:
    """The shape whose normal form, parsed from JSON, is ``normal``. Raises ValueError where it is none."""
    if isinstance(normal, str):
        if normal in _KNOWN_KINDS or normal.startswith("other:"):
            return Scalar(normal)
        if normal == "unknown":
            return UNKNOWN
        raise ValueError("a kind stands there that does not exist")
    if isinstance(normal, dict):
        return Object({name: shape_from_normal(child) for name, child in normal.items()})
    if isinstance(normal, list):
        if normal and normal[0] == 0 and not isinstance(normal[0], bool | float):
            return Map(shape_from_normal(value) for value in normal[1:])
        return Array(shape_from_normal(element) for element in normal)
    raise ValueError(f"{type(normal).__name__} stands where a shape should")


def fewest(shapes: Iterable[Shape], limit: int) -> frozenset[Shape]:
    """At most ``limit`` of the shapes, the smallest by canonical bytes, plus ``UNKNOWN`` where some were left out."""
    found = frozenset(shapes)
    known = found - {UNKNOWN}
    if len(known) <= limit:
        return found
    return frozenset(sorted(known, key=lambda shape: shape.text)[:limit]) | {UNKNOWN}


def is_empty(shape: Shape) -> bool:
    """Whether it is a container without members."""
    if isinstance(shape, Object):
        return not shape.names
    if isinstance(shape, Array):
        return not shape.elements
    return isinstance(shape, Map) and not shape.values
