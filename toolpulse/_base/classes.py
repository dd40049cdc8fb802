"""Classes asked past their metaclass: what a class says of itself is an answer of its author's code.

A response's class is the response's as well, and its metaclass may answer any question with a lie, an error or a wait.
What is read here is read by the interpreter's own descriptors, which run no code of the class. ``kind is other`` and
``issubclass(kind, builtin)`` are safe in the same way; hashing or comparing a class, ``hasattr``, ``isinstance`` and
``kind.__name__`` are not, unless the class's own class is ``type`` itself.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final

LONGEST_NAME: Final = 256
"""Characters of a class's name that are told: programs make names, too."""

mro: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
class_dict: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
_module: Final[Callable[[type], Any]] = type.__dict__["__module__"].__get__
_name: Final[Callable[[type], str]] = type.__dict__["__name__"].__get__
_qualname: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__
_exact: Final[Callable[[str], str]] = str.__str__  # of a subclass of str the text it holds

_FROM_C: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)


def name(kind: type) -> str:
    """Its name, as plain text."""
    return _exact(_name(kind))


def qualname(kind: type) -> str:
    """Its qualified name, as plain text of bounded length."""
    found = _exact(_qualname(kind))
    return found if len(found) <= LONGEST_NAME else found[: LONGEST_NAME - 3] + "..."


def module(kind: type) -> str:
    """The module it says it is from; ``?`` where that is no text."""
    found = _module(kind)
    return found if type(found) is str else "?"


def package(kind: type) -> str:
    """The first part of its module."""
    return module(kind).partition(".")[0]


def attribute(kind: type, key: str) -> Any:
    """What a class or one of its bases has under a name, as it stands there; None where nothing does."""
    for base in mro(kind):
        found = class_dict(base)
        if key in found:
            return found[key]
    return None


def has_own_access(kind: type) -> bool:
    """Whether a class says in Python how attributes of its instances are looked up, so that each look runs its code."""
    return type(attribute(kind, "__getattribute__")) is not types.WrapperDescriptorType


def field(value: object, key: str) -> Any:
    """What a slot or a field made in C holds of an object; None where there is none. No property is run."""
    kind = type(value)
    found = attribute(kind, key)
    return found.__get__(value, kind) if type(found) in _FROM_C else None


def own_dict(value: object) -> dict[str, Any]:
    """An instance's ``__dict__``, by the interpreter's own descriptor; empty where it has none."""
    for base in mro(type(value)):
        found = class_dict(base).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            own = found.__get__(value)
            return with_text_keys(own) if type(own) is dict else {}
    return {}


def with_text_keys(held: dict[Any, Any]) -> dict[str, Any]:
    """The dict itself where all its keys are plain text, else a new one of those that are; of a subclass a new dict.

    A look-up asks keys of the same hash whether they are equal, and a key that is no plain ``str`` answers by its own
    code.
    """
    if type(held) is dict:
        for key in tuple(held):
            if type(key) is not str:
                break
        else:
            return held
    return {key: value for key, value in tuple(dict.items(held)) if type(key) is str}
