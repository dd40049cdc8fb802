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

from toolpulse._base.canonical import digest, escape
from toolpulse.shape.kind_table import SCALAR_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

S = TypeVar("S", bound="Shape")

_lock = threading.RLock()  # a finalizer may run inside, and observe
_interned: weakref.WeakValueDictionary[tuple[Any, ...], Shape] = weakref.WeakValueDictionary()


_OF_A_CONTAINER: Final = 24
_OF_A_FIELD: Final = 1
_CHARACTERS_A_UNIT: Final = 64
_LONGEST_ESCAPE: Final = 12  # of a character beyond U+FFFF: two surrogates


def name_work(names: Iterable[str]) -> int:
    """What it takes to write, compare and hash these names, in the units of ``Shape.work``."""
    characters = 0
    for name in names:
        plain = name.isascii() and name.isprintable()
        characters += len(name) if plain else _LONGEST_ESCAPE * len(name)
    return characters // _CHARACTERS_A_UNIT


class Shape:
    """What a response looks like without its values. Immutable; compare with ``is`` or ``==``, both are identity."""

    __slots__ = ("__weakref__", "_fingerprint", "_text", "size", "work")

    kind: str
    size: int
    """As many characters as ``text`` has but for escapes, known without writing it."""
    work: int
    """What it takes to meet this shape for the first time, its parts aside, in units of about a microsecond."""
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

    def _measure(self) -> int:
        return len(self.kind) + 2

    def _weigh(self) -> int:
        return 0

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
        return cls.of(names, tuple(fields[name] for name in names))

    @classmethod
    def of(cls, names: tuple[str, ...], children: tuple[Shape, ...]) -> Self:
        """The one record of these names, which are in order, and their shapes."""
        key = (cls, names, children)
        known: Any = _interned.get(key)
        if known is not None:
            found: Self = known
            return found
        return _intern(cls, key, names=names, fields=MappingProxyType(dict(zip(names, children, strict=True))))

    def _write(self) -> str:
        return "{" + ",".join(f"{escape(name)}:{child.text}" for name, child in self.fields.items()) + "}"

    def _measure(self) -> int:
        return max(2, 1 + sum([len(name) + 4 + child.size for name, child in self.fields.items()]))

    def _weigh(self) -> int:
        return _OF_A_CONTAINER + _OF_A_FIELD * len(self.names) + name_work(self.names)

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

    def _measure(self) -> int:
        return max(2, 1 + sum(1 + element.size for element in self.elements))

    def _weigh(self) -> int:
        return _OF_A_CONTAINER

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

    def _measure(self) -> int:
        return 3 + sum(1 + value.size for value in self.values)

    def _weigh(self) -> int:
        return _OF_A_CONTAINER

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
            for name, value in slots.items():
                setattr(shape, name, value)
            shape._text = shape._fingerprint = None
            shape.size = shape._measure()
            shape.work = shape._weigh()
            shape = _interned.setdefault(key, shape)
        found: S = shape
        return found


def after_fork() -> None:
    """In a child: the lock may be held by a thread that is not there."""
    global _lock  # noqa: PLW0603 - the one lock of the process
    _lock = threading.RLock()


UNKNOWN: Final[Shape] = _intern(_Unknown, (_Unknown,))
"""Not looked at: something was cut here."""

_LONGEST_SHOWN: Final = 40

_LEAVES: Final[dict[str, Shape]] = {kind: Scalar(kind) for kind in sorted(SCALAR_KINDS)} | {"unknown": UNKNOWN}
"""The kinds that have a name of their own, made once: most of what a shape consists of."""


def shape_from_normal(normal: object) -> Shape:
    """The shape whose normal form, parsed from JSON, is ``normal``. Raises ValueError where it is none."""
    if isinstance(normal, str):
        if normal in _LEAVES:
            return _LEAVES[normal]
        if normal.startswith("other:"):
            return Scalar(normal)
        raise ValueError(f"unknown kind {_shown(normal)}")
    if isinstance(normal, dict):
        names = tuple(sorted(normal))
        return Object.of(names, tuple(_from_normals([normal[name] for name in names])))
    if isinstance(normal, list):
        if normal and normal[0] == 0 and not isinstance(normal[0], bool | float):
            return Map(_from_normals(normal[1:]))
        return Array(_from_normals(normal))
    raise ValueError(f"{type(normal).__name__} stands where a shape should")


def _shown(kind: str) -> str:
    """A name out of a file, short enough for one line of a message."""
    return repr(kind if len(kind) <= _LONGEST_SHOWN else kind[:_LONGEST_SHOWN] + "...")


def _from_normals(normals: Iterable[Any]) -> list[Shape]:
    leaves = _LEAVES
    return [leaves[one] if type(one) is str and one in leaves else shape_from_normal(one) for one in normals]


def fewest(shapes: Iterable[Shape], limit: int) -> frozenset[Shape]:
    """At most ``limit`` of the shapes, the smallest by canonical bytes, plus ``UNKNOWN`` where some were left out."""
    found = frozenset(shapes)
    known = found - {UNKNOWN}
    if len(known) <= limit:
        return found
    return frozenset(sorted(known, key=lambda shape: shape.text)[:limit]) | {UNKNOWN}


def writing_work(shapes: Iterable[Shape]) -> int:
    """What it takes to write the texts of these shapes, in the units of ``Shape.work``."""
    return sum(shape.size for shape in shapes) // _CHARACTERS_A_UNIT


def is_empty(shape: Shape) -> bool:
    """Whether it is a container without members."""
    if isinstance(shape, Object):
        return not shape.names
    if isinstance(shape, Array):
        return not shape.elements
    return isinstance(shape, Map) and not shape.values
