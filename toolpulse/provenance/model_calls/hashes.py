"""The hashes that identify a call to a model: of what was said, of the tools, and of both with the model's settings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolpulse._base.canonical import digest, digest_of, plain
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.schemas.json_schema import whole_numbers
from toolpulse.provenance.tools import tools_fingerprint

LENGTH: Final = 16
"""Hex digits of the hashes on a span."""


def content_hashes(
    system: object, user: object, tools: Sequence[Any] | None, *, key: bytes | str | None = None
) -> dict[str, str | float]:
    """Attributes with the hashes of what was said and of the tools, and how much of the tools was there to be hashed.

    A hash is of complete content or not given: without the schemas there is none of the tools, nor of the prompt. With
    a ``key`` each is an HMAC. Raises CanonicalError where an input is no JSON.
    """
    hashes: dict[str, str | float] = {names.COVERAGE: coverage(tools)}
    hashes[names.TEXT_HASH] = digest_of({"system": system, "user": user}, length=LENGTH, key=key)
    if tools is None or hashes[names.COVERAGE] != "full":
        return hashes
    definitions = whole_numbers(plain(list(tools)))
    prompt = {"system": system, "user": user, "tools": definitions}
    hashes[names.PROMPT_HASH] = digest_of(prompt, length=LENGTH, key=key)
    hashes[names.TOOLS_HASH] = digest_of(definitions, length=LENGTH, key=key)
    return hashes | _digests_of_tools(definitions, key)


def coverage(tools: Sequence[Any] | None) -> str:
    """How much of the tools is known: ``full``, ``names`` (a definition has no schema), ``none`` (no definitions).

    A definition whose ``parameters`` are null takes nothing; one without ``parameters`` was not written down in full. A
    tool of the provider's own (any ``type`` but ``function`` and ``custom``) has no schema to write down.
    """
    if tools is None:
        return "none"
    return "full" if all(map(_is_whole, tools)) else "names"


def _is_whole(definition: object) -> bool:
    if not isinstance(definition, Mapping):
        return False
    inner = definition.get("function")
    body = inner if isinstance(inner, Mapping) else definition
    if any(word in body for word in ("parameters", "input_schema", "inputSchema")):
        return True
    return definition.get("type", "function") not in ("function", "custom")


def _digests_of_tools(definitions: list[Any], key: bytes | str | None) -> dict[str, str | float]:
    """A digest for each tool, by which a change can be named; none where two share a name or one has none."""
    try:
        known = tools_fingerprint(definitions)
    except InputError:
        return {}
    rows = [
        [name, *(_short(known["tools"][name][part], key) for part in ("contract", "description"))]
        for name in known["order"]
    ]
    return {names.DIGESTS: json.dumps(rows, ensure_ascii=False, separators=(",", ":"))}


def _short(full: str, key: bytes | str | None) -> str:
    return full[:LENGTH] if key is None else digest(full.encode(), length=LENGTH, key=key)


def tuple_hash(attributes: Mapping[str, Any]) -> str:
    """The digest of the attributes in ``TUPLE_OF`` that a call has, with the temperature as text.

    Raises ConfigurationError as ``read_temperature``.
    """
    five = {name: attributes[name] for name in names.TUPLE_OF if attributes.get(name) is not None}
    if names.TEMPERATURE in five:
        five[names.TEMPERATURE] = str(read_temperature(five[names.TEMPERATURE]))
    return digest_of(five, length=LENGTH)


def read_temperature(value: object) -> float | None:
    """A temperature as a float, from a number or from text: ``0``, ``"0"`` and ``0.0`` are the same. None stays None.

    Raises ConfigurationError where it is neither, or not finite.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigurationError(f"temperature must be a number, not {type(value).__name__}")
    try:
        degrees = float(value)
    except (ValueError, OverflowError):
        raise ConfigurationError("temperature must be a number, or one as text") from None
    if not math.isfinite(degrees):
        raise ConfigurationError("temperature must be finite")
    return degrees or 0.0  # minus zero is zero
