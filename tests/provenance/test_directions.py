from __future__ import annotations

import pytest
from tool_definitions import tool

from toolpulse.provenance.tools import (
    tools_diff,
)

INSIDE = [
    ({"enum": ["a", "b"]}, {"enum": ["a"]}, "schema-narrowed"),
    ({"enum": ["a"]}, {"enum": ["a", "b"]}, "schema-widened"),
    ({"enum": ["a", "b"]}, {"enum": ["a", "c"]}, "schema-narrowed"),
    ({"minimum": 1}, {"minimum": 2}, "schema-narrowed"),
    ({"minimum": 2}, {"minimum": 1}, "schema-widened"),
    ({"maxLength": 9}, {"maxLength": 5}, "schema-narrowed"),
    ({"maxLength": 5}, {"maxLength": 9}, "schema-widened"),
    ({"maxLength": 5}, {}, "schema-widened"),
    ({"pattern": "a"}, {"pattern": "b"}, "schema-changed"),
    ({"minimum": 1}, {"minimum": "1"}, "schema-changed"),
    ({"type": ["string", "null"]}, {"type": "string"}, "schema-narrowed"),
    ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "schema-widened"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}]}, "schema-narrowed"),
    ({"allOf": [{"type": "string"}]}, {"allOf": [{"type": "string"}, {"minLength": 1}]}, "schema-narrowed"),
    ({"anyOf": [{"minimum": 1}, {}]}, {"anyOf": [{"minimum": 2}, {}]}, "schema-changed"),
    ({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, "schema-changed"),
    ({"$defs": {"A": {}}}, {"$defs": {"A": {}, "B": {}}}, "schema-changed"),
    ({"patternProperties": {"^a": {}}}, {"patternProperties": {"^b": {}}}, "schema-changed"),
    ({"additionalProperties": {"type": "string"}}, {"additionalProperties": {"type": "integer"}}, "kind-changed"),
    ({"items": {"type": "string"}}, {"items": {"type": "integer"}}, "kind-changed"),
]


@pytest.mark.parametrize(("before", "after", "rule"), INSIDE)
def test_keywords_say_which_way_they_went(before, after, rule):
    """A range that grows and one that shrinks are not the same news; where it cannot be told, somebody looks."""
    old, new = (tool({"properties": {"x": schema}}) for schema in (before, after))
    assert {change.rule_id for change in tools_diff(old, new).changes} == {rule}
    assert all(change.path.startswith("search_docs.x") for change in tools_diff(old, new).changes)
