from __future__ import annotations

from typing import get_args

import pytest

from toolpulse import Consumer
from toolpulse._base.paths import ITEMS, parse_path
from toolpulse.judgement.changes import NEW_SHAPE, WARM_UP, Change, Pattern
from toolpulse.judgement.findings import findings


@pytest.mark.parametrize("path", [(), ("a",), ("a.b", ITEMS, "c"), ("[]", "$")], ids=["root", "field", "dots", "marks"])
def test_where_a_change_is_can_be_read_back(path):
    """People copy the printed path into their settings."""
    assert parse_path(Change(path, "kind", "integer", "string", "").where) == path


def test_what_one_observation_shows_is_learned_from_nothing_unless_it_is_said():
    """These two count as evidence: a default that claims more would raise a risk."""
    change = Change(("a",), "kind", "integer", "string", "")
    assert (change.learned_from, change.shown_by) == (0, 1)
    assert (change.in_some, change.truncated) == (False, False)


def test_the_warm_up_is_ten():
    """What a baseline that is still learning saw fewer than ten times alarms nobody; the documentation says so."""

    def risk(times):
        change = Change(("a",), "kind", "integer", "string", "", learned_from=times)
        (finding,) = findings((change,), (Consumer("c"),), sealed=False)
        return str(finding.risk)

    assert WARM_UP == 10
    assert (risk(9), risk(10)) == ("info", "high")


def test_patterns_and_new_shapes_are_called_as_stored():
    """Incidents in stores hold these words: another spelling would be another incident."""
    assert set(get_args(Pattern)) == {
        "renamed", "wrapped", "unwrapped", "single-element-collapsed", "replaced-by-error",
    }  # fmt: skip
    assert NEW_SHAPE == "new element shape"
