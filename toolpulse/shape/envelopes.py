"""Look through the envelopes that protocols and frameworks put around what a tool returned.

An envelope is recognised by what it carries and by the names of its classes; no framework is imported, no property
of a response is called, nothing is iterated that iterating would consume, and nothing is changed.

``encoding`` names the way in, outermost first, joined by ``+``: ``message+json-text`` is JSON text in a LangChain
ToolMessage. Its words are

    native            the response itself, no envelope
    json-text         text holding a JSON object or array
    mcp-structured    ``structuredContent`` of an MCP CallToolResult
    mcp-text          the text blocks of one, each decoded where it holds a JSON object or array
    mcp-blocks        its blocks as they are: none of them is text, or they are too many
    message           ``content`` of a LangChain ToolMessage; ``message-artifact`` its artifact
    text-blocks       that content is a list with text blocks in it, read as those of mcp-text
    tool-output       ``raw_output`` of a LlamaIndex ToolOutput
    tool-return       ``return_value`` of a Pydantic AI ToolReturn
    strands-structured, strands-json, strands-text, strands-blocks   the same of a Strands ToolResult
    artifact          the artifact of a ``(content, artifact)`` pair; ``content`` where it has none
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from toolpulse._base.classes import mro, name, own_dict, package, with_text_keys
from toolpulse.errors import ConfigurationError
from toolpulse.shape.rows import TEXT_KEYED, size_of
from toolpulse.shape.text import MOST, TextBudget

MODES: Final = ("auto", "none")

NATIVE: Final = "native"
OK: Final = "ok"
ERROR: Final = "error"

MAX_BLOCKS: Final = 1000
"""Blocks of a result that are looked at; a longer list is left as it is."""

MOST_FIELDS: Final = 256
"""Members of an envelope; an object of more is none."""

MAX_ENVELOPES: Final = 4
"""Envelopes inside envelopes that are opened: recorded proxies stack two or three (MCP text that holds an MCP result
that holds JSON text), and a response must not choose how much work it causes."""


class Payload(NamedTuple):
    """What a response holds once its envelopes are off."""

    value: object
    """What the tool meant to say; the very object inside the envelope, or what its text decodes to."""
    encoding: str
    """The envelopes that were opened, outermost first, joined by ``+``; ``native`` where there was none."""
    outcome: str
    """``ok``, or ``error`` where any of the envelopes is flagged as an error."""


class _Row(NamedTuple):
    """A framework's response type. ``values`` are tried in order until one is not None."""

    package: str
    name: str
    values: tuple[tuple[str, str], ...]  # attribute, encoding
    failed: tuple[str, object] | None = None  # attribute, the value of it that means an error


_ROWS: Final = (
    _Row(
        "langchain_core", "ToolMessage", (("artifact", "message-artifact"), ("content", "message")), ("status", "error")
    ),
    _Row("llama_index", "ToolOutput", (("raw_output", "tool-output"),), ("is_error", True)),
    _Row("pydantic_ai", "ToolReturn", (("return_value", "tool-return"),)),
)
_BY_TYPE: Final = {(row.package, row.name): row for row in _ROWS}
_TYPE_NAMES: Final = frozenset(row.name for row in _ROWS)

_NO_ENVELOPE: Final = frozenset(map(id, (list, tuple, set, frozenset, type(None), bool, int, float, bytes)))

# MCP revision 2025-06-18, ContentBlock: the member without which a block of that type is none.
_BLOCKS: Final = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}
_STRUCTURED: Final = ("structuredContent", "structured_content")
_IS_ERROR: Final = ("isError", "is_error")
_META: Final = ("_meta", "meta")

_ABSENT: Final = object()
_get: Final = dict.get  # never a subclass's own
_new: Final = tuple.__new__  # half the cost of calling a NamedTuple, which is all the cost of a native response

_Fields: TypeAlias = dict[Any, Any]
_Opened: TypeAlias = tuple[object, str, bool]  # what is inside, the encoding, whether flagged as an error


