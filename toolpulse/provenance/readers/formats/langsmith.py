"""Runs of LangSmith: one, an array, one a line, or the body of a batch (``{"post": [...], "patch": [...]}``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.readers.records import (
    SYSTEM,
    USER,
    Generation,
    IncompleteError,
    ToolCall,
    Trace,
    generation,
    listed,
    parameters,
    spoken,
    text_or_none,
)
from toolpulse.provenance.readers.spans.span import in_order, is_sampled, mapping, nanoseconds

NAME: Final = "langsmith"

_MILLISECOND: Final = 1_000_000
_TOLD_ELSEWHERE: Final = frozenset(
    {"model", "model_name", "temperature", "messages", "system", "input", "tools", "stream", "stream_options", "_type"}
)
"""Invocation parameters that are no sampling parameters."""


def sniff(document: object) -> bool:
    """Whether a document may be one of these."""
    if isinstance(document, list):
        return bool(document) and all(map(sniff, document))
    if not isinstance(document, dict):
        return False
    return isinstance(document.get("run_type"), str) or any(
        isinstance(document.get(k), list) for k in ("post", "patch")
    )


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in runs, in the order in which they started. Raises InputError naming the place."""
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    sampled = False
    for place, run in _merged(documents):
        extra = _object(run.get("extra"))
        sampled = sampled or is_sampled(_object(extra.get("metadata")))
        if run.get("run_type") == "llm":
            generations.append(_generation(place, run, extra))
        elif run.get("run_type") == "tool":
            calls.append(_tool_call(place, run))
    return Trace(
        file=file,
        format=NAME,
        generations=tuple(in_order(generations)),
        tool_calls=tuple(in_order(calls)),
        sampled=sampled,
    )


def _merged(documents: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each run once: what a later patch says of it is laid over what was posted."""
    places: dict[str, str] = {}
    runs: dict[str, dict[str, Any]] = {}
    for place, run in _runs(documents):
        key = str(run.get("dotted_order") or run.get("id") or place)
        places.setdefault(key, place)
        runs[key] = runs.get(key, {}) | {k: v for k, v in run.items() if v is not None}
    for key, run in runs.items():
        yield places[key], run


def _runs(documents: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, document in documents:
        held = document if isinstance(document, list) else [document]
        if isinstance(document, dict) and "run_type" not in document:
            held = [one for name in ("post", "patch") for one in listed(document.get(name))]
        for index, one in enumerate(held):
            where = place if len(held) == 1 else f"{place} run {index + 1}"
            run = mapping(one, where, "a run")
            yield where, run
            yield from _runs((where, child) for child in listed(run.get("child_runs")))


def _generation(place: str, run: dict[str, Any], extra: dict[str, Any]) -> Generation:
    inputs, outputs = _object(run.get("inputs")), _object(run.get("outputs"))
    invocation, metadata = _object(extra.get("invocation_params")), _object(extra.get("metadata"))
    request = inputs | invocation
    tools = request.get("tools")
    system, user, complete = _said(inputs)
    temperature = request.get("temperature", metadata.get("ls_temperature"))
    model = next((text for name in ("model", "model_name") if (text := text_or_none(request.get(name)))), None)
    sent = invocation or inputs
    return generation(
        place,
        system=system,
        user=user,
        tools=tools if isinstance(tools, list) else None,
        model=model or text_or_none(metadata.get("ls_model_name")),
        temperature=temperature,
        params=parameters(place, {k: v for k, v in sent.items() if k not in _TOLD_ELSEWHERE}),
        complete=complete,
        returned_model=text_or_none(outputs.get("model")),
        started=nanoseconds(run.get("start_time"), _MILLISECOND),
    )


def _said(inputs: dict[str, Any]) -> tuple[object, object, bool]:
    messages = inputs.get("messages")
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):  # LangChain sends batches
        messages = messages[0]
    if not isinstance(messages, list):
        return None, None, False
    known = [_message(one) for one in messages]
    if inputs.get("system"):
        known.insert(0, {"role": "system", "content": inputs["system"]})
    try:
        system, user = spoken(known, SYSTEM), spoken(known, USER)
    except IncompleteError:
        return None, None, False
    return system, user, user is not None


_ROLES: Final = {"SystemMessage": "system", "HumanMessage": "user", "AIMessage": "assistant", "ToolMessage": "tool"}
_TYPES: Final = {"human": "user", "ai": "assistant"}


def _message(message: Any) -> Any:
    """A message in the spelling of the providers; LangChain writes constructors, or objects with a ``type``."""
    if not isinstance(message, dict) or "role" in message:
        return message
    fields = _object(message.get("kwargs")) or message
    identity = message.get("id")
    name = identity[-1] if isinstance(identity, list) and identity else None
    kind = text_or_none(fields.get("type")) or text_or_none(fields.get("role")) or ""
    role = _ROLES.get(name) if isinstance(name, str) else None
    return {"role": role or _TYPES.get(kind, kind), "content": fields.get("content")}


def _tool_call(place: str, run: dict[str, Any]) -> ToolCall:
    name = run.get("name")
    if not isinstance(name, str):
        raise InputError(f"{place}: name must be text")
    return ToolCall(
        place=place,
        name=name,
        arguments=run.get("inputs", msgspec.UNSET),
        result=run.get("outputs", msgspec.UNSET),
        failed=bool(run.get("error")),
        started=nanoseconds(run.get("start_time"), _MILLISECOND),
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
