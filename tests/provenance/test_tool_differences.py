from __future__ import annotations

import pytest
from tool_definitions import SEARCH, Q, edited, told, tool

from toolpulse.provenance.tools import (
    tools_diff,
)

MEANINGS = [
    (lambda p: p["properties"].pop("limit"), ("high", "field-removed", "search_docs.limit", "integer", "missing")),
    (
        lambda p: p["properties"].update(x={"type": "string"}),
        ("info", "field-added-in-some", "search_docs.x", "missing", "string"),
    ),
    (
        lambda p: (p["properties"].update(x={}), p["required"].append("x")),
        ("high", "field-added", "search_docs.x", "missing", "any"),
    ),
    (
        lambda p: p["required"].append("limit"),
        ("high", "schema-required", "search_docs.limit", "optional", "required"),
    ),
    (lambda p: p.update(required=[]), ("info", "field-absent-in-some", Q, "required", "optional")),
    (
        lambda p: p["properties"]["limit"].update(type="number"),
        ("info", "number-widened", "search_docs.limit", "integer", "number"),
    ),
    (lambda p: p["properties"]["q"].update(type="integer"), ("high", "kind-changed", Q, "string", "integer")),
    (lambda p: p["properties"]["q"].update(type="array"), ("high", "container-changed", Q, "string", "array")),
    (
        lambda p: p["properties"]["q"].update(type=["string", "null"]),
        ("info", "null-first-seen", Q, "not null", "null"),
    ),
    (
        lambda p: p["properties"]["q"].update(type=["string", "integer"]),
        ("info", "schema-widened", Q, "refused", "integer"),
    ),
    (lambda p: p["properties"]["q"].pop("type"), ("info", "schema-widened", Q, "string", "any")),
    (lambda p: p["properties"]["q"].update(enum=["a"]), ("high", "schema-narrowed", Q, "any", "enum")),
    (lambda p: p["properties"]["q"].update(maxLength=5), ("high", "schema-narrowed", Q, "missing", "integer")),
    (lambda p: p["properties"]["q"].update(default="x"), ("investigate", "schema-changed", Q, "missing", "string")),
    (lambda p: p.update(additionalProperties=False), ("high", "schema-narrowed", "search_docs", "missing", "boolean")),
    (
        lambda p: p.update(additionalProperties=True),
        ("investigate", "schema-changed", "search_docs", "missing", "boolean"),
    ),
    (
        lambda p: p["properties"]["q"].update(items={"type": "string"}),
        ("investigate", "schema-changed", Q, "missing", "object"),
    ),
    (lambda p: p["required"].append("ghost"), ("high", "schema-required", "search_docs.ghost", "optional", "required")),
]


@pytest.mark.parametrize(("edit", "expected"), MEANINGS)
def test_what_a_change_means_to_callers(edit, expected):
    """New reader, old writer: what is taken away breaks callers, what is added does not."""
    assert told(tool(), edited(edit)) == [expected]


def test_no_value_of_a_schema_is_told():
    """Defaults and enums can be secrets of whoever wrote them."""
    old, new = (
        tool({"properties": {"x": {"enum": [f"secret{n}"], "default": f"secret{n}", "description": f"secret{n}"}}})
        for n in (1, 2)
    )
    assert "secret" not in repr(tools_diff(old, new))


def test_tools_that_come_and_go():
    """A tool that is gone breaks its callers, one that is new does not; one under another name is told as that."""
    other = {"name": "get_page", "parameters": {"type": "object"}}
    assert told([SEARCH, other], [SEARCH]) == [("high", "field-removed", "get_page", "tool", "missing")]
    assert told([SEARCH], [SEARCH, other]) == [("info", "field-added-in-some", "get_page", "missing", "tool")]
    gone, new = tools_diff([other], [{**other, "name": "fetch_page"}]).changes
    assert (gone.pattern, gone.counterpart, new.counterpart) == ("renamed", "fetch_page", "get_page")
    assert tools_diff([SEARCH, other], [SEARCH]).primary == "removed"
    assert tools_diff([SEARCH], [SEARCH, other]).primary == "added"


def test_another_order_is_told_and_is_no_alarm():
    """The model sees tools in order, so it is part of the digest; it is no change of any tool."""
    other = {"name": "get_page", "parameters": None}
    comparison = tools_diff([SEARCH, other], [other, SEARCH])
    assert comparison.primary == "reordered"
    assert [(c.risk.value, c.rule_id, c.path) for c in comparison.changes] == [("info", "tools-reordered", "$")]


def test_output_schemas_are_judged_as_responses_are():
    """There the caller reads: what is new is harmless, what may be missing is not."""
    old = tool(outputSchema={"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]})
    new = tool(outputSchema={"properties": {"a": {"type": ["string", "null"]}, "c": {"type": "string"}}})
    found = {(c.path, c.rule_id): (c.risk.value, c.evidence) for c in tools_diff(old, new).changes}
    assert found == {
        ("search_docs.a", "field-absent-in-some"): ("investigate", "output: it may be missing now"),
        ("search_docs.a", "null-first-seen"): ("investigate", "output: null is taken too"),
        ("search_docs.b", "field-removed"): ("high", "output: readers still look for it"),
        ("search_docs.c", "field-added"): ("info", "output: optional"),
    }
