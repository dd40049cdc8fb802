"""Which variant of a call this was: the value of ``key=`` for one call, as text that is fit to be stored."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from toolpulse._base.canonical import digest
from toolpulse._base.classes import own_dict, qualname
from toolpulse.errors import ConfigurationError

KeyOf: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], str]

MOST_KEYS: Final = 64
"""Variants kept apart of a tool; the rest share ``OTHER_KEY``."""

OTHER_KEY: Final = "(other)"

MOST_CHANNELS: Final = 2000
"""Tools and variants of their calls, all together, that one monitor learns; each takes 16 KB or more."""

OTHER_TOOLS: Final = "(other tools)"
"""Where calls of further ones are counted; they are neither judged nor saved."""

_LONGEST: Final = 64
_MOST_BITS: Final = 8192  # Python refuses to print much longer integers in decimal


def check_key(key: object) -> None:
    """Raise ConfigurationError where ``key`` is neither an argument's name nor callable."""
    if key is not None and not callable(key) and (not isinstance(key, str) or not key):
        raise ConfigurationError(f"key must name an argument or be callable, not {key!r}")


def key_of(key: str | Callable[..., object] | None, function: Any) -> KeyOf | None:
    """How to tell the variant of a call: by an argument's value, or by what a callable makes of the arguments.

    Raises ConfigurationError naming ``key`` where it is neither, or the function has no such argument.
    """
    if key is None:
        return None
    check_key(key)
    if callable(key):
        return lambda args, kwargs: as_text(key(*args, **kwargs))
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


def as_text(value: Any) -> str:
    """A key's value as stored text: long text becomes a digest, and of an object only its type is told."""
    kind = type(value)
    if issubclass(kind, enum.Enum) and not issubclass(kind, str | int):
        value = own_dict(value).get("_value_")  # not ``value``, which a member's class may override
        kind = type(value)
    if issubclass(kind, str):
        text = str.__str__(value)
    elif value is None or kind is bool:
        text = repr(value)
    elif issubclass(kind, int):
        text = int.__format__(value, "d" if int.bit_length(value) < _MOST_BITS else "x")
    else:
        text = qualname(kind)
    raw = text.encode("utf-8", "surrogatepass")
    # a lone surrogate cannot be written as UTF-8, and an event that holds one could not be sent
    fit = len(text) <= _LONGEST and raw.decode("utf-8", "replace") == text
    return text if fit else "sha256:" + digest(raw)[:32]
