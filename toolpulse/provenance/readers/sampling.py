"""Whether a span says that only some of what happened was written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SHARES: Final = ("sampling.rate", "sampling.ratio", "sampling.probability", "sample_rate", "sampler.param")
"""Attributes that give the kept share of all traces, 1 being all of them. ``sampler.param`` is Jaeger's."""


def is_sampled(attributes: Mapping[str, Any], state: str = "") -> bool:
    """Whether a span's attributes, or its W3C trace ``state``, say that some of what happened was left out.

    Signs are ``fingerprint.sampled``, a share below one, Honeycomb's ``SampleRate`` (one in how many), and a threshold
    or p-value in the trace state (OpenTelemetry's consistent probability sampling). W3C's flag ``sampled`` is none:
    every span that is exported has it.
    """
    if str(attributes.get("fingerprint.sampled", attributes.get("sampled", ""))).lower() == "true":
        return True
    shares = [number for name in _SHARES if (number := _float(attributes.get(name))) is not None]
    one_in = _float(attributes.get("SampleRate"))
    if any(0 <= share < 1 for share in shares) or (one_in is not None and one_in > 1):
        return True
    return _has_threshold(state)


def _has_threshold(state: str) -> bool:
    """OpenTelemetry's part of the state is ``ot=key:value;key:value``; ``th:0`` and ``p:0`` mean that all is kept."""
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
