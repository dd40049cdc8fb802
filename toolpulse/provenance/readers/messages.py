"""The messages of a captured call, reduced to what system and user said. Both spellings of messages are read.

OpenTelemetry writes the content of a message under ``parts``, providers write it under ``content``. What models and
tools answered is left out: it came of the set-up and is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from toolpulse.provenance.readers.values import text_or_none

_SYSTEM: Final = frozenset({"system", "developer"})
_USER: Final = frozenset({"user", "human"})
_ANSWERS: Final = frozenset({"assistant", "ai", "model", "chatbot", "tool", "function"})
_RESULTS: Final = frozenset({"tool_result", "tool_call_response", "function_response", "server_tool_call_response"})
"""Parts that a tool returned: some providers put them into messages of the user."""


class Conversation(NamedTuple):
    """What was said to a model. Of one message it is the message itself, of several a list of them, of none None.

    A message is its text, or ``{"parts": [...]}`` where it has several parts.
    """

    system: object = None
    user: object = None
    complete: bool = False
    """Whether this is all that was said. Hashes are computed of complete conversations only."""


INCOMPLETE: Final = Conversation()
"""What messages are read as whose content was left out or cut."""


class _IncompleteError(Exception):
    """A message is not there as it was sent."""


def conversation(messages: Iterable[object]) -> Conversation:
    """What the messages of system and user say.

    INCOMPLETE where content was left out, or where the role of a message is missing or not known. Without any message
    of the user it is not complete either.
    """
    messages = list(messages)
    try:
        system, user = _said_by(_SYSTEM, messages), _said_by(_USER, messages)
    except _IncompleteError:
        return INCOMPLETE
    return Conversation(system, user, user is not None)


def _said_by(roles: frozenset[str], messages: Iterable[object]) -> object:
    said: list[object] = []
    for message in messages:
        role = text_or_none(message.get("role")) if isinstance(message, dict) else None
        if role is None or role not in _SYSTEM | _USER | _ANSWERS:
            raise _IncompleteError
        if role in roles and isinstance(message, dict):
            said += _content(message.get("parts", message.get("content")))
    return None if not said else said[0] if len(said) == 1 else said


def _content(content: object) -> list[object]:
    """What one message says, as a list of one; an empty one where tools said all of it."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise _IncompleteError
    parts = [_part(part) for part in content if not _is_result(part)]
    if content and not parts:
        return []
    return parts if len(parts) == 1 else [{"parts": parts}]


def _is_result(part: object) -> bool:
    return isinstance(part, dict) and text_or_none(part.get("type")) in _RESULTS


def _part(part: object) -> object:
    if not isinstance(part, dict) or part.get("type") != "text":
        return part
    text = part.get("content", part.get("text"))
    if not isinstance(text, str):
        raise _IncompleteError
    return text
