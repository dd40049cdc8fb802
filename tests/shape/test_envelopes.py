from __future__ import annotations

import dataclasses
import json
import types
from collections import OrderedDict, defaultdict
from typing import Any

import pydantic
import pytest
from corpus import shared
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.errors import ConfigurationError
from toolpulse.shape.envelopes import MAX_BLOCKS, MAX_ENVELOPES, Payload, unwrap
from toolpulse.shape.text import MOST, UnreadText

DATA = {"a": 1}
TEXT = '{"a": 1}'


class TextContent(pydantic.BaseModel):
    """As mcp declares it."""

    type: str = "text"
    text: str
    annotations: Any = None


class ImageContent(pydantic.BaseModel):
    type: str = "image"
    data: str
    mime_type: str = "image/png"


class CamelResult(pydantic.BaseModel):
    """CallToolResult as mcp 1.x spells it."""

    meta: dict[str, Any] | None = pydantic.Field(alias="_meta", default=None)
    content: list[TextContent | ImageContent]
    structuredContent: Any = None
    isError: bool = False


class SnakeResult(pydantic.BaseModel):
    """CallToolResult as mcp 2.x spells it."""

    meta: dict[str, Any] | None = None
    content: list[TextContent | ImageContent]
    structured_content: Any = None
    is_error: bool = False
    result_type: str = "complete"


@dataclasses.dataclass
class ClientResult:
    """CallToolResult as FastMCP's client gives it."""

    content: list[Any]
    structured_content: Any
    meta: dict[str, Any] | None
    data: Any = None
    is_error: bool = False


def framework(module: str, name: str, *bases: type, **attributes: object) -> Any:
    """An instance of a class that calls itself ``module.name``, which is all that recognition can see."""
    kind = type(name, bases, {"__module__": module})
    made = kind()
    made.__dict__.update(attributes)
    return made


def message(**attributes: object) -> Any:
    """A LangChain ToolMessage."""
    filled = {"content": "", "artifact": None, "status": "success", "tool_call_id": "1"} | attributes
    return framework("langchain_core.messages.tool", "ToolMessage", **filled)


def block(text: str) -> dict[str, str]:
    """An MCP text block."""
    return {"type": "text", "text": text}


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
WRAPPED = {"fastmcp": {"wrap_result": True}}


def strands(*content: object, **more: object) -> dict[str, object]:
    """A Strands ToolResult."""
    return {"toolUseId": "t1", "status": "success", "content": list(content)} | more


