"""Which variant of a call this was: the value of ``key=`` for one call, as text that is fit to be stored."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from toolpulse.canonical import digest
from toolpulse.errors import ConfigurationError

KeyOf: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], str]

MOST_KEYS: Final = 64
"""Variants kept apart of a tool; the rest share ``OTHER_KEY``."""

OTHER_KEY: Final = "(other)"

_LONGEST: Final = 64


def key_of(key: str | Callable[..., object] | None, function: Any) -> KeyOf | None:
    """How to tell the variant of a call: by an argument's value, or by what a callable makes of the arguments.

    Raises ConfigurationError naming ``key`` where it is neither, or the function has no such argument.
    """
    if key is None:
        return None
    if callable(key):
        return lambda args, kwargs: as_text(key(*args, **kwargs))
    if not isinstance(key, str):
        raise ConfigurationError(f"key must name an argument or be callable, not {type(key).__name__}")
    return _of_argument(key, function)


def _of_argument(name: str, function: Any) -> KeyOf:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise ConfigurationError(f"key={name!r}: the tool's arguments cannot be told; give a callable") from None
    parameters = signature.parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if name not in parameters and not takes_any:
        raise ConfigurationError(f"key={name!r}: the tool has no such argument; it has {', '.join(parameters)}")

    def of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if name in kwargs:
            return as_text(kwargs[name])
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return as_text(bound.arguments.get(name))

    return of_call


def as_text(value: object) -> str:
    """A key's value as stored text: long text becomes a digest, and of an object only its type is told."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        text = str.__str__(value)
    elif value is None or isinstance(value, bool | int):
        text = repr(value)
    else:
        text = type(value).__qualname__
    return text if len(text) <= _LONGEST else "sha256:" + digest(text.encode("utf-8", "surrogatepass"))[:32]
