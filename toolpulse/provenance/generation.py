"""Fingerprints of a call to a model, set when its span starts: of what it was given, never of what it returned."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, AnyStr, Final

from toolpulse._base.canonical import digest, digest_of, load_exact, plain
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance import attributes as names
from toolpulse.provenance._schemas import whole_numbers
from toolpulse.provenance.prompt import typed_parameters
from toolpulse.provenance.tools import tools_fingerprint

SCHEMA: Final = 1
LENGTH: Final = 16
"""Hex digits of the hashes on a span."""

SOURCES: Final = ("request", "config", "absent")
"""Where the model's name comes from: it was sent, it was declared afterwards, it is not known."""

_BOM: Final = b"\xef\xbb\xbf"


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
    model = _model(model)
    source = _source(model, model_source)
    found: dict[str, str | float] = {names.SCHEMA: SCHEMA, names.MODEL_SOURCE: source}
    found[names.MISSING_MODEL] = "false" if model else "true"
    if model:
        found[names.MODEL] = model
    degrees = read_temperature(temperature)
    if degrees is not None:
        found[names.TEMPERATURE] = degrees
    found |= content_hashes(system, user, tools, key=key)
    if params is not None:
        found[names.PARAMS_HASH] = digest_of(_parameters(params), length=LENGTH, key=key)
    if key is not None:
        found[names.KEY_ID] = digest(b"toolpulse", length=8, key=key)
    found[names.TUPLE] = tuple_hash(found)
    found |= {k: v for k, v in ((names.GENERATION_ID, generation_id), (names.MANIFEST_ID, manifest_id)) if v}
    return found


def content_hashes(
    system: object, user: object, tools: Sequence[Any] | None, *, key: bytes | str | None = None
) -> dict[str, str | float]:
    """The hashes of what was said and of the tools, and how much of the tools was there to be hashed.

    A hash is of complete content or not given: without the schemas there is none of the tools, nor of the prompt.
    """
    found: dict[str, str | float] = {names.COVERAGE: coverage(tools)}
    found[names.TEXT_HASH] = digest_of({"system": system, "user": user}, length=LENGTH, key=key)
    if tools is None or found[names.COVERAGE] != "full":
        return found
    definitions = whole_numbers(plain(list(tools)))
    whole = {"system": system, "user": user, "tools": definitions}
    found[names.PROMPT_HASH] = digest_of(whole, length=LENGTH, key=key)
    found[names.TOOLS_HASH] = digest_of(definitions, length=LENGTH, key=key)
    found |= _digests(definitions, key)
    return found


def coverage(tools: Sequence[Any] | None) -> str:
    """How much of the tools is known: ``full``, ``names`` (a definition has no schema), ``none`` (no definitions).

    A definition whose ``parameters`` are null has none; one without them was not written down whole. A tool of the
    provider's own (any ``type`` but ``function`` and ``custom``) has no schema to write down.
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


def _digests(definitions: list[Any], key: bytes | str | None) -> dict[str, str | float]:
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


def _short(found: str, key: bytes | str | None) -> str:
    return found[:LENGTH] if key is None else digest(found.encode(), length=LENGTH, key=key)


def tuple_hash(found: Mapping[str, Any]) -> str:
    """The digest of the five attributes that identify a call, with the temperature as text; absent ones stay out."""
    five = {name: found[name] for name in names.TUPLE_OF if found.get(name) is not None}
    if names.TEMPERATURE in five:
        five[names.TEMPERATURE] = str(read_temperature(five[names.TEMPERATURE]))
    return digest_of(five, length=LENGTH)


def read_temperature(value: object) -> float | None:
    """A temperature as a float, from a number or from text: ``0``, ``"0"`` and ``0.0`` are one.

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
    return degrees or 0.0


def _parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    if "temperature" in params:
        raise ConfigurationError("params: temperature is an argument of its own")
    return typed_parameters(params)


def _model(model: object) -> str | None:
    if model is not None and not isinstance(model, str):
        raise ConfigurationError(f"model must be text, not {type(model).__name__}")
    return model if model and model.strip() else None


def _source(model: str | None, source: str | None) -> str:
    if source is None:
        return "request" if model else "absent"
    if source not in SOURCES:
        raise ConfigurationError(f"model_source must be one of {', '.join(SOURCES)}, not {source!r}")
    if (source == "absent") == bool(model):
        raise ConfigurationError(f"model_source is {source!r} and the model is {'given' if model else 'not given'}")
    return source


def completion_event(generation_id: str, completion: object, *, key: bytes | str | None = None) -> dict[str, str]:
    """The span event that carries the hash of what a model answered: a child of the generation, never on it.

    Text is hashed as UTF-8 text, anything else as a canonical document. Raises CanonicalError where it is no JSON.
    """
    if isinstance(completion, str):
        found = digest(completion.encode("utf-8", "surrogatepass"), length=LENGTH, key=key)
    else:
        found = digest_of(completion, length=LENGTH, key=key)
    return {
        "kind": "event",
        "name": "completion",
        names.GENERATION_ID: generation_id,
        names.COMPLETION_HASH: found,
    }


def stamp_model(lines: Iterable[AnyStr], declared: str) -> Iterator[AnyStr]:
    """The lines of a trace, with the declared model on each generation that names none.

    Such a line says afterwards that its model comes from configuration, and its tuple is computed anew; every other
    line is passed on as it is. No field of a response is read. Raises ConfigurationError at once where ``declared`` is
    blank, and while iterating InputError, the line's number in front, where one is no JSON.
    """
    model = _model(declared)
    if model is None:
        raise ConfigurationError("model: none is declared")
    return (_stamped(line, number, model) for number, line in enumerate(lines, 1))


def _stamped(line: AnyStr, number: int, model: str) -> AnyStr:
    text = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
    body = text.removeprefix(_BOM) if number == 1 else text
    if not body.strip():
        return line
    try:
        span = load_exact(body)
    except InputError as error:
        raise InputError(f"line {number}: {getattr(error, 'reason', error)}") from None
    if not isinstance(span, dict) or span.get("kind") != "generation":
        return line
    if _names_model(span, number):
        return line
    span |= {names.MODEL: model, names.MISSING_MODEL: "false", names.MODEL_SOURCE: "config"}
    if names.TUPLE in span or names.PROMPT_HASH in span:
        span[names.TUPLE] = _retupled(span, number)
    end = text[len(text.rstrip(b"\r\n")) :]
    done = json.dumps(span, ensure_ascii=False, separators=(",", ":")).encode() + end
    return done if isinstance(line, bytes) else done.decode()


def _retupled(span: dict[str, Any], number: int) -> str:
    try:
        return tuple_hash(span)
    except ConfigurationError as error:
        raise InputError(f"line {number}: {names.TEMPERATURE}: {error}") from None


def _names_model(span: Mapping[str, Any], number: int) -> bool:
    try:
        return _model(span.get(names.MODEL)) is not None
    except ConfigurationError as error:
        raise InputError(f"line {number}: {names.MODEL}: {error}") from None