ENVELOPES = {
    "json object": (TEXT, Payload(DATA, "json-text", "ok")),
    "json array": (" \r\n\t[1]", Payload([1], "json-text", "ok")),
    "json as Python writes it": ('{"a": NaN, "a": 1}', Payload(DATA, "json-text", "ok")),
    "json with lone surrogates": ('["\\ud800"]', Payload(["\ud800"], "json-text", "ok")),
    "camel, structured": (
        {"content": [block("no")], "structuredContent": DATA, "isError": False},
        Payload(DATA, "mcp-structured", "ok"),
    ),
    "snake, structured": (
        {"content": [block("no")], "structured_content": DATA, "is_error": False},
        Payload(DATA, "mcp-structured", "ok"),
    ),
    "structured alone": ({"content": [], "structuredContent": DATA}, Payload(DATA, "mcp-structured", "ok")),
    "structured falsy": ({"content": [], "structuredContent": {}}, Payload({}, "mcp-structured", "ok")),
    "structured scalar": ({"content": [], "structured_content": 0}, Payload(0, "mcp-structured", "ok")),
    "structured null": (
        {"content": [block(TEXT)], "structuredContent": None, "isError": False},
        Payload(DATA, "mcp-text", "ok"),
    ),
    "text": ({"content": [block(TEXT)], "isError": False}, Payload(DATA, "mcp-text", "ok")),
    "text beside _meta": ({"content": [block(TEXT)], "_meta": None}, Payload(DATA, "mcp-text", "ok")),
    "prose": ({"content": [block("done")], "isError": False}, Payload("done", "mcp-text", "ok")),
    "texts": ({"content": [block(TEXT), block("done")], "isError": False}, Payload([DATA, "done"], "mcp-text", "ok")),
    "text and image": ({"content": [IMAGE, block("x")], "isError": False}, Payload("x", "mcp-text", "ok")),
    "image": ({"content": [IMAGE], "isError": False}, Payload([IMAGE], "mcp-blocks", "ok")),
    "nothing": ({"content": [], "isError": False}, Payload([], "mcp-blocks", "ok")),
    "error": ({"content": [block("no")], "isError": True}, Payload("no", "mcp-text", "error")),
    "snake error": ({"content": [block("no")], "is_error": True}, Payload("no", "mcp-text", "error")),
    "structured error": (
        {"content": [], "structuredContent": DATA, "isError": True},
        Payload(DATA, "mcp-structured", "error"),
    ),
    "wrapped": (
        {"content": [], "structuredContent": {"result": [1]}, "_meta": WRAPPED},
        Payload([1], "mcp-structured", "ok"),
    ),
    "wrapped, meta": (
        {"content": [], "structured_content": {"result": None}, "meta": WRAPPED},
        Payload(None, "mcp-structured", "ok"),
    ),
    "wrapped, not said": (
        {"content": [], "structuredContent": {"result": [1]}, "_meta": {"fastmcp": {}}},
        Payload({"result": [1]}, "mcp-structured", "ok"),
    ),
    "wrapped, denied": (
        {"content": [], "structuredContent": {"result": 1}, "_meta": {"fastmcp": {"wrap_result": False}}},
        Payload({"result": 1}, "mcp-structured", "ok"),
    ),
    "wrapped, other keys": (
        {"content": [], "structuredContent": {"result": 1, "b": 2}, "_meta": WRAPPED},
        Payload({"result": 1, "b": 2}, "mcp-structured", "ok"),
    ),
    "dict subclass": (OrderedDict(content=[block(TEXT)], isError=False), Payload(DATA, "mcp-text", "ok")),
    "mcp 1.x object": (
        CamelResult(content=[TextContent(text="no")], structuredContent=DATA),
        Payload(DATA, "mcp-structured", "ok"),
    ),
    "mcp 1.x text": (CamelResult(content=[TextContent(text=TEXT)]), Payload(DATA, "mcp-text", "ok")),
    "mcp 2.x object": (
        SnakeResult(content=[], structured_content={"result": 3}, meta=WRAPPED),
        Payload(3, "mcp-structured", "ok"),
    ),
    "mcp 2.x error": (
        SnakeResult(content=[TextContent(text="no")], is_error=True),
        Payload("no", "mcp-text", "error"),
    ),
    "fastmcp client": (ClientResult([TextContent(text=TEXT)], None, None), Payload(DATA, "mcp-text", "ok")),
    "message": (message(content=TEXT), Payload(DATA, "message+json-text", "ok")),
    "message of prose": (message(content="done"), Payload("done", "message", "ok")),
    "message with artifact": (message(content="done", artifact=DATA), Payload(DATA, "message-artifact", "ok")),
    "message with falsy artifact": (message(content="done", artifact=[]), Payload([], "message-artifact", "ok")),
    "message of blocks": (message(content=[block(TEXT)]), Payload(DATA, "message+text-blocks", "ok")),
    "message of other blocks": (message(content=["a", TEXT]), Payload(["a", TEXT], "message", "ok")),
    "message of an error": (message(content="no", status="error"), Payload("no", "message", "error")),
    "message subclass": (
        framework("app", "Mine", type(message()), content=TEXT, artifact=None, status="error"),
        Payload(DATA, "message+json-text", "error"),
    ),
    "tool output": (
        framework("llama_index.core.tools.types", "ToolOutput", raw_output=DATA, is_error=False, blocks=[]),
        Payload(DATA, "tool-output", "ok"),
    ),
    "tool output of nothing": (
        framework("llama_index.core.tools.types", "ToolOutput", raw_output=None, is_error=False),
        Payload(None, "tool-output", "ok"),
    ),
    "tool output of an error": (
        framework("llama_index.core.tools.types", "ToolOutput", raw_output=TEXT, is_error=True),
        Payload(DATA, "tool-output+json-text", "error"),
    ),
    "tool return": (
        framework("pydantic_ai.messages", "ToolReturn", return_value=DATA, content="c", metadata=None),
        Payload(DATA, "tool-return", "ok"),
    ),
    "tool return of blocks": (
        framework("pydantic_ai.messages", "ToolReturn", return_value=[block(TEXT)]),
        Payload([block(TEXT)], "tool-return", "ok"),
    ),
    "strands json": (strands({"json": DATA}), Payload(DATA, "strands-json", "ok")),
    "strands jsons": (strands({"json": 1}, {"text": "t"}, {"json": 2}), Payload([1, 2], "strands-json", "ok")),
    "strands text": (strands({"text": TEXT}), Payload(DATA, "strands-text", "ok")),
    "strands texts": (strands({"text": "a"}, {"text": TEXT}), Payload(["a", DATA], "strands-text", "ok")),
    "strands image": (strands({"image": {}}), Payload([{"image": {}}], "strands-blocks", "ok")),
    "strands error": (strands({"text": "no"}, status="error"), Payload("no", "strands-text", "error")),
    "strands over MCP": (strands({"text": "no"}, structuredContent=DATA), Payload(DATA, "strands-structured", "ok")),
    "MCP in text": (
        json.dumps({"content": [block(TEXT)], "isError": True}),
        Payload(DATA, "json-text+mcp-text", "error"),
    ),
    "MCP in MCP": (
        {"content": [block(json.dumps({"_meta": None, "content": [block("hi")], "isError": False}))], "isError": False},
        Payload("hi", "mcp-text+mcp-text", "ok"),
    ),
    "MCP in a tool output in a message": (
        message(
            artifact=framework(
                "llama_index.core.tools.types",
                "ToolOutput",
                raw_output=SnakeResult(content=[], structured_content=DATA),
                is_error=True,
            )
        ),
        Payload(DATA, "message-artifact+tool-output+mcp-structured", "error"),
    ),
    "wrapped text": (
        {"content": [], "structuredContent": {"result": TEXT}, "_meta": WRAPPED},
        Payload(DATA, "mcp-structured+json-text", "ok"),
    ),
}


