from __future__ import annotations

import pytest
from tool_definitions import edited, naive, told, tool

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.tools import (
    tools_diff,
    tools_fingerprint,
    whole_numbers,
)


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p["properties"]["q"].update(title="Q", examples=["x"], **{"$comment": "why"}),
        lambda p: p["properties"]["q"].pop("description"),
        lambda p: p.update(description="of all"),
    ],
)
def test_words_are_no_contract(edit):
    """A caller that works goes on working."""
    one, other = (tools_fingerprint(tools)["tools"]["search_docs"] for tools in (tool(), edited(edit)))
    assert one["contract"] == other["contract"]
    assert one["description"] != other["description"]


def test_a_property_called_description_is_kept():
    """A naive strip of every key of that name loses an argument, and its removal goes unseen."""
    with_it = edited(lambda p: p["properties"].update(description={"type": "string"}, title={"type": "string"}))
    assert told(tool(), with_it) == [
        ("info", "field-added-in-some", "search_docs.description", "missing", "string"),
        ("info", "field-added-in-some", "search_docs.title", "missing", "string"),
    ]
    data = edited(lambda p: p["properties"]["q"].update(default={"description": "x"}))
    other = edited(lambda p: p["properties"]["q"].update(default={"description": "y"}))
    assert tools_diff(data, other).primary == "contract"


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p["required"].append("q"),
        lambda p: p.update(properties=dict(reversed(p["properties"].items()))),
        lambda p: p["properties"]["limit"].update(type=["integer"]),
    ],
)
def test_what_means_the_same_is_the_same(edit):
    """Order of keys, repeats in a set, a list of one type: servers write them differently from day to day."""
    assert tools_diff(tool(), edited(edit)).code is Code.OK


def test_sets_and_whole_floats():
    """``required``, ``enum`` and ``type`` are sets; a proxy in JavaScript rewrites 1.0 as 1."""
    one = edited(lambda p: p["properties"].update(x={"enum": ["a", "b", 1.0], "type": ["string", "number"]}))
    other = edited(lambda p: p["properties"].update(x={"type": ["number", "string"], "enum": [1, "b", "a"]}))
    assert naive(one) != naive(other)
    assert tools_diff(one, other).code is Code.OK
    assert whole_numbers({"a": [1.0, 1.5, 2.0**53, 2.0**60, True, "1.0"]}) == {
        "a": [1, 1.5, 2**53, 2.0**60, True, "1.0"]
    }
    assert [type(n) for n in whole_numbers([1.0, 2.0**60, True])] == [int, float, bool]


def test_an_empty_required_is_none():
    """``required: []`` asks for nothing."""
    assert tools_diff(edited(lambda p: p.pop("required")), edited(lambda p: p.update(required=[]))).code is Code.OK
