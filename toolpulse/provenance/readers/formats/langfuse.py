"""Traces downloaded from Langfuse: ``{"trace": {...}, "observations": [...]}``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance import attributes as names
from toolpulse.provenance.readers.records import (
    Generation,
    ToolCall,
    Trace,
    loose,
    parameters,
    structured,
    text_or_none,
)
from toolpulse.provenance.readers.spans import genai, openinference
from toolpulse.provenance.readers.spans.span import Span, in_order, is_sampled, mapping, nanoseconds

NAME: Final = "langfuse"

_NAMES: Final = {"choice.count": "n"}
"""Parameters that Langfuse calls otherwise."""


def sniff(document: object) -> bool:
    """Whether a document may be one of these."""
    return isinstance(document, dict) and isinstance(document.get("observations"), list)


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in a download, observations in the order in which they started. Raises InputError naming the place."""
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    sampled = False
    for place, document in documents:
        observations = mapping(document, place, "a trace").get("observations")
        if not isinstance(observations, list):
            raise InputError(f"{place}: observations must be an array")
        for index, one in enumerate(observations):
            where = f"{place} observation {index + 1}"
            observation = mapping(one, where, "an observation")
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
    """The attributes of the span that Langfuse was sent; metadata may be JSON text."""
    metadata = structured(observation.get("metadata"))
    found = structured(metadata.get("attributes")) if isinstance(metadata, dict) else None
    return dict(found) if isinstance(found, dict) else {}


def _generation(place: str, observation: dict[str, Any], attributes: dict[str, Any]) -> Generation:
    started = nanoseconds(observation.get("startTime"))
    if openinference.is_one(attributes):
        found = openinference.read(
            Span(place=place, attributes=attributes | {openinference.KIND: "LLM"}, started=started)
        )
    else:
        attributes.setdefault(names.INPUT, _messages(observation.get("input")))
        found = genai.read(Span(place=place, attributes=attributes | {names.OPERATION: "chat"}, started=started))
    if not isinstance(found, Generation):
        raise InputError(f"{place}: not a generation")
    return _completed(place, found, observation)


def _messages(value: Any) -> Any:
    """The messages of an observation's input, which is a list, or a request that holds one, or one text."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        system = value.get("system")
        first = [{"role": "system", "content": system}] if system else []
        return [*first, *value["messages"]]
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def _completed(place: str, found: Generation, observation: dict[str, Any]) -> Generation:
    """What Langfuse has in columns of its own, where the span did not say it."""
    fingerprint, unverified, params = dict(found.fingerprint), set(found.unverified), dict(found.params or {})
    model = text_or_none(observation.get("model"))
    if names.MODEL not in fingerprint and model:
        fingerprint |= {names.MODEL: model, names.MISSING_MODEL: "false", names.MODEL_SOURCE: "request"}
        unverified.add("model (Langfuse keeps one; it may be the model that answered)")
    given = structured(observation.get("modelParameters"))
    columns = {_NAMES.get(str(k), str(k)): v for k, v in given.items()} if isinstance(given, dict) else {}
    known = parameters(place, columns)
    degrees = known.pop("temperature", None)
    if degrees is not None:
        fingerprint.setdefault(names.TEMPERATURE, degrees)
        if fingerprint[names.TEMPERATURE] != degrees:
            unverified.add("temperature (two are recorded)")
    fingerprint.pop(names.TUPLE, None)
    return msgspec.structs.replace(
        found,
        fingerprint=fingerprint,
        params=(known | params) or None,
        unverified=tuple(sorted(unverified)),
    )


def _tool_call(place: str, observation: dict[str, Any], attributes: dict[str, Any]) -> ToolCall:
    name = text_or_none(attributes.get(names.TOOL_NAME)) or text_or_none(observation.get("name"))
    if name is None:
        raise InputError(f"{place}: name must be text")
    return ToolCall(
        place=place,
        name=name,
        arguments=loose(observation.get("input", msgspec.UNSET)),
        result=loose(observation.get("output", msgspec.UNSET)),
        failed=observation.get("level") == "ERROR",
        started=nanoseconds(observation.get("startTime")),
    )
