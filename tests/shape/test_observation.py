from __future__ import annotations

import pytest

from toolpulse import Limits, fingerprint, shape_of
from toolpulse.shape import Truncation

SENTENCES = {
    "cycle": "a.b: refers to itself",
    "depth": "a.b: deeper than the limit",
    "name": "a.b: a field name is longer than the limit",
    "unreadable": "a.b: reading it failed",
    "elements": "a.b: 1,000 of 2,000 elements seen",
    "nodes": "a.b: 1,000 of 2,000 elements seen",
    "work": "a.b: 1,000 of 2,000 parts seen",
    "shapes": "a.b: 1,000 of 2,000 element shapes seen",
    "text": "a.b: 1,000 of 2,000 characters of text seen",
    "fields": "a.b: 1,000 of 2,000 fields seen",
}


@pytest.mark.parametrize("limit", SENTENCES)
def test_a_truncation_is_a_sentence(limit):
    """Logs and commands print it as it is, so that a reader knows what was not looked at."""
    assert str(Truncation("a.b", limit, 1000, 2000)) == SENTENCES[limit]


def test_every_limit_has_its_sentence():
    """A limit that is added must say what it cut."""
    assert set(Limits.__struct_fields__) <= SENTENCES.keys()


def test_what_was_cut_is_no_part_of_the_fingerprint():
    """The same shape is the same, however much of it was left out to get there."""
    whole, cut = shape_of([1, 2]), shape_of([1, 2, 3], Limits(elements=2))
    assert cut.truncations == (Truncation("$", "elements", 2, 3),)
    assert whole.fingerprint == shape_of([1]).fingerprint == fingerprint([7])


@pytest.mark.parametrize("limit", Limits.__struct_fields__)
def test_one_is_the_least_of_each_limit(limit):
    """A limit of nothing would be a walk that sees nothing."""
    assert getattr(Limits(**{limit: 1}), limit) == 1
