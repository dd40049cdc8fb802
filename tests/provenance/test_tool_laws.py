from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tool_definitions import tool

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.tools import (
    tools_diff,
    tools_fingerprint,
)

# laws

words = st.sampled_from(["a", "b", "description", "properties", "required", "items", "0", "x.y"])
schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "null", ["string", "null"], ["null", "string"]]),
            "description": st.sampled_from(["x", "y"]),
            "enum": st.lists(st.sampled_from([1, 1.0, "a", None]), max_size=3),
            "minimum": st.sampled_from([1, 1.0, 2, "1"]),
            "required": st.lists(words, max_size=2),
            "default": st.sampled_from([None, 0, {"description": "z"}]),
        },
    )
    | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("object"),
            "properties": st.dictionaries(words, inner, max_size=3),
            "required": st.lists(words, max_size=2),
            "items": inner | st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=2),
            "$defs": st.dictionaries(words, inner, max_size=2),
            "patternProperties": st.dictionaries(words, inner, max_size=2),
            "additionalProperties": inner,
            "not": inner,
        },
    ),
    max_leaves=6,
)


def sets(names=("f", "g")):
    """Sets of tools in any order."""
    one = st.builds(lambda n, p, d: {"name": n, "parameters": p, "description": d},
                    st.sampled_from(names), schemas, st.sampled_from(["", "x"]))  # fmt: skip
    return st.lists(one, max_size=3, unique_by=lambda tool: tool["name"])


@given(sets(), sets())
def test_a_diff_is_empty_exactly_if_the_digests_are_equal(one, other):
    """A changed digest always has a reason that is shown, and no reason is shown without one."""
    comparison = tools_diff(one, other)
    same = tools_fingerprint(one)["digest"] == tools_fingerprint(other)["digest"]
    assert (comparison.code is Code.OK) is same
    assert (not comparison.changes) is same
    assert (not comparison.causes) is same


@given(schemas, schemas)
def test_each_digest_has_its_own_reasons(one, other):
    """A contract that differs is told by a change of the contract, words by a change of words."""
    old, new = (tools_fingerprint(tool(schema))["tools"]["search_docs"] for schema in (one, other))
    comparison = tools_diff(tool(one), tool(other))
    reasons = {cause.reason for cause in comparison.causes}
    assert ("contract" in reasons) is (old["contract"] != new["contract"])
    assert ("description" in reasons) is (old["description"] != new["description"])
    assert any(c.rule_id != "description-changed" for c in comparison.changes) is ("contract" in reasons)


def shuffled(value):
    """The same JSON with every object's keys the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(inner) for key, inner in reversed(value.items())}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@given(sets())
def test_key_order_is_irrelevant(tools):
    """JSON objects have no order."""
    assert tools_fingerprint(shuffled(tools)) == tools_fingerprint(tools)


@given(schemas)
def test_a_contract_is_its_own_contract(schema):
    """Reducing what is reduced changes nothing, so a pin can be pinned again."""
    from toolpulse.provenance.schemas.json_schema import contract

    assert contract(contract(schema)) == contract(schema)
