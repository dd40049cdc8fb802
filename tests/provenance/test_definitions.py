from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from tool_definitions import SEARCH, SHAPES, edited, told, tool

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import InputError
from toolpulse.provenance.tools import (
    tools_diff,
    tools_fingerprint,
)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_has_one_fingerprint_in_every_shape(shape):
    """The same tool reaches a model through any of these; whoever changes the client has not changed the tool."""
    assert tools_fingerprint([SHAPES[shape]]) == tools_fingerprint([SEARCH])


@pytest.mark.parametrize(
    "listed",
    [
        {"tools": [SHAPES["mcp"]]},
        {"tools": [SHAPES["mcp"]], "nextCursor": None},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [SHAPES["mcp"]]}},
        SimpleNamespace(tools=[SHAPES["mcp object"]]),
        (SHAPES["mcp"],),
    ],
)
def test_a_server_s_list_is_taken_as_it_comes(listed):
    """What ``tools/list`` answers, as an object, a dict, or the recorded response."""
    assert tools_fingerprint(listed) == tools_fingerprint([SEARCH])


def test_a_provider_s_own_tool_has_its_configuration_as_contract():
    """A web search of the provider has no schema, but its settings change what the agent can do."""
    one = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]
    other = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}]
    assert told(one, other) == [("investigate", "schema-changed", "web_search.max_uses", "integer", "integer")]
    assert tools_fingerprint([{"type": "code_interpreter"}])["order"] == ["code_interpreter"]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([SEARCH, SEARCH], "two tools are named search_docs"),
        ([{"type": "function", "name": "f"}], "f: its parameters were not written down"),
        ([SimpleNamespace(name="f", inputSchema=None)], "f: its parameters were not written down"),
        ([{"parameters": {}}], "tool 1 of the list has no name"),
        ([SEARCH, {"name": "", "parameters": {}}], "tool 2 of the list has no name"),
        ([3], "a int is no tool definition"),
        ("text", "a list of tool definitions is needed"),
        ({"name": "f"}, "a list of tool definitions is needed"),
    ],
)
def test_what_is_no_definition_is_refused(tools, message):
    """Names without schemas have one digest across all their changes, so they have none."""
    with pytest.raises(InputError, match=message):
        tools_fingerprint(tools)


def test_a_schema_that_is_no_json_is_refused_with_its_place():
    """A set in a hand-written schema is a common slip."""
    with pytest.raises(CanonicalError, match=r"\$\.required: set is not a JSON type"):
        tools_fingerprint([{"name": "f", "parameters": {"required": {"a"}}}])


def test_nothing_is_written_onto_the_input():
    """The definitions are on their way to the model."""
    tools = tool()
    before = copy.deepcopy(tools)
    tools_diff(tools, edited(lambda p: p["properties"].clear()))
    assert tools == before
