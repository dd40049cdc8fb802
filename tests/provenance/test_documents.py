from __future__ import annotations

import pytest
from hypothesis import given
from json_documents import documents

from toolpulse._base.canonical import digest_of
from toolpulse.provenance.comparison.documents import compare


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1}, {"a": 2}, [("a", "value", "integer", "integer")]),
        ({"a": 0}, {"a": 0.0}, [("a", "kind", "integer", "number")]),
        ({"a": 1}, {"a": True}, [("a", "kind", "integer", "boolean")]),
        ({"a": None}, {"a": "x"}, [("a", "refined", "null", "string")]),
        ({"a": {}}, {"a": None}, [("a", "null", "object", "null")]),
        ({"a": {}}, {"a": []}, [("a", "container", "object", "array")]),
        ({"a": {"b": 1}}, {}, [("a", "missing", "object", "missing")]),
        ({}, {"a.b": {"b": 1}}, [('["a.b"]', "added", "missing", "object")]),
        ([1, 2, 3], [1, 3], [("[]", "missing", "integer", "missing")]),
        ([1, 3], [1, "2", 3], [("[]", "added", "missing", "string")]),
        ("x", "y", [("$", "value", "string", "string")]),
        ({"a": None}, {}, [("a", "missing", "null", "missing")]),
    ],
)
def test_what_a_comparison_says(one, other, expected):
    """The facts are those of the diff of responses, with one more for a value; absence is no null."""
    assert [(c.where, c.fact, c.before, c.after) for c in compare(one, other)] == expected


def test_a_comparison_tells_no_value_unless_asked():
    """A prompt must not reach a log because it changed."""
    before, after = {"system": "secret one"}, {"system": "secret two", "more": ["secret three"]}
    assert "secret" not in repr(compare(before, after))
    shown = compare(before, after, values=True)
    assert [(c.before, c.after) for c in shown] == [("missing", '["secret three"]'), ('"secret one"', '"secret two"')]


def test_a_comparison_says_which_element():
    """Ten examples in a prompt: the third one changed."""
    (change,) = compare({"examples": [1, 2, 3, 4]}, {"examples": [1, 2, 9, 4]})
    assert change.evidence == "the value differs, element 3 of 4"


def test_a_renamed_field_is_told_as_that():
    """One gone, one new of the same value; with a rival nothing is guessed."""
    gone, new = sorted(compare({"q": {"type": "string"}}, {"query": {"type": "string"}}), key=lambda c: c.where)
    assert (gone.pattern, gone.counterpart) == ("renamed", "query")
    assert (new.pattern, new.counterpart) == ("renamed", "q")
    assert all(c.pattern is None for c in compare({"q": 1}, {"a": 1, "b": 1}))


@given(documents, documents)
def test_a_comparison_is_empty_exactly_if_the_digests_are_equal(one, other):
    """A verdict and its reasons must not contradict each other."""
    assert (not compare(one, other)) is (digest_of(one) == digest_of(other))


@given(documents, documents)
def test_a_comparison_is_symmetric_in_what_differs(one, other):
    """Which run is called the first is chance."""
    there, back = compare(one, other), compare(other, one)
    assert sorted((c.where, c.before, c.after) for c in there) == sorted((c.where, c.after, c.before) for c in back)