def unwrap(response: object, mode: str = "auto", *, artifact: bool = False, text: int = MOST) -> Payload:
    """Take the envelopes off ``response``; see the module for those that are known.

    ``mode`` is ``auto``, or ``none`` for the response as it is. With ``artifact`` a pair is LangChain's
    ``(content, artifact)``, which only whoever declared the tool can know. Text is ``str``; bytes stay bytes.
    ``text`` is what decoding the texts of the response may cost, as ``Limits.text`` counts it; a text beyond that is
    ``UnreadText`` in the payload.
    Envelopes inside envelopes are opened, at most ``MAX_ENVELOPES`` of them; what lies deeper stays in its envelope.

    Raises ConfigurationError on another mode, and nothing whatever the response is: where looking inside fails,
    the payload is what had been reached.
    """
    if mode == "auto":
        if type(response) is dict and _is_none(response):  # nearly always
            return _new(Payload, (response, NATIVE, OK))
        return _unwrap(response, artifact, TextBudget(text))
    if mode == "none":
        return Payload(response, NATIVE, OK)
    raise ConfigurationError(f"unwrap is one of {', '.join(MODES)}; it was {mode!r}")


def _unwrap(response: object, artifact: bool, budget: TextBudget) -> Payload:
    path = _path(response, artifact, budget)
    if not path:
        return _new(Payload, (response, NATIVE, OK))
    encoding = "+".join(encoding for _, encoding, _ in path)
    return Payload(path[-1][0], encoding, ERROR if any(failed for *_, failed in path) else OK)


def _path(response: object, artifact: bool, budget: TextBudget) -> list[_Opened]:
    """The envelopes from the outermost in, as far as they can be opened."""
    path: list[_Opened] = []
    try:
        opened = _open_pair(response, budget) if artifact else _open(response, budget)
        while opened is not None:
            path.append(opened)
            opened = _open(opened[0], budget) if len(path) < MAX_ENVELOPES else None
    except Exception:  # noqa: BLE001 - a response may raise anything when looked at, and its tool must not notice
        pass
    return path


def _open(value: object, budget: TextBudget) -> _Opened | None:
    kind = type(value)
    if id(kind) in _NO_ENVELOPE:
        return None
    if issubclass(kind, str):
        return _open_text(value, budget)  # type: ignore[arg-type]
    if kind is dict and _is_none(value):  # type: ignore[arg-type]
        return None
    fields = _fields(value)
    if fields is None:
        return None
    row = _row(kind)
    return _open_fields(fields, budget) if row is None else _open_row(fields, row, budget)


def _is_none(value: _Fields) -> bool:
    """Whether a dict surely is no envelope. A key that is no plain text would be asked whether it equals "content"."""
    return size_of(value) in TEXT_KEYED and "content" not in value


def _fields(value: object) -> _Fields | None:
    """What a dict holds, else the attributes of an instance, by the keys that are plain text; None where it is wide."""
    held: _Fields = value if issubclass(type(value), dict) else own_dict(value)  # type: ignore[assignment]
    return with_text_keys(held) if dict.__len__(held) <= MOST_FIELDS else None


def _open_text(text: str, budget: TextBudget) -> _Opened | None:
    text = str.__str__(text)  # a subclass may say anything of its length
    found = budget.decoded(text)
    return None if found is text else (found, "json-text", False)


def _open_pair(value: object, budget: TextBudget) -> _Opened | None:
    if type(value) is not tuple or len(value) != 2:
        return _open(value, budget)
    content, artifact = value
    return (content, "content", False) if artifact is None else (artifact, "artifact", False)


def _row(kind: type) -> _Row | None:
    """The row of the first class, or base class, that has its name and comes from its package."""
    for base in mro(kind):
        if (known := name(base)) in _TYPE_NAMES:
            row = _BY_TYPE.get((package(base), known))
            if row is not None:
                return row
    return None


def _open_row(fields: _Fields, row: _Row, budget: TextBudget) -> _Opened | None:
    failed = row.failed is not None and _is(_get(fields, row.failed[0]), row.failed[1])
    held = [(attribute, encoding) for attribute, encoding in row.values if attribute in fields]
    if not held:
        return None
    attribute, encoding = next((pair for pair in held if fields[pair[0]] is not None), held[-1])
    value = fields[attribute]
    if attribute == "content" and type(value) is list:
        blocks = _blocks(value) if len(value) <= MAX_BLOCKS else None
        texts = _texts(blocks or [], budget)
        if texts is not _ABSENT:
            return texts, f"{encoding}+text-blocks", failed
    return value, encoding, failed


