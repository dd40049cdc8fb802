from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import shapes, tool_responses

from toolpulse import shape_of
from toolpulse._base.paths import ITEMS
from toolpulse.evidence.profile import Profile, Sightings, fold
from toolpulse.judgement.diff import align, diff
from toolpulse.shape.nodes import Map, Object


def profile_of(*responses, encoding="native"):
    """The profile of responses, each seen ten times in turn."""
    return fold(
        (shape_of(response).shape, Sightings(10, n * 10 + 1, n * 10 + 10), encoding, frozenset())
        for n, response in enumerate(responses)
    )


def facts(profile, response, **settings):
    """What differs, as path, fact, before and after."""
    changes = diff(profile, shape_of(response).shape, **settings)
    return [(change.where, change.fact, change.before, change.after) for change in changes]


@given(shapes)
def test_where_nothing_is_known_nothing_differs(shape):
    """The first response of a tool is no news."""
    assert diff(Profile(), shape) == ()


@given(st.lists(tool_responses, min_size=1, max_size=4))
def test_what_is_known_differs_in_nothing(responses):
    """Nor does it in another encoding that is known."""
    profile = profile_of(*responses)
    for response in responses:
        assert facts(profile, response) == []


@given(st.lists(tool_responses, min_size=1, max_size=4), tool_responses)
def test_facts_are_in_order_and_none_is_stated_twice(responses, news):
    """Reports are compared line by line, so the order is part of the answer."""
    stated = diff(profile_of(*responses), shape_of(news).shape)
    assert [(c.where, c.fact, c.after) for c in stated] == sorted((c.where, c.fact, c.after) for c in stated)
    assert len({(c.path, c.fact, c.before, c.after) for c in stated}) == len(stated)


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        ([{"a": 1}], None, [("$", "empty", "object", "null")]),
        ([{"a": 1}, None], None, []),
        ([[1]], [], [("$", "empty", "non-empty", "empty")]),
        ([[1], []], [], []),
        ([[1], []], {}, [("$", "empty", "non-empty", "empty")]),
        ([[]], {}, [("$", "container", "array", "object")]),
        (["x"], [], [("$", "empty", "non-empty", "empty")]),
    ],
    ids=["none", "none is known", "empty", "empty is known", "other empty", "only empty", "text"],
)
def test_an_empty_response_is_one_fact(known, now, expected):
    """Where nothing came there is nothing below to compare."""
    assert facts(profile_of(*known), now) == expected


def test_another_encoding_is_one_fact():
    """A parser that was written for one breaks on the other; what is inside does not matter then."""
    profile = profile_of({"a": 1}, {"a": 2})
    assert facts(profile, {"b": "x"}, encoding="json-text") == [("$", "encoding", "native", "json-text")]
    assert facts(profile, "x", encoding="json-text") == [("$", "container", "object", "string")]
    (change,) = diff(profile, shape_of({"a": 1}).shape, encoding="json-text")
    assert change.evidence.startswith("20 of 20")


def test_records_that_fit_a_known_map_are_read_as_maps():
    """By their keys or by their values; a record of another sort stays one, and is a change."""
    profile = profile_of({"m": {"17": {"n": 1}, "18": {"n": 2}}})

    def kind(record):
        return type(align(profile, shape_of({"m": record}, records=["m"]).shape, 20).fields["m"])

    assert kind({"ann": {"n": 1}}) is Map
    assert kind({"19": "x"}) is Map
    assert kind({}) is Map
    assert kind({"ann": {"m": 1}}) is Object
    assert kind({"ann": "x"}) is Object


def test_where_a_walk_was_cut_absence_means_nothing():
    """The field may have been there, beyond the limit."""
    profile = profile_of({"rows": [{"a": 1, "b": 1}]})
    assert facts(profile, {"rows": [{"a": 1}]}) == [("rows[].b", "missing", "integer", "missing")]
    assert facts(profile, {"rows": [{"a": 1}]}, cuts=frozenset({("rows", ITEMS)})) == []
