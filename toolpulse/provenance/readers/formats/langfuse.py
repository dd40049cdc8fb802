"""Traces downloaded from Langfuse: ``{"trace": {...}, "observations": [...]}``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.readers.captured import sampling_parameters
from toolpulse.provenance.readers.records import Generation, ToolCall, Trace, in_order
from toolpulse.provenance.readers.sampling import is_sampled
from toolpulse.provenance.readers.spans import genai, openinference
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.values import (
    nanoseconds,
    object_or_empty,
    required_object,
    structure,
    structure_or_text,
    text_or_none,
)

NAME: Final = "langfuse"

_NAMES: Final = {"choice.count": "n"}
"""Parameters that Langfuse names otherwise, and their names here."""


def recognizes(document: object) -> bool:
    """Whether a document may be in this format."""
    return isinstance(document, dict) and isinstance(document.get("observations"), list)


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in a download, ordered by the times of the observations. Raises InputError naming the location."""
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    sampled = False
    for location, document in documents:
        observations = required_object(document, location, "a trace").get("observations")
        if not isinstance(observations, list):
            raise InputError(f"{location}: observations must be an array")
        for index, one in enumerate(observations):
            where = f"{location} observation {index + 1}"
            observation = required_object(one, where, "an observation")
            attributes = _attributes(observation)
            sampled = sampled or is_sampled(attributes)
            if observation.get("type") == "GENERATION":
                generations.append(_generation(where, observation, attributes))
            elif observation.get("type") == "TOOL":
                calls.append(_tool_call(where, observation, attributes))
    return Trace(
        file=file,
        format=NAME,
        generations=tuple(in_order(generations)),
        tool_calls=tuple(in_order(calls)),
        sampled=sampled,
    )


def _attributes(observation: dict[str, Any]) -> dict[str, Any]:
    """A copy of the attributes of the span that Langfuse was sent; metadata may be JSON text."""
    metadata = structure(observation.get("metadata"))
    return dict(object_or_empty(structure(metadata.get("attributes")))) if isinstance(metadata, dict) else {}


def _generation(location: str, observation: dict[str, Any], attributes: dict[str, Any]) -> Generation:
    started = nanoseconds(observation.get("startTime"))
    if openinference.is_openinference(attributes):
        as_span = attributes | {openinference.KIND: "LLM"}
        record = openinference.read(Span(location=location, attributes=as_span, started=started))
    else:
        as_span = {names.INPUT: _messages(observation.get("input"))} | attributes | {names.OPERATION: "chat"}
        record = genai.read(Span(location=location, attributes=as_span, started=started))
    if not isinstance(record, Generation):
        raise InputError(f"{location}: not a generation")
    return _completed(location, record, observation)


def _messages(value: Any) -> Any:
    """The messages of an observation's input, which is a list, or a request that holds one, or one text."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        system = value.get("system")
        first = [{"role": "system", "content": system}] if system else []
        return [*first, *value["messages"]]
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def _completed(location: str, record: Generation, observation: dict[str, Any]) -> Generation:
    """The generation with what Langfuse has in columns of its own, where the span did not say it."""
    fingerprint, unverified, params = dict(record.fingerprint), set(record.unverified), dict(record.params or {})
    model = text_or_none(observation.get("model"))
    if names.MODEL not in fingerprint and model:
        fingerprint |= {names.MODEL: model, names.MISSING_MODEL: "false", names.MODEL_SOURCE: "request"}
        unverified.add("model (Langfuse keeps one; it may be the model that answered)")
    given = object_or_empty(structure(observation.get("modelParameters")))
    known = sampling_parameters(location, {_NAMES.get(str(k), str(k)): v for k, v in given.items()})
    degrees = known.pop("temperature", None)
    if degrees is not None:
        fingerprint.setdefault(names.TEMPERATURE, degrees)
        if fingerprint[names.TEMPERATURE] != degrees:
            unverified.add("temperature (two are recorded)")
    fingerprint.pop(names.TUPLE, None)
    return msgspec.structs.replace(
        record,
        fingerprint=fingerprint,
        params=(known | params) or None,
        unverified=tuple(sorted(unverified)),
    )


def _tool_call(location: str, observation: dict[str, Any], attributes: dict[str, Any]) -> ToolCall:
    name = text_or_none(attributes.get(names.TOOL_NAME)) or text_or_none(observation.get("name"))
    if name is None:
        raise InputError(f"{location}: name must be text")
    return ToolCall(
        location=location,
        name=name,
        arguments=structure_or_text(observation.get("input", msgspec.UNSET)),
        result=structure_or_text(observation.get("output", msgspec.UNSET)),
        failed=observation.get("level") == "ERROR",
        started=nanoseconds(observation.get("startTime")),
    )
