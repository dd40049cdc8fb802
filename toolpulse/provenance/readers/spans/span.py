"""One span of OpenTelemetry, whichever exporter wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.readers.records import Generation, ToolCall

T = TypeVar("T", "Span", Generation, ToolCall)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span with its attributes as plain values."""

    place: str
    attributes: dict[str, Any]
    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    started: int = 0
    failed: bool = False
    dropped: int = 0
    """How many attributes were left out for want of room."""
    state: str = ""
    """W3C trace state."""


def in_order(found: Sequence[T]) -> list[T]:
    """By starting time, then by place in the file; the file's order alone where a time is missing."""
    return sorted(found, key=lambda one: one.started) if all(one.started for one in found) else list(found)


_SHARES: Final = ("sampling.rate", "sampling.ratio", "sampling.probability", "sample_rate", "sampler.param")
"""Attributes that give the kept share of all traces, 1 being all of them. ``sampler.param`` is Jaeger's."""


def is_sampled(attributes: dict[str, Any], state: str = "") -> bool:
    """Whether it says that some of what happened was left out.

    Signs are ``fingerprint.sampled``, a share below one, Honeycomb's ``SampleRate`` (one in how many), and a threshold
    or p-value in the trace state (OpenTelemetry's consistent probability sampling). W3C's flag ``sampled`` is none:
    it stands on everything that is exported.
    """
    if str(attributes.get("fingerprint.sampled", attributes.get("sampled", ""))).lower() == "true":
        return True
    shares = [number for name in _SHARES if (number := _float(attributes.get(name))) is not None]
    one_in = _float(attributes.get("SampleRate"))
    if any(0 <= share < 1 for share in shares) or (one_in is not None and one_in > 1):
        return True
    return _threshold(state)


def _threshold(state: str) -> bool:
    fields = [member.partition("=")[2] for member in state.split(",") if member.strip().startswith("ot=")]
    values = dict(field.split(":", 1) for one in fields for field in one.split(";") if ":" in field)
    return values.get("th", "0").strip("0") != "" or values.get("p", "0") not in {"0", ""}


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def nanoseconds(value: object, unit: int = 1) -> int:
    """A time as nanoseconds: a number (in ``unit`` nanoseconds), the same as text, or ISO 8601; 0 where it is none."""
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


def mapping(value: object, place: str, what: str) -> dict[str, Any]:
    """The value, where it is an object. Raises InputError saying what it is of."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: {what} must be an object, not {type(value).__name__}")
    return value
