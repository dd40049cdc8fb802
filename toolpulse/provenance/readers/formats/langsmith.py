"""Runs of LangSmith: one, an array, one a line, or the body of a batch (``{"post": [...], "patch": [...]}``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.readers.captured import CapturedCall, generation_of, sampling_parameters
from toolpulse.provenance.readers.messages import INCOMPLETE, Conversation, conversation
from toolpulse.provenance.readers.records import Generation, ToolCall, Trace, in_order
from toolpulse.provenance.readers.sampling import is_sampled
from toolpulse.provenance.readers.values import (
    list_or_empty,
    list_or_none,
    nanoseconds,
    object_or_empty,
    required_object,
    text_or_none,
)

NAME: Final = "langsmith"

_MILLISECOND: Final = 1_000_000
_NO_SAMPLING: Final = frozenset(
    {"model", "model_name", "temperature", "messages", "system", "input", "tools", "stream", "stream_options", "_type"}
)
"""Invocation parameters that are no sampling parameters, or are read elsewhere."""


def recognizes(document: object) -> bool:
    """Whether a document may be in this format."""
    if isinstance(document, list):
        return bool(document) and all(map(recognizes, document))
    if not isinstance(document, dict):
        return False
    return isinstance(document.get("run_type"), str) or any(
        isinstance(document.get(k), list) for k in ("post", "patch")
    )


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in runs, in the order in which they started. Raises InputError naming the location."""
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    sampled = False
    for location, run in _merged(documents):
        extra = object_or_empty(run.get("extra"))
        sampled = sampled or is_sampled(object_or_empty(extra.get("metadata")))
        if run.get("run_type") == "llm":
            generations.append(_generation(location, run, extra))
        elif run.get("run_type") == "tool":
            calls.append(_tool_call(location, run))
    return Trace(
        file=file,
        format=NAME,
        generations=tuple(in_order(generations)),
        tool_calls=tuple(in_order(calls)),
        sampled=sampled,
    )


def _merged(documents: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run once: what a later patch says of it replaces what was posted."""
    locations: dict[str, str] = {}
    runs: dict[str, dict[str, Any]] = {}
    for location, run in _runs(documents):
        key = str(run.get("dotted_order") or run.get("id") or location)
        locations.setdefault(key, location)
        runs[key] = runs.get(key, {}) | {k: v for k, v in run.items() if v is not None}
    for key, run in runs.items():
        yield locations[key], run


def _runs(documents: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every run with its location, those inside others too."""
    for location, document in documents:
        runs = document if isinstance(document, list) else [document]
        if isinstance(document, dict) and "run_type" not in document:
            runs = [one for name in ("post", "patch") for one in list_or_empty(document.get(name))]
        for index, one in enumerate(runs):
            where = location if len(runs) == 1 else f"{location} run {index + 1}"
            run = required_object(one, where, "a run")
            yield where, run
            yield from _runs((where, child) for child in list_or_empty(run.get("child_runs")))


def _generation(location: str, run: dict[str, Any], extra: dict[str, Any]) -> Generation:
    inputs, outputs = object_or_empty(run.get("inputs")), object_or_empty(run.get("outputs"))
    invocation, metadata = (object_or_empty(extra.get(key)) for key in ("invocation_params", "metadata"))
    request = inputs | invocation
    model = next((text for name in ("model", "model_name") if (text := text_or_none(request.get(name)))), None)
    sent = invocation or inputs
    return generation_of(
        CapturedCall(
            location=location,
            said=_said(inputs),
            tools=list_or_none(request.get("tools")),
            model=model or text_or_none(metadata.get("ls_model_name")),
            temperature=request.get("temperature", metadata.get("ls_temperature")),
            params=sampling_parameters(location, {k: v for k, v in sent.items() if k not in _NO_SAMPLING}),
            returned_model=text_or_none(outputs.get("model")),
            started=nanoseconds(run.get("start_time"), _MILLISECOND),
        )
    )


def _said(inputs: dict[str, Any]) -> Conversation:
    messages = inputs.get("messages")
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):  # LangChain sends batches
        messages = messages[0]
    if not isinstance(messages, list):
        return INCOMPLETE
    known = [_message(one) for one in messages]
    if inputs.get("system"):
        known.insert(0, {"role": "system", "content": inputs["system"]})
    return conversation(known)


_ROLES: Final = {"SystemMessage": "system", "HumanMessage": "user", "AIMessage": "assistant", "ToolMessage": "tool"}
_TYPES: Final = {"human": "user", "ai": "assistant"}


def _message(message: Any) -> Any:
    """A message in the spelling of the providers; LangChain writes constructors, or objects with a ``type``."""
    if not isinstance(message, dict) or "role" in message:
        return message
    fields = object_or_empty(message.get("kwargs")) or message
    identity = message.get("id")
    name = identity[-1] if isinstance(identity, list) and identity else None
    kind = text_or_none(fields.get("type")) or text_or_none(fields.get("role")) or ""
    role = _ROLES.get(name) if isinstance(name, str) else None
    return {"role": role or _TYPES.get(kind, kind), "content": fields.get("content")}


def _tool_call(location: str, run: dict[str, Any]) -> ToolCall:
    name = run.get("name")
    if not isinstance(name, str):
        raise InputError(f"{location}: name must be text")
    return ToolCall(
        location=location,
        name=name,
        arguments=run.get("inputs", msgspec.UNSET),
        result=run.get("outputs", msgspec.UNSET),
        failed=bool(run.get("error")),
        started=nanoseconds(run.get("start_time"), _MILLISECOND),
    )
