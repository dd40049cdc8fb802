"""Attributes by OpenInference: messages and tools are flattened, a numbered attribute for each of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.readers.records import (
    SYSTEM,
    TRUNCATED,
    USER,
    Generation,
    IncompleteError,
    ToolCall,
    generation,
    listed,
    loose,
    parameters,
    spoken,
    structured,
    text_or_none,
)
from toolpulse.provenance.readers.spans.span import Span

KIND: Final = "openinference.span.kind"

_MODEL: Final = "llm.model_name"
_TOLD_ELSEWHERE: Final = frozenset({"model", "temperature", "messages", "input", "tools", "stream", "stream_options"})
"""Invocation parameters that are no sampling parameters."""


def is_one(attributes: Mapping[str, Any]) -> bool:
    """Whether a span's attributes are of this kind."""
    return KIND in attributes


def read(span: Span) -> Generation | ToolCall | None:
    """The span as a generation or a tool call; None where it is neither. Raises InputError as ``generation`` does."""
    kind = span.attributes.get(KIND)
    if kind == "LLM":
        return _generation(span)
    return _tool_call(span) if kind == "TOOL" else None


def _generation(span: Span) -> Generation:
    found, remarks, unverified = span.attributes, {TRUNCATED} if span.dropped else set(), set()
    invocation = structured(found.get("llm.invocation_parameters"))
    if not isinstance(invocation, dict):
        remarks |= {TRUNCATED} if invocation is not None else set()
        invocation = {}
    model = text_or_none(invocation.get("model"))
    if model is None and text_or_none(found.get(_MODEL)):
        model = text_or_none(found[_MODEL])
        unverified.add(f"{_MODEL} (it may be the model that answered)")
    messages, whole = unflattened(found, "llm.input_messages.")
    tools, all_tools = unflattened(found, "llm.tools.")
    if not (whole and all_tools):
        remarks.add(TRUNCATED)
    system, user, complete = _said(messages)
    return generation(
        span.place,
        system=system,
        user=user,
        tools=_definitions(tools, remarks) if tools else _list(invocation.get("tools")),
        model=model,
        temperature=invocation.get("temperature"),
        params=parameters(span.place, {k: v for k, v in invocation.items() if k not in _TOLD_ELSEWHERE}),
        remarks=remarks,
        unverified=unverified,
        complete=complete,
        started=span.started,
    )


def _said(flat: list[dict[str, Any]]) -> tuple[object, object, bool]:
    messages = [_message(one.get("message")) for one in flat]
    try:
        system, user = spoken(messages, SYSTEM), spoken(messages, USER)
    except IncompleteError:
        return None, None, False
    return system, user, user is not None


def _message(message: object) -> object:
    """A message in the spelling of the providers; parts stand under ``contents``."""
    if not isinstance(message, dict) or "contents" not in message:
        return message
    parts = [one.get("message_content") if isinstance(one, dict) else one for one in listed(message["contents"])]
    return {"role": message.get("role"), "content": parts}


def _definitions(tools: list[dict[str, Any]], remarks: set[str]) -> list[Any]:
    found = []
    for one in tools:
        tool = one.get("tool")
        definition = structured(tool.get("json_schema")) if isinstance(tool, dict) else None
        if not isinstance(definition, dict):
            remarks.add(TRUNCATED)
        found.append(definition)
    return found


def _list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) else None


def unflattened(attributes: Mapping[str, Any], prefix: str) -> tuple[list[dict[str, Any]], bool]:
    """The list that attributes like ``prefix0.message.role`` make, by number, and whether none of it is missing."""
    rows: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(prefix):
            _put(rows, name.removeprefix(prefix).split("."), value)
    listed = _lists(rows)
    if not rows:
        return [], True
    if not isinstance(listed, list):
        return [], False
    return [one if isinstance(one, dict) else {} for one in listed], True


def _put(rows: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inner = rows.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        rows = inner
    rows.setdefault(steps[-1], value)


def _lists(value: Any) -> Any:
    """Objects whose keys are all the numbers from zero on become lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(one) for key, one in value.items()}
    numbers = sorted(int(key) for key in inner if key.isdecimal() and len(key) < 10)
    return [inner[str(n)] for n in numbers] if inner and numbers == list(range(len(inner))) else inner


def _tool_call(span: Span) -> ToolCall:
    name = span.attributes.get("tool.name")
    if not isinstance(name, str):
        raise InputError(f"{span.place}: tool.name must be text")
    return ToolCall(
        place=span.place,
        name=name,
        arguments=loose(span.attributes.get("input.value", msgspec.UNSET)),
        result=loose(span.attributes.get("output.value", msgspec.UNSET)),
        failed=span.failed,
        started=span.started,
    )