def _is(held: object, meant: object) -> bool:
    """Whether a member is ``meant``; a text is compared by ``str``'s own code, whatever its type says of equality."""
    if type(meant) is not str:
        return held is meant
    text: Any = held
    return issubclass(type(held), str) and str.__str__(text) == meant


def _open_fields(fields: _Fields, budget: TextBudget) -> _Opened | None:
    blocks = _get(fields, "content")
    if type(blocks) is not list:
        return None
    status = _get(fields, "status")
    if type(_get(fields, "toolUseId")) is str and type(status) is str and status in {"success", "error"}:
        return _open_strands(fields, blocks, budget)
    held = _blocks(blocks[:MAX_BLOCKS]) if _is_marked_mcp(fields, blocks) else None
    return None if held is None else _open_mcp(fields, blocks, held, budget)


def _is_marked_mcp(fields: _Fields, blocks: list[object]) -> bool:
    """Blocks alone, or beside a ``meta``, are as likely a page of somebody's own API: one more mark is asked for."""
    marked = any(type(_get(fields, key)) is bool for key in _IS_ERROR) or any(
        _get(fields, key, _ABSENT) is not _ABSENT for key in _STRUCTURED
    )
    if not marked:
        meta = _get(fields, "_meta", _ABSENT)
        marked = bool(blocks) and (meta is None or type(meta) is dict)
    return marked


def _blocks(blocks: list[object]) -> list[_Fields] | None:
    """What each block holds; None where one is no block."""
    found = []
    for block in blocks:
        fields = _fields(block)
        if fields is None or not _is_block(fields):
            return None
        found.append(fields)
    return found


def _is_block(fields: _Fields) -> bool:
    kind = _get(fields, "type")
    member = _BLOCKS.get(kind) if type(kind) is str else None
    if member is None:
        return False
    held = _get(fields, member)
    return type(held) is str if kind == "text" else held is not None


def _open_mcp(fields: _Fields, blocks: list[object], held: list[_Fields], budget: TextBudget) -> _Opened:
    failed = any(_get(fields, key) is True for key in _IS_ERROR)
    structured = _first(fields, _STRUCTURED)
    if structured is not None:
        return _without_wrap(structured, fields), "mcp-structured", failed
    texts = _texts(held, budget) if len(blocks) <= MAX_BLOCKS else _ABSENT
    return (blocks, "mcp-blocks", failed) if texts is _ABSENT else (texts, "mcp-text", failed)


def _first(fields: _Fields, names: tuple[str, ...]) -> Any:
    return next((held for name in names if (held := _get(fields, name)) is not None), None)


def _without_wrap(structured: object, fields: _Fields) -> object:
    """FastMCP wraps what is no object as ``{"result": x}`` and says so in the result's meta."""
    if type(structured) is not dict or len(structured) != 1 or "result" not in with_text_keys(structured):
        return structured
    wrapped = _member(_member(_first(fields, _META), "fastmcp"), "wrap_result") is True
    return structured["result"] if wrapped else structured


def _member(held: object, key: str) -> object:
    """A member of a dict; None of anything else."""
    return _get(_fields(held) or {}, key) if type(held) is dict else None


def _texts(held: list[_Fields], budget: TextBudget) -> object:
    """What the text blocks hold: one alone is given itself, several as a list; absent where there is none."""
    texts = [fields["text"] for fields in held if fields["type"] == "text"]
    return _one_or_list(list(map(budget.decoded, texts))) if texts else _ABSENT


def _one_or_list(values: list[object]) -> object:
    return values[0] if len(values) == 1 else values


def _open_strands(fields: _Fields, blocks: list[object], budget: TextBudget) -> _Opened | None:
    """Strands' ToolResult: blocks ``{"json": x}`` or ``{"text": t}`` without a type; structured content from MCP."""
    if not all(type(block) is dict for block in blocks[:MAX_BLOCKS]):
        return None
    failed = _get(fields, "status") == "error"
    structured = _get(fields, "structuredContent")
    if structured is not None:
        return structured, "strands-structured", failed
    held = [_fields(block) or {} for block in blocks[:MAX_BLOCKS]]
    if data := [block["json"] for block in held if "json" in block]:
        return _one_or_list(data), "strands-json", failed
    if texts := [block["text"] for block in held if type(_get(block, "text")) is str]:
        return _one_or_list(list(map(budget.decoded, texts))), "strands-text", failed
    return blocks, "strands-blocks", failed