@pytest.mark.parametrize(("response", "expected"), ENVELOPES.values(), ids=ENVELOPES.keys())
def test_envelopes_are_taken_off(response, expected):
    """What a tool means to say is what is watched, whichever framework carries it and however it spells that."""
    assert unwrap(response) == expected


@pytest.mark.parametrize(("response", "expected"), ENVELOPES.values(), ids=ENVELOPES.keys())
def test_taking_off_changes_nothing(response, expected):
    """The response still belongs to the caller."""
    before = json.dumps(response, default=vars)
    unwrap(response)
    assert json.dumps(response, default=vars) == before


class Slotted:
    __slots__ = ("content", "is_error")


LOOKALIKES = {
    "a page": {"content": [block("Hello")], "title": "x"},
    "a page with meta": {"content": [block("Hello")], "meta": {"page": 1}},
    "a list of posts": {"content": [{"type": "post", "id": 1}], "_meta": {"page": 1}},
    "no posts": {"content": [], "_meta": {"page": 1}},
    "pictures of another kind": {"content": [{"type": "image", "url": "u"}], "_meta": {}},
    "text of another kind": {"content": [{"type": "text", "text": {"de": "Hallo"}}], "isError": False},
    "text of another kind, structured": {"content": [{"type": "text", "text": {}}], "structuredContent": DATA},
    "one foreign block": {"content": [block("a"), {"type": "video", "src": "s"}], "isError": False},
    "content is text": {"content": "Hello", "isError": False},
    "content is text, structured": {"content": "Hello", "structuredContent": DATA},
    "content is a list of text": {"content": ["a"], "isError": False},
    "content is a tuple": {"content": (block("a"),), "isError": False},
    "isError is a text": {"content": [block("a")], "isError": "no"},
    "an error and no content": {"isError": True},
    "structured and no content": {"structuredContent": DATA},
    "a chat message": {"role": "assistant", "content": [block("Hello")], "model": "m"},
    "one result": {"result": [1]},
    "a Strands-like record": {"toolUseId": "1", "status": "pending", "content": [{"text": "x"}]},
    "a Strands-like record of text": {"toolUseId": "1", "status": "success", "content": "x"},
    "prose": "[sic] he said",
    "prose in braces": "{not json}",
    "a number": "42",
    "a quoted text": '"{}"',
    "cut off": '{"a": [1, 2',
    "bytes": b'{"a": 1}',
    "a pair": ("done", DATA),
    "somebody's ToolMessage": framework("app.chat", "ToolMessage", content=TEXT, artifact=DATA, status="error"),
    "another package's": framework("langchain_core_fork.messages", "ToolMessage", content=TEXT, artifact=DATA),
    "another class of the package": framework("langchain_core.messages", "AIMessage", content=TEXT),
    "a ToolOutput without its attribute": framework("llama_index.core", "ToolOutput", output=DATA, is_error=True),
    "a namespace": types.SimpleNamespace(content=[block("x")]),
    "a class": CamelResult,
    "a module": json,
    "slots": Slotted(),
    "a default dict": defaultdict(list, a=1),
    "a factory": defaultdict(lambda: [block("x")]),
}


