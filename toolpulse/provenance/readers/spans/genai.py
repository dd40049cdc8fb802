"""Spans by OpenTelemetry's GenAI conventions, their older spellings included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import coverage
from toolpulse.provenance.readers.captured import CapturedCall, generation_of, sampling_parameters
from toolpulse.provenance.readers.messages import INCOMPLETE, Conversation, conversation
from toolpulse.provenance.readers.records import PARTIAL, TRUNCATED, Generation, ToolCall
from toolpulse.provenance.readers.spans import stamped
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.values import (
    UNFINISHED,
    list_or_empty,
    list_or_none,
    structure,
    structure_or_text,
    text_or_none,
)

_OTHER: Final = frozenset(
    {"embeddings", "execute_tool", "invoke_agent", "create_agent", "invoke_workflow", "retrieval", "rerank"}
)
"""Operations that ask no model for text. An operation that is not known counts as one that does."""

_TOOL_CALL: Final = "execute_tool"


def read(span: Span) -> Generation | ToolCall | None:
    """The span as a generation or a tool call; None where it is neither. Raises InputError as ``generation_of``."""
    attributes = {names.RENAMED.get(name, name): value for name, value in span.attributes.items()}
    operation = text_or_none(attributes.get(names.OPERATION))
    if operation == _TOOL_CALL or (operation is None and names.TOOL_NAME in attributes):
        return _tool_call(span, attributes)
    if operation in _OTHER:
        return None
    if stamped.is_stamped(attributes):
        return stamped.read(span, attributes, coverage=_coverage(attributes))
    if operation in names.GENERATING or names.MODEL in attributes or names.INPUT in attributes:
        return _generation(span, attributes)
    return None


def _tool_call(span: Span, attributes: Mapping[str, Any]) -> ToolCall:
    name = attributes.get(names.TOOL_NAME)
    if not isinstance(name, str):
        raise InputError(f"{span.location}: {names.TOOL_NAME} must be text")
    arguments = attributes.get(names.TOOL_ARGUMENTS, attributes.get("tool_arguments", msgspec.UNSET))
    result = attributes.get(names.TOOL_RESULT, attributes.get("tool_response", msgspec.UNSET))
    return ToolCall(
        location=span.location,
        name=name,
        arguments=structure_or_text(arguments),
        result=structure_or_text(result),
        failed=span.failed or names.ERROR in attributes,
        started=span.started,
        manifest_id=text_or_none(attributes.get(names.SPAN_MANIFEST_ID)),
    )


def _generation(span: Span, attributes: Mapping[str, Any]) -> Generation:
    remarks = {TRUNCATED} if span.dropped else set()
    if names.PREVIOUS_RESPONSE in attributes:
        remarks.add(PARTIAL)
    said = _said(span, attributes, remarks)
    tools = _tools(attributes)
    if tools is UNFINISHED:
        remarks.add(TRUNCATED)
    shown = {name: attributes[names.REQUEST + name] for name in names.PARAMETERS if names.REQUEST + name in attributes}
    return generation_of(
        CapturedCall(
            location=span.location,
            said=said,
            tools=list_or_none(tools),
            model=text_or_none(attributes.get(names.MODEL)),
            temperature=attributes.get(names.TEMPERATURE),
            params=sampling_parameters(span.location, shown),
            remarks=remarks,
            returned_model=_returned(attributes),
            started=span.started,
        )
    )


def _said(span: Span, attributes: Mapping[str, Any], remarks: set[str]) -> Conversation:
    """What system and user said; adds to ``remarks`` why that is not all of it."""
    messages = structure(attributes.get(names.INPUT, _messages_of_events(span)))
    instructions = structure(attributes.get(names.INSTRUCTIONS))
    if instructions is UNFINISHED:  # older writers put plain text there
        instructions = [attributes[names.INSTRUCTIONS]]
    if messages is None and isinstance(attributes.get(names.OLD_INPUT), str):
        return Conversation(user=attributes[names.OLD_INPUT], complete=True)
    if not isinstance(messages, list):
        remarks |= {TRUNCATED} if messages is UNFINISHED else set()
        return INCOMPLETE
    first = [{"role": "system", "parts": _parts(instructions)}] if instructions else []
    said = conversation([*first, *messages])
    if said is not INCOMPLETE and said.user is None:
        # the conversation is kept by the provider, and the trace shows its end only
        remarks.add(PARTIAL)
    return said


def _parts(instructions: object) -> object:
    if not isinstance(instructions, list):
        return instructions
    return [{"type": "text", "content": one} if isinstance(one, str) else one for one in instructions]


# events of the conventions before messages became an attribute
_EVENTS: Final = {"gen_ai.system.message": "system", "gen_ai.user.message": "user"}


def _messages_of_events(span: Span) -> list[dict[str, Any]] | None:
    """The messages of older writers, who wrote an event for each."""
    messages = [
        {"role": _EVENTS[name], "content": attributes.get("content")}
        for name, attributes in span.events
        if name in _EVENTS
    ]
    return messages or None


def _tools(attributes: Mapping[str, Any]) -> Any:
    """The definitions of the tools; None where there are none written down, UNFINISHED where they were cut."""
    if names.TOOLS in attributes:
        return structure(attributes[names.TOOLS])
    request = structure(attributes.get("model_request_parameters"))
    if not isinstance(request, dict):
        return request if request is UNFINISHED else None
    return _tools_of_pydantic_ai(request)


def _tools_of_pydantic_ai(request: Mapping[str, Any]) -> list[Any]:
    """PydanticAI writes its tools into an attribute of its own."""
    tools = [
        one
        for key in ("function_tools", "output_tools")
        for one in list_or_empty(request.get(key))
        if isinstance(one, dict)
    ]
    known = [
        {
            "type": "function",
            "name": one.get("name"),
            "description": one.get("description"),
            "parameters": one.get("parameters_json_schema"),
        }
        for one in tools
    ]
    return [*known, *list_or_empty(request.get("builtin_tools"))]


def _coverage(attributes: Mapping[str, Any]) -> str:
    return coverage(list_or_none(_tools(attributes)))


def _returned(attributes: Mapping[str, Any]) -> str | None:
    """The model that answered, or None: where the provider did not say, Logfire writes the one that was asked for."""
    returned = text_or_none(attributes.get(names.RETURNED_MODEL))
    is_by_logfire = any(name.startswith("logfire.") for name in attributes)
    return None if is_by_logfire and returned == attributes.get(names.MODEL) else returned
