"""Reading single values of a trace: JSON that was written as text, times, and values of an uncertain type."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from toolpulse._base.canonical import load_exact
from toolpulse.errors import InputError

UNFINISHED: Final = object()
"""What text is read as that begins a JSON structure and does not end it: it was cut."""


def structure(value: Any) -> Any:
    """A structure, which may have been written as JSON text; UNFINISHED where the text is no complete JSON."""
    if not isinstance(value, str):
        return value
    try:
        return load_exact(value)
    except InputError:
        return UNFINISHED


def structure_or_text(value: Any) -> Any:
    """What JSON text says; any other text, and any other value, as it is."""
    read = structure(value)
    return value if read is UNFINISHED else read


def list_or_empty(value: object) -> list[Any]:
    """The value where it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def list_or_none(value: object) -> list[Any] | None:
    """The value where it is a list, else None."""
    return value if isinstance(value, list) else None


def object_or_empty(value: object) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_or_none(value: object) -> str | None:
    """The value where it is text that is not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def required_object(value: object, location: str, what: str) -> dict[str, Any]:
    """The value where it is an object. Raises InputError that says where it is and ``what`` it should be."""
    if not isinstance(value, dict):
        raise InputError(f"{location}: {what} must be an object, not {type(value).__name__}")
    return value


_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def nanoseconds(value: object, unit: int = 1) -> int:
    """A time as nanoseconds since 1970: a number of ``unit`` nanoseconds, the same as text, or ISO 8601.

    A time without a zone is UTC. 0 where the value is no time.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    if isinstance(value, str) and not (value.isdecimal() and len(value) < 30):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        aware = moment if moment.tzinfo else moment.replace(tzinfo=_EPOCH.tzinfo)
        past = aware - _EPOCH
        return ((past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds) * 1000
    return int(value) * unit
