"""Spans that carry fingerprints already, from ``generation_fingerprint``: read and checked, never computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolpulse._base.files import check_schema, named
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.generation import SCHEMA, SOURCES
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import read_temperature
from toolpulse.provenance.readers.captured import sampling_parameters
from toolpulse.provenance.readers.records import PARTIAL, TRUNCATED, Generation
from toolpulse.provenance.readers.spans.span import Span

_TEXTS: Final = (
    names.PROMPT_HASH,
    names.TOOLS_HASH,
    names.TEXT_HASH,
    names.PARAMS_HASH,
    names.TUPLE,
    names.DIGESTS,
    names.KEY_ID,
    names.MODEL,
)
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    names.COVERAGE: ("full", "names", "none"),
    names.MODEL_SOURCE: SOURCES,
    names.MISSING_MODEL: ("true", "false"),
}
"""Attributes that have one of a few values."""


def is_stamped(attributes: Mapping[str, Any]) -> bool:
    """Whether a span carries a fingerprint, or a part of one."""
    return any(name in attributes for name in (names.PROMPT_HASH, names.TOOLS_HASH, names.TEXT_HASH, names.TUPLE))


def read(span: Span, attributes: Mapping[str, Any], *, coverage: str) -> Generation:
    """The generation that a stamped span is; ``attributes`` are those of the span, under their newest names.

    ``coverage`` is used where the span does not say how much of the tools its hashes cover. Raises InputError, the
    location in front, for a value that its attribute cannot have; SchemaMissing and SchemaUnsupported for its version.
    """
    try:
        _check_version(attributes.get(names.SCHEMA))
        fingerprint = _checked(attributes)
        generation_id, manifest_id = (_text(attributes, name) for name in (names.GENERATION_ID, names.MANIFEST_ID))
        manifest_id = manifest_id or _text(attributes, names.SPAN_MANIFEST_ID)
        returned = _text(attributes, names.NATIVE_RETURNED_MODEL) or _text(attributes, names.RETURNED_MODEL)
    except InputError as error:
        raise named(span.location, error) from None
    fingerprint.setdefault(names.COVERAGE, coverage)
    remarks = {PARTIAL} if attributes.get(names.PREVIOUS_RESPONSE) is not None else set()
    if span.dropped or _flag(attributes.get(names.TRUNCATED)):
        remarks.add(TRUNCATED)
    shown = {name: attributes[names.REQUEST + name] for name in names.PARAMETERS if names.REQUEST + name in attributes}
    return Generation(
        location=span.location,
        fingerprint=fingerprint,
        params=sampling_parameters(span.location, shown) or None,
        generation_id=generation_id,
        manifest_id=manifest_id,
        returned_model=returned,
        remarks=tuple(sorted(remarks)),
        started=span.started,
    )


def _check_version(version: object) -> None:
    """Spans of the recipe that was published first have no version. Some back ends keep it as text."""
    if version is not None:
        number = int(version) if isinstance(version, str) and version.isdecimal() and len(version) < 10 else version
        check_schema({"schema": number}, SCHEMA, "fingerprint")


def _checked(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the fingerprint that have a value, each of the type it must have."""
    checked: dict[str, Any] = {name: text for name in _TEXTS if (text := _text(attributes, name))}
    for name, known in _CHOICES.items():
        value = attributes.get(name)
        if value is None:
            continue
        word = str(value).lower() if isinstance(value, bool) else value
        if word not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}")
        checked[name] = word
    try:
        degrees = read_temperature(attributes.get(names.TEMPERATURE))
    except ConfigurationError as error:
        raise InputError(f"{names.TEMPERATURE}: {error}") from None
    if degrees is not None:
        checked[names.TEMPERATURE] = degrees
    return checked


def _text(attributes: Mapping[str, Any], name: str) -> str | None:
    """An attribute that must be text; None where it is missing or blank."""
    value = attributes.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, not {type(value).__name__}")
    return value if value.strip() else None


def _flag(value: object) -> bool:
    return value is True or str(value).lower() == "true"
