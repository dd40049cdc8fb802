from __future__ import annotations

from typing import get_args

from toolpulse._base.paths import ITEMS
from toolpulse.provenance.comparison.difference import Difference, Fact
from toolpulse.provenance.comparison.documents import compare

PAIRS = {
    "missing": ({"a": 1}, {}),
    "added": ({}, {"a": 1}),
    "kind": ({"a": 1}, {"a": "x"}),
    "container": ({"a": 1}, {"a": [1]}),
    "null": ({"a": 1}, {"a": None}),
    "refined": ({"a": None}, {"a": 1}),
    "value": ({"a": 1}, {"a": 2}),
}


def test_two_documents_differ_in_the_facts_that_are_listed():
    """Rules look facts up by their words; the others are of schemas only."""
    stated = {fact: [one.fact for one in compare(*pair)] for fact, pair in PAIRS.items()}
    assert stated == {fact: [fact] for fact in PAIRS}
    assert set(get_args(Fact)) - PAIRS.keys() == {"required", "narrowed", "widened", "text", "order"}


def test_where_a_difference_is_is_printed_as_everywhere():
    """A name with a dot in it must not read as two."""
    assert Difference(("a.b", ITEMS, "c"), "value", "1", "2", "").where == '["a.b"][].c'
