from __future__ import annotations

from tool_definitions import SEARCH, edited, told, tool

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.tools import (
    tools_diff,
)


def test_a_renamed_argument_is_reported_as_that():
    """Whoever still sends ``q`` does not send ``query``, which is required; the report says which became which."""

    def rename(p):
        p["properties"] = {"query": p["properties"]["q"], "limit": p["properties"]["limit"]}
        p["required"] = ["query"]

    comparison = tools_diff(tool(), edited(rename))
    assert (comparison.code, comparison.primary) == (Code.DIFFERENT, "contract")
    assert comparison.causes[0].names == ("search_docs",)
    gone, new = comparison.changes
    assert (gone.path, gone.risk, gone.pattern, gone.counterpart) == (
        "search_docs.q", "high", "renamed", "search_docs.query",
    )  # fmt: skip
    assert gone.evidence == "a caller that still sends q does not send query"
    assert (new.path, new.risk, new.pattern, new.counterpart) == (
        "search_docs.query", "high", "renamed", "search_docs.q",
    )  # fmt: skip


def test_a_rename_is_told_beside_new_optional_arguments():
    """What is required tells the successor from a newcomer of the same type."""

    def rename(p):
        p["properties"] = {"query": {"type": "string"}, "lang": {"type": "string"}, "limit": {"type": "integer"}}
        p["required"] = ["query"]

    patterns = {c.path: c.counterpart for c in tools_diff(tool(), edited(rename)).changes if c.pattern == "renamed"}
    assert patterns == {"search_docs.q": "search_docs.query", "search_docs.query": "search_docs.q"}


def test_a_renamed_argument_deep_inside():
    """Arguments are objects too."""
    old = tool({"properties": {"filter": {"items": {"properties": {"a.b": {"type": "string"}}}}}})
    new = tool({"properties": {"filter": {"items": {"properties": {"ab": {"type": "string"}}}}}})
    changes = {c.path: c.counterpart for c in tools_diff(old, new).changes}
    assert changes == {
        'search_docs.filter[]["a.b"]': "search_docs.filter[].ab",
        "search_docs.filter[].ab": 'search_docs.filter[]["a.b"]',
    }


def test_words_are_told_at_their_argument():
    """Where to look is the argument, not the keyword path through the schema."""
    new = edited(lambda p: p["properties"]["q"].update(description="other"))
    assert told(tool(), new) == [("investigate", "description-changed", "search_docs.q", "text", "other text")]
    deep = [
        tool({"properties": {"f": {"items": {"properties": {"required": {"anyOf": [{"title": text}]}}}}}})
        for text in "ab"
    ]
    assert told(*deep) == [("investigate", "description-changed", "search_docs.f[].required", "text", "other text")]
    new = [{**SEARCH, "annotations": {"destructiveHint": True}}]
    assert told(tool(), new) == [("investigate", "description-changed", "search_docs", "missing", "text")]
    assert tools_diff(tool(), new).primary == "description"
