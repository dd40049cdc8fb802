"""Tool definitions as OpenAI, Anthropic, MCP and OpenTelemetry write them, read into one form.

No framework is imported: an object is read by the attributes that a definition has, a list by its ``tools``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import plain
from toolpulse.errors import InputError
from toolpulse.provenance.schemas.functions import is_function, of_function

_PARAMETERS: Final = ("parameters", "input_schema", "inputSchema")
_OUTPUT: Final = ("outputSchema", "output_schema")
_WORDS: Final = ("description", "title", "annotations")
_ATTRIBUTES: Final = ("name", "type", *_WORDS, *_PARAMETERS, *_OUTPUT)
"""What is read from a definition that is an object."""
_CALLERS_OWN: Final = ("function", "custom")
"""The ``type`` of tools that the caller defines; any other is a tool of the provider's own."""


class Definition(msgspec.Struct, frozen=True):
    """One tool: what it takes and gives, and the words about it. Plain JSON, nothing left out."""

    name: str
    parameters: Any
    """A JSON Schema; null where the tool takes nothing; of a provider's own tool its whole configuration."""
    output: Any = None
    """A JSON Schema of what it returns, or None."""
    words: dict[str, Any] = {}
    """What is said of the tool as a whole: description, title, MCP's annotations."""
    own: bool = True
    """False of a tool that the provider defines, whose parameters are no schema."""


def definitions(tools: object) -> tuple[Definition, ...]:
    """Read definitions from a list, an MCP ``tools/list`` result (object, dict, JSON-RPC response), or functions.

    Raises InputError where something is no definition, has no name, says nothing of its parameters, or has the name of
    another; CanonicalError where a schema is no JSON.
    """
    all_of_them = tuple(_definition(tool, number) for number, tool in enumerate(_listed(tools), 1))
    names = [one.name for one in all_of_them]
    if len(set(names)) < len(names):
        raise InputError(f"two tools are named {max(names, key=names.count)}")
    return all_of_them


def _listed(tools: object) -> Iterable[object]:
    if isinstance(tools, Mapping):
        result = tools.get("result")
        tools = (result if isinstance(result, Mapping) else tools).get("tools", tools)
    elif not isinstance(tools, list | tuple) and hasattr(tools, "tools"):
        tools = tools.tools
    if isinstance(tools, Mapping | str | bytes) or not isinstance(tools, Iterable):
        raise InputError(f"a list of tool definitions is needed, not {type(tools).__name__}")
    return tools


def _definition(tool: object, number: int) -> Definition:
    """``number`` says in messages which one of the list it is, from 1."""
    if is_function(tool):
        tool = of_function(tool)
    body = _body(tool)
    name = body.get("name")
    own = body.get("type", "function") in _CALLERS_OWN or _first(body, _PARAMETERS) is not msgspec.UNSET
    if not name and not own:
        name = body["type"]
    if not isinstance(name, str) or not name:
        raise InputError(f"tool {number} of the list has no name")
    if not own:
        return Definition(name, plain({k: v for k, v in body.items() if k not in {"name", *_WORDS}}), own=False)
    parameters = _first(body, _PARAMETERS)
    if parameters is msgspec.UNSET:
        raise InputError(f"{name}: its parameters were not written down; null says that it has none")
    output = _first(body, _OUTPUT)
    words = {word: body[word] for word in _WORDS if body.get(word) is not None}
    return Definition(name, plain(parameters), None if output is msgspec.UNSET else plain(output), plain(words))


def _body(tool: object) -> Mapping[str, Any]:
    """The mapping that holds name and parameters."""
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        return inner if isinstance(inner, Mapping) else tool
    if isinstance(getattr(tool, "name", None), str):
        attributes = {word: _dumped(getattr(tool, word)) for word in _ATTRIBUTES if hasattr(tool, word)}
        # a declared attribute without a value is no schema that was written down
        return {word: value for word, value in attributes.items() if value is not None}
    raise InputError(f"a {type(tool).__name__} is no tool definition")


def _first(body: Mapping[str, Any], words: Iterable[str]) -> Any:
    """The value of the first of the words that the body has; UNSET where it has none."""
    return next((body[word] for word in words if word in body), msgspec.UNSET)


def _dumped(value: Any) -> Any:
    """What a pydantic model holds, as plain data without what is not set; any other value as it is."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value