@pytest.mark.parametrize("response", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_lookalikes_stay_as_they_are(response):
    """A user's own record with a ``content`` is the response itself; taking it apart would hide its other fields."""
    payload = unwrap(response)
    assert payload.value is response
    assert payload == (response, "native", "ok")


def test_a_pair_is_opened_only_where_it_was_declared():
    """Any function may return two things; ``(content, artifact)`` is known to whoever declared the tool."""
    assert unwrap(("done", DATA), artifact=True) == (DATA, "artifact", "ok")
    assert unwrap(("done", []), artifact=True) == ([], "artifact", "ok")
    assert unwrap((TEXT, None), artifact=True) == (DATA, "content+json-text", "ok")
    assert unwrap((1, 2, 3), artifact=True) == ((1, 2, 3), "native", "ok")
    assert unwrap(TEXT, artifact=True) == (DATA, "json-text", "ok")
    assert unwrap(DATA, artifact=True) == (DATA, "native", "ok")
    nested = (("done", DATA), None)
    assert unwrap(nested, artifact=True) == (nested[0], "content", "ok")


def nested(levels: int) -> Any:
    """``DATA`` in so many envelopes."""
    value: Any = DATA
    for _ in range(levels):
        value = framework("pydantic_ai.messages", "ToolReturn", return_value=value)
    return value


@pytest.mark.attack
@pytest.mark.quick
def test_nesting_is_bounded():
    """A response does not choose how much work it causes."""
    assert unwrap(nested(MAX_ENVELOPES)) == (DATA, "+".join(["tool-return"] * MAX_ENVELOPES), "ok")
    deep = nested(MAX_ENVELOPES + 1)
    payload = unwrap(deep)
    assert payload.encoding.count("tool-return") == MAX_ENVELOPES
    assert vars(payload.value) == {"return_value": DATA}


def test_an_envelope_inside_itself_ends():
    """Objects can hold themselves."""
    loop = nested(1)
    loop.return_value = loop
    assert unwrap(loop).value is loop


@pytest.mark.attack
@pytest.mark.quick
def test_text_beyond_the_budget_is_not_read():
    """Decoding is done in the caller's thread, so it is bounded over all texts of a response, the bound included."""
    fits = "[" + " " * (MOST - 2) + "]"
    assert unwrap(fits) == ([], "json-text", "ok")
    assert type(unwrap(fits + " ").value) is UnreadText
    half = "[" + " " * (MOST // 2) + "]"
    payload = unwrap({"content": [block(half), block(half), block("[]")], "isError": False})
    assert payload.encoding == "mcp-text"
    first, *rest = payload.value
    assert first == []
    assert [type(text) for text in rest] == [UnreadText, list]


@pytest.mark.parametrize(
    "text",
    ["[INFO] started\n", "{curly} words, many\n", "[2024-01-31 12:30] said\n", "[" * 80, '[{"a":'],
    ids=["log", "curly", "dated log", "brackets", "cut short"],
)
def test_long_text_that_is_no_json_stays_text(text):
    """A long log is a string however long it is: only what begins and ends as JSON does is taken for unread JSON."""
    long = text * (MOST // len(text) + 1)
    assert unwrap(long).value is long


def test_what_the_quick_parser_refuses_is_read_again_only_where_that_is_cheap():
    """The second parser takes many times as long; a text must not choose how often it is read."""
    numbers = "[" + "1," * 200_000 + "NaN]"
    assert type(unwrap(numbers).value) is UnreadText
    assert unwrap("[" + "1," * 100 + "NaN]").encoding == "json-text"


def test_many_blocks_stay_blocks():
    """The work done for a result is bounded by what is looked at, not by what was sent."""
    fits = {"content": [block("[]")] * MAX_BLOCKS, "isError": False}
    assert unwrap(fits) == ([[]] * MAX_BLOCKS, "mcp-text", "ok")
    more = {"content": [block("[]")] * (MAX_BLOCKS + 1), "isError": False}
    assert unwrap(more) == (more["content"], "mcp-blocks", "ok")


@pytest.mark.parametrize("mode", ["AUTO", "", None, True, ["auto"]])
@pytest.mark.parametrize("response", [DATA, TEXT, None])
def test_an_unknown_mode_is_a_configuration_error(mode, response):
    """A misspelt setting must not silently mean another; the message names it."""
    with pytest.raises(ConfigurationError, match=r"^unwrap is one of auto, none; it was "):
        unwrap(response, mode)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([TEXT, "[", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3)
            | st.sampled_from(["content", "isError", "is_error", "structuredContent", "_meta", "status", "toolUseId"]),
            inner
            | st.lists(
                st.fixed_dictionaries({"type": st.sampled_from(["text", "image"]), "text": st.text()}), max_size=2
            ),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(json_values)
def test_mode_none_is_the_identity(value):
    """Offline commands and ``shape_of`` are given payloads; nothing may be taken off those."""
    payload = unwrap(value, "none")
    assert payload.value is value
    assert payload == (value, "native", "ok")


@given(json_values)
def test_what_is_native_is_the_response_itself(value):
    """Either an envelope is named or the very object comes back."""
    payload = unwrap(value)
    assert (payload.encoding == "native") <= (payload.value is value)
    assert payload.outcome in {"ok", "error"}


@given(json_values)
def test_text_is_read_as_the_value_it_was_written_from(value):
    """JSON text and the value it holds give one payload, but for the encoding."""
    if not isinstance(value, (dict, list)):
        value = [value]
    direct, through = unwrap(value), unwrap(json.dumps(value))
    if direct.encoding.count("+") < MAX_ENVELOPES - 2:
        assert repr(through.value) == repr(direct.value)
        assert through.outcome == direct.outcome
        assert through.encoding == ("json-text" if direct.encoding == "native" else f"json-text+{direct.encoding}")


class Angry:
    """Raises whenever anything but its type is asked for."""

    def _raise(self, *args: object, **kwargs: object) -> Any:
        raise ValueError("looked at")

    __getattribute__ = __eq__ = __hash__ = __len__ = __bool__ = __iter__ = __getitem__ = __contains__ = _raise
    __repr__ = __str__ = _raise


class AngryDict(dict):
    __getitem__ = __contains__ = __iter__ = __len__ = __bool__ = get = keys = items = Angry._raise
    __eq__ = Angry._raise
    __hash__ = None


class AngryStr(str):
    __slots__ = ()
    __len__ = __getitem__ = __iter__ = startswith = lstrip = Angry._raise


class AngryKey(str):
    """Collides with ``content`` and raises when compared."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("content")

    def __eq__(self, other: object) -> bool:
        raise ValueError("compared")


class AngryMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise ValueError("looked at")


class Unknowable(metaclass=AngryMeta):
    pass


def hostile() -> list[Any]:
    """Responses that raise when looked at; made afresh, because pytest looks at parameters."""
    trap = property(Angry._raise)
    lazy = type(
        "ToolMessage", (), {"__module__": "langchain_core.x", "content": trap, "artifact": trap, "status": trap}
    )
    odd_module = type("ToolMessage", (), {"__module__": 7})()
    odd_module.content = TEXT
    return [
        Angry(),
        AngryDict(a=1),
        AngryStr("abc"),
        {AngryKey("content"): 1},
        Unknowable(),
        lazy(),
        odd_module,
        {"content": Angry(), "isError": False},
        {"content": [Angry()], "isError": False},
        {"content": [block("x"), Angry()], "isError": True},
        {"content": [block("x")], "isError": Angry()},
        {"toolUseId": "1", "status": Angry(), "content": []},
        {"toolUseId": "1", "status": "success", "content": [Angry()]},
        "[" * 100_000,
        "[" + "1" * 5000 + "]",
    ]


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize("position", range(len(hostile())))
def test_hostile_responses_stay_native(position):
    """A response may raise whatever it likes when looked at; its tool must not notice."""
    response = hostile()[position]
    for artifact in (False, True):
        payload = unwrap(response, artifact=artifact)
        assert payload.value is response
        assert payload.encoding == "native"
        assert payload.outcome == "ok"


@pytest.mark.parametrize("position", range(len(hostile())))
def test_hostile_contents_are_handed_on(position):
    """What was reached before something raised is the payload, and an error seen on the way stays one."""
    response = hostile()[position]
    outer = message(artifact=response, status="error")
    payload = unwrap(outer)
    assert payload.value is response
    assert payload.encoding == "message-artifact"
    assert payload.outcome == "error"


def test_a_dict_that_lies_is_read_by_what_it_holds():
    """Overridden methods of a dict are the response's code, so they are not run."""
    assert unwrap(AngryDict(content=[block(TEXT)], isError=False)) == (DATA, "mcp-text", "ok")


def test_properties_are_not_called():
    """A property may load, connect or count; attributes are read from the instance only."""
    called = []

    def asked(self: object, name: str) -> Any:
        called.append(name)
        return object.__getattribute__(self, name)

    trap = property(called.append)
    body = {"content": trap, "is_error": trap, "__class__": trap, "__getattribute__": asked}
    assert unwrap(type("Lazy", (), body)()).encoding == "native"
    assert called == []


def test_keys_are_not_asked_what_they_equal():
    """Whatever a key would do when it is compared, interrupting the program included, it is not."""

    class Interrupting(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return hash("content")

        def __eq__(self, other: object) -> bool:
            raise KeyboardInterrupt

    response = {Interrupting("content"): 1}
    for outer in (response, message(artifact=response)):
        assert unwrap(outer).value is response


def test_iterators_are_not_consumed():
    """The caller still wants what they give."""
    stream = iter([block("x")])
    assert unwrap(stream).value is stream
    assert unwrap({"content": stream, "isError": False}).encoding == "native"
    assert next(stream) == block("x")


@pytest.mark.attack
@pytest.mark.quick
@given(st.from_type(object).filter(lambda x: not isinstance(x, type)) | st.builds(object) | st.functions())
def test_any_object_gives_a_payload(response):
    """There is no response that cannot be observed."""
    assert type(unwrap(response)) is Payload


def test_recorded_results_are_all_opened():
    """326 results recorded from public MCP servers: every one is recognised, its errors too, and some are nested."""
    path = shared("corpus", "over_time", "livemcpbench", "calltoolresult_envelopes.jsonl")
    results = [json.loads(line)["result"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(results) == 326
    for result in results:
        payload = unwrap(result)
        assert payload.encoding.startswith("mcp-text")
        assert payload.outcome == ("error" if result["isError"] else "ok")
