"""Fingerprints of a call to a model, set when its span starts: of what it was given, never of what it returned.

Pure. Called by users' programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolpulse._base.canonical import digest, digest_of
from toolpulse.errors import ConfigurationError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import LENGTH, content_hashes, coverage, read_temperature, tuple_hash
from toolpulse.provenance.model_calls.stamping import model_or_none, stamp_model
from toolpulse.provenance.prompt import typed_parameters

__all__ = [
    "LENGTH", "SCHEMA", "SOURCES", "completion_event", "content_hashes", "coverage", "generation_fingerprint",
    "read_temperature", "stamp_model", "tuple_hash",
]  # fmt: skip

SCHEMA: Final = 1
"""The version of the attributes."""

SOURCES: Final = ("request", "config", "absent")
"""Where the model's name comes from: it was sent, it was declared afterwards, it is not known."""


def generation_fingerprint(
    *,
    system: object,
    user: object,
    tools: Sequence[Any] | None,
    model: str | None,
    temperature: float | str | None,
    params: Mapping[str, Any] | None = None,
    generation_id: str | None = None,
    manifest_id: str | None = None,
    model_source: str | None = None,
    key: bytes | str | None = None,
) -> dict[str, str | float]:
    """The attributes to set on the span of a model call when it starts.

    ``system`` and ``user`` are text, or what else JSON can hold (a list of messages, None). ``tools`` are the
    definitions as they are sent: ``[]`` says that there are none, None that they are not known, and then no hash that
    covers them is given. ``temperature`` may be text and becomes a float. ``params`` are the other sampling parameters;
    None says that they are not known, ``{}`` that there are none. ``generation_id`` names the step in the agent's
    program and must be the same in the next run. ``key`` makes every hash an HMAC, so that whoever lacks it cannot
    confirm a guess of a prompt.

    Hashes have 16 hex digits. ``prompt.hash`` is of ``{system, user, tools}``, ``fingerprint.text_hash`` of the first
    two; ``fingerprint.tuple`` is of ``prompt.hash``, ``tool.schema_hash``, model, temperature (as text) and
    ``fingerprint.missing_model``, as many of them as there are. Nothing that is passed in is changed.

    Raises ConfigurationError for a temperature, a model or a source that cannot be meant, SpecError for such a
    parameter, CanonicalError where an input is no JSON.
    """
    model = model_or_none(model)
    degrees = read_temperature(temperature)
    attributes: dict[str, str | float] = {
        names.SCHEMA: SCHEMA,
        names.MODEL_SOURCE: _source(model, model_source),
        names.MISSING_MODEL: "false" if model else "true",
    }
    if model:
        attributes[names.MODEL] = model
    if degrees is not None:
        attributes[names.TEMPERATURE] = degrees
    attributes |= content_hashes(system, user, tools, key=key)
    if params is not None:
        attributes[names.PARAMS_HASH] = digest_of(_parameters(params), length=LENGTH, key=key)
    if key is not None:
        attributes[names.KEY_ID] = digest(b"toolpulse", length=8, key=key)
    attributes[names.TUPLE] = tuple_hash(attributes)
    ids = ((names.GENERATION_ID, generation_id), (names.MANIFEST_ID, manifest_id))
    return attributes | {name: value for name, value in ids if value}


def _parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    if "temperature" in params:
        raise ConfigurationError("params: temperature is an argument of its own")
    return typed_parameters(params)


def _source(model: str | None, source: str | None) -> str:
    if source is None:
        return "request" if model else "absent"
    if source not in SOURCES:
        raise ConfigurationError(f"model_source must be one of {', '.join(SOURCES)}, not {source!r}")
    if (source == "absent") == bool(model):
        raise ConfigurationError(f"model_source is {source!r} and the model is {'given' if model else 'not given'}")
    return source


def completion_event(generation_id: str, completion: object, *, key: bytes | str | None = None) -> dict[str, str]:
    """The span event that carries the hash of what a model answered: a child of the generation's span, never on it.

    Text is hashed as UTF-8 text, anything else as a canonical document. Raises CanonicalError where it is no JSON.
    """
    if isinstance(completion, str):
        answer_hash = digest(completion.encode("utf-8", "surrogatepass"), length=LENGTH, key=key)
    else:
        answer_hash = digest_of(completion, length=LENGTH, key=key)
    return {
        "kind": "event",
        "name": "completion",
        names.GENERATION_ID: generation_id,
        names.COMPLETION_HASH: answer_hash,
    }
