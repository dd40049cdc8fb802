"""Attributes by OpenInference: messages and tools are flattened, a numbered attribute for each of their fields.

``llm.input_messages.0.message.role`` is the role of the first message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.readers.captured import CapturedCall, generation_of, sampling_parameters
from toolpulse.provenance.readers.messages import conversation
from toolpulse.provenance.readers.records import TRUNCATED, Generation, ToolCall
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.values import (
    list_or_empty,
    list_or_none,
    structure,
    structure_or_text,
    text_or_none,
)

KIND: Final = "openinference.span.kind"
"""The attribute that every such span has, with ``LLM``, ``TOOL`` and others as values."""

_MODEL: Final = "llm.model_name"
_NO_SAMPLING: Final = frozenset({"model", "temperature", "messages", "input", "tools", "stream", "stream_options"})
"""Invocation parameters that are no sampling parameters, or are read elsewhere."""


def is_openinference(attributes: Mapping[str, Any]) -> bool:
    """Whether a span's attributes follow this convention."""
    return KIND in attributes


def read(span: Span) -> Generation | ToolCall | None:
    """The span as a generation or a tool call; None where it is neither. Raises InputError as ``generation_of``."""
    kind = span.attributes.get(KIND)
    if kind == "LLM":
        return _generation(span)
    return _tool_call(span) if kind == "TOOL" else None


def _generation(span: Span) -> Generation:
    attributes, remarks, unverified = span.attributes, {TRUNCATED} if span.dropped else set(), set()
    invocation = structure(attributes.get("llm.invocation_parameters"))
    if not isinstance(invocation, dict):
        remarks |= {TRUNCATED} if invocation is not None else set()
        invocation = {}
    model = text_or_none(invocation.get("model"))
    if model is None and text_or_none(attributes.get(_MODEL)):
        model = text_or_none(attributes[_MODEL])
        unverified.add(f"{_MODEL} (it may be the model that answered)")
    messages, all_messages = unflattened(attributes, "llm.input_messages.")
    tools, all_tools = unflattened(attributes, "llm.tools.")
    if not (all_messages and all_tools):
        remarks.add(TRUNCATED)
    return generation_of(
        CapturedCall(
            location=span.location,
            said=conversation(_message(one.get("message")) for one in messages),
            tools=_definitions(tools, remarks) if tools else list_or_none(invocation.get("tools")),
            model=model,
            temperature=invocation.get("temperature"),
            params=sampling_parameters(span.location, {k: v for k, v in invocation.items() if k not in _NO_SAMPLING}),
            remarks=remarks,
            unverified=unverified,
            started=span.started,
        )
    )


def _message(message: object) -> object:
    """A message in the spelling of the providers; parts stand under ``contents``."""
    if not isinstance(message, dict) or "contents" not in message:
        return message
    parts = [one.get("message_content") if isinstance(one, dict) else one for one in list_or_empty(message["contents"])]
    return {"role": message.get("role"), "content": parts}


def _definitions(tools: list[dict[str, Any]], remarks: set[str]) -> list[Any]:
    """The definitions of tools; adds to ``remarks`` where one of them is not complete."""
    definitions = []
    for one in tools:
        tool = one.get("tool")
        definition = structure(tool.get("json_schema")) if isinstance(tool, dict) else None
        if not isinstance(definition, dict):
            remarks.add(TRUNCATED)
        definitions.append(definition)
    return definitions


def unflattened(attributes: Mapping[str, Any], prefix: str) -> tuple[list[dict[str, Any]], bool]:
    """The list that attributes like ``prefix0.message.role`` make, by number, and whether none of it is missing.

    >>> unflattened({"m.0.role": "user", "m.0.content": "Hi"}, "m.")
    ([{'role': 'user', 'content': 'Hi'}], True)
    """
    rows: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(prefix):
            _put(rows, name.removeprefix(prefix).split("."), value)
    numbered = _lists(rows)
    if not rows:
        return [], True
    if not isinstance(numbered, list):
        return [], False
    return [one if isinstance(one, dict) else {} for one in numbered], True


def _put(rows: dict[str, Any], steps: list[str], value: Any) -> None:
    """Put a value where its steps lead; the first value at a place stays."""
    for step in steps[:-1]:
        inner = rows.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        rows = inner
    rows.setdefault(steps[-1], value)


def _lists(value: Any) -> Any:
    """The value with lists in place of objects whose keys are all the numbers from zero on."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(one) for key, one in value.items()}
    numbers = sorted(int(key) for key in inner if key.isdecimal() and len(key) < 10)
    return [inner[str(n)] for n in numbers] if inner and numbers == list(range(len(inner))) else inner


def _tool_call(span: Span) -> ToolCall:
    name = span.attributes.get("tool.name")
    if not isinstance(name, str):
        raise InputError(f"{span.location}: tool.name must be text")
    return ToolCall(
        location=span.location,
        name=name,
        arguments=structure_or_text(span.attributes.get("input.value", msgspec.UNSET)),
        result=structure_or_text(span.attributes.get("output.value", msgspec.UNSET)),
        failed=span.failed,
        started=span.started,
    )
