"""Spans by OpenTelemetry's GenAI conventions, their older spellings included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance import attributes as names
from toolpulse.provenance.generation import coverage
from toolpulse.provenance.readers.records import (
    CUT,
    PARTIAL,
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
from toolpulse.provenance.readers.spans import stamped
from toolpulse.provenance.readers.spans.span import Span

_OTHER: Final = frozenset(
    {"embeddings", "execute_tool", "invoke_agent", "create_agent", "invoke_workflow", "retrieval", "rerank"}
)
"""Operations that ask no model for text. An operation that nobody here knows counts as one that does."""

_TOOL_CALL: Final = "execute_tool"


def read(span: Span) -> Generation | ToolCall | None:
    """The span as a generation or a tool call; None where it is neither. Raises InputError as ``generation`` does."""
    found = {names.RENAMED.get(name, name): value for name, value in span.attributes.items()}
    operation = text_or_none(found.get(names.OPERATION))
    if operation == _TOOL_CALL or (operation is None and names.TOOL_NAME in found):
        return _tool_call(span, found)
    if operation in _OTHER:
        return None
    if stamped.is_one(found):
        return stamped.read(span, found, coverage=_coverage(found))
    if operation in names.GENERATING or names.MODEL in found or names.INPUT in found:
        return _generation(span, found)
    return None


def _tool_call(span: Span, found: Mapping[str, Any]) -> ToolCall:
    name = found.get(names.TOOL_NAME)
    if not isinstance(name, str):
        raise InputError(f"{span.place}: {names.TOOL_NAME} must be text")
    arguments = found.get(names.TOOL_ARGUMENTS, found.get("tool_arguments", msgspec.UNSET))
    result = found.get(names.TOOL_RESULT, found.get("tool_response", msgspec.UNSET))
    return ToolCall(
        place=span.place,
        name=name,
        arguments=loose(arguments),
        result=loose(result),
        failed=span.failed or names.ERROR in found,
        started=span.started,
        manifest_id=text_or_none(found.get(names.SPAN_MANIFEST_ID)),
    )


def _generation(span: Span, found: Mapping[str, Any]) -> Generation:
    remarks = {TRUNCATED} if span.dropped else set()
    if names.PREVIOUS_RESPONSE in found:
        remarks.add(PARTIAL)
    system, user, complete = _said(span, found, remarks)
    tools = _tools(found)
    if tools is CUT:
        remarks.add(TRUNCATED)
        tools = None
    shown = {name: found[names.REQUEST + name] for name in names.PARAMETERS if names.REQUEST + name in found}
    return generation(
        span.place,
        system=system,
        user=user,
        tools=tools if isinstance(tools, list) else None,
        model=text_or_none(found.get(names.MODEL)),
        temperature=found.get(names.TEMPERATURE),
        params=parameters(span.place, shown),
        remarks=remarks,
        complete=complete,
        returned_model=_returned(found),
        started=span.started,
    )


def _said(span: Span, found: Mapping[str, Any], remarks: set[str]) -> tuple[object, object, bool]:
    """What system and user said, and whether that is all of it."""
    messages = structured(found.get(names.INPUT, _by_event(span)))
    instructions = structured(found.get(names.INSTRUCTIONS))
    if instructions is CUT:  # older writers put plain text there
        instructions = [found[names.INSTRUCTIONS]]
    if messages is None and isinstance(found.get(names.OLD_INPUT), str):
        return None, found[names.OLD_INPUT], True
    if messages is CUT or not isinstance(messages, list):
        remarks |= {TRUNCATED} if messages is CUT else set()
        return None, None, False
    try:
        first = [{"role": "system", "parts": _parts(instructions)}] if instructions else []
        system, user = spoken([*first, *messages], SYSTEM), spoken(messages, USER)
    except IncompleteError:
        return None, None, False
    if user is None:  # the conversation lies with the provider, and the trace shows its end only
        remarks.add(PARTIAL)
    return system, user, user is not None


def _parts(instructions: object) -> object:
    return [{"type": "text", "content": one} if isinstance(one, str) else one for one in instructions] if isinstance(
        instructions, list
    ) else instructions  # fmt: skip


_EVENTS: Final = {"gen_ai.system.message": "system", "gen_ai.user.message": "user"}


def _by_event(span: Span) -> list[dict[str, Any]] | None:
    """The messages of older writers, an event each."""
    found = [
        {"role": _EVENTS[name], "content": attributes.get("content")}
        for name, attributes in span.events
        if name in _EVENTS
    ]
    return found or None


def _tools(found: Mapping[str, Any]) -> Any:
    """The definitions of the tools; None where there are none written down, ``CUT`` where they were cut."""
    if names.TOOLS in found:
        return structured(found[names.TOOLS])
    request = structured(found.get("model_request_parameters"))
    if not isinstance(request, dict):
        return request if request is CUT else None
    return _of_pydantic_ai(request)


def _of_pydantic_ai(request: Mapping[str, Any]) -> list[Any]:
    """PydanticAI writes its tools into an attribute of its own."""
    tools = [
        one for key in ("function_tools", "output_tools") for one in listed(request.get(key)) if isinstance(one, dict)
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
    return [*known, *listed(request.get("builtin_tools"))]


def _coverage(found: Mapping[str, Any]) -> str:
    tools = _tools(found)
    return coverage(tools if isinstance(tools, list) else None)


def _returned(found: Mapping[str, Any]) -> str | None:
    """The model that answered. Where the provider did not say, Logfire writes the requested one: that tells nothing."""
    returned = text_or_none(found.get(names.RETURNED_MODEL))
    by_logfire = any(name.startswith("logfire.") for name in found)
    return None if by_logfire and returned == found.get(names.MODEL) else returned
