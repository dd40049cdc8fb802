"""What a trace is read into, whatever its format: generations with their fingerprints, and tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse._base.canonical import load_exact
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance import attributes as names
from toolpulse.provenance._definitions import definitions
from toolpulse.provenance.generation import content_hashes, coverage, read_temperature, tuple_hash
from toolpulse.provenance.prompt import typed_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolpulse.provenance.manifest import Manifest

TRUNCATED: Final = "truncated"
PARTIAL: Final = "partial_input"

CUT: Final = object()
"""What text comes to that is the beginning of a structure."""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One call to a model, as far as its trace tells. No text of a prompt or of a response is kept."""

    place: str
    """Where it was read: ``file:line``."""
    fingerprint: dict[str, Any]
    """The attributes of ``toolpulse.provenance.attributes`` that it carries, or that its content gave; checked."""
    params: dict[str, Any] | None = None
    """The sampling parameters that the span shows beside the temperature; None where it shows none."""
    generation_id: str | None = None
    manifest_id: str | None = None
    returned_model: str | None = None
    """What the provider says has answered; None where that is not known for sure."""
    remarks: tuple[str, ...] = ()
    """Why its content is not all there: ``truncated``, ``partial_input``."""
    unverified: tuple[str, ...] = ()
    """Fields that may be something else than their name says."""
    started: int = 0
    """Nanoseconds; 0 where the format has no times."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool. ``arguments`` and ``result`` are UNSET where they were not captured, and never shown."""

    place: str
    name: str
    arguments: Any = msgspec.UNSET
    result: Any = msgspec.UNSET
    failed: bool = False
    generation_id: str | None = None
    manifest_id: str | None = None
    started: int = 0

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {self.place!r})"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it was read: in the order of starting times where the format has them, else of the file."""

    file: str
    format: str
    manifest: Manifest | None = None
    generations: tuple[Generation, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    returned_models: tuple[str, ...] = ()
    """The models that calls are known to have returned; more than one means that they were routed differently."""
    sampled: bool = False
    """Whether it says that it holds a sample only of what happened."""


def generation(
    place: str,
    *,
    system: object = None,
    user: object = None,
    tools: Sequence[Any] | None = None,
    model: str | None = None,
    temperature: object = None,
    params: Mapping[str, Any] | None = None,
    remarks: Iterable[str] = (),
    unverified: Iterable[str] = (),
    complete: bool = True,
    returned_model: str | None = None,
    started: int = 0,
) -> Generation:
    """A generation from content that a trace captured; hashes are of complete content only.

    ``complete`` says that ``system`` and ``user`` are all that was said. Raises InputError, ``place`` in front, where
    the content has no canonical form or the temperature is no number.
    """
    remarks = tuple(sorted(set(remarks)))
    found: dict[str, Any] = {
        names.MISSING_MODEL: "false" if model else "true",
        names.MODEL_SOURCE: "request" if model else "absent",
    }
    if model:
        found[names.MODEL] = model
    try:
        degrees = read_temperature(temperature)
        hashes = content_hashes(system, user, _in_one_form(tools))
    except (ConfigurationError, InputError) as error:
        raise InputError(f"{place}: {error}") from None
    if degrees is not None:
        found[names.TEMPERATURE] = degrees
    if not complete or remarks:
        hashes = {k: v for k, v in hashes.items() if k not in {names.PROMPT_HASH, names.TEXT_HASH}}
    found |= hashes
    found[names.TUPLE] = tuple_hash(found)
    return Generation(
        place=place,
        fingerprint=found,
        params=dict(params) if params else None,
        remarks=remarks,
        unverified=tuple(sorted(set(unverified))),
        returned_model=returned_model,
        started=started,
    )


def _in_one_form(tools: Sequence[Any] | None) -> Sequence[Any] | None:
    """Definitions as name, words and parameters, whichever provider's spelling they had; else as they are."""
    if tools is None or coverage(tools) != "full":
        return tools
    try:
        found = definitions(tools)
    except InputError:
        return tools
    return [
        {"name": one.name, **one.words, "parameters": one.parameters} | ({"output": one.output} if one.output else {})
        for one in found
    ]


class IncompleteError(Exception):
    """A message is not there as it was sent: its text was left out or cut."""


SYSTEM: Final = frozenset({"system", "developer"})
USER: Final = frozenset({"user", "human"})
_ANSWERS: Final = frozenset({"assistant", "ai", "model", "chatbot", "tool", "function"})
_RESULTS: Final = frozenset({"tool_result", "tool_call_response", "function_response", "server_tool_call_response"})
"""Parts that a tool returned: some providers put them into messages of the user."""


def spoken(messages: Iterable[object], roles: frozenset[str]) -> object:
    """What the messages of some roles say: one as it is, several as a list, None of none.

    A message is its text, or ``{"parts": [...]}`` where it has several; both spellings are read, OpenTelemetry's
    ``parts`` and the providers' ``content``. What models and tools answered is left out: it came of the set-up and is
    no part of it. Raises IncompleteError where content was left out, or a message is of nobody knows whom.
    """
    said: list[object] = []
    for message in messages:
        role = text_or_none(message.get("role")) if isinstance(message, dict) else None
        if role is None or role not in SYSTEM | USER | _ANSWERS:
            raise IncompleteError
        if role in roles and isinstance(message, dict):
            said += _said(message.get("parts", message.get("content")))
    return None if not said else said[0] if len(said) == 1 else said


def _said(content: object) -> list[object]:
    """What one message says, as a list of one; an empty one where tools said all of it."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise IncompleteError
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
        raise IncompleteError
    return text


def parameters(place: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling parameters, each of its one type; text is read, so that ``"300"`` and ``300`` are one.

    Raises InputError, ``place`` in front, where one is no number.
    """
    try:
        return typed_parameters({name: value for name, value in found.items() if value is not None})
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def structured(value: Any) -> Any:
    """A structure that may have been written as JSON text; CUT where the text does not read to its end."""
    if not isinstance(value, str):
        return value
    try:
        return load_exact(value)
    except InputError:
        return CUT


def loose(value: Any) -> Any:
    """JSON text as what it says; any other text as it is."""
    found = structured(value)
    return value if found is CUT else found


def listed(value: object) -> list[Any]:
    """The value, where it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def text_or_none(value: object) -> str | None:
    """The value, where it is text that is not blank."""
    return value if isinstance(value, str) and value.strip() else None
