from __future__ import annotations

import pytest
from corpus import shared
from version_pairs import SOURCES, covers, must_be_found, outcome, pairs


@pytest.mark.parametrize("source", SOURCES)
def test_listed_changes_are_found_and_nothing_else_is_high(source):
    """Years of versions of public APIs: every break is seen, and no version is called broken that was not."""
    shared("corpus", "version_pairs", source)
    seen = listed = 0
    for pair in pairs(source):
        result = outcome(pair)
        assert result.missed == [], pair.name
        assert result.unexpected == [], pair.name
        seen += 1
        listed += len(result.listed)
    assert (seen, listed) >= {"octokit_webhooks": (70, 3), "slack_samples": (70, 100), "stripe": (300, 800)}[source]


@pytest.mark.parametrize(
    ("found", "listed", "expected"),
    [
        ("a", "a", True), ("a", "a.b[].c", True), ("a.b", "a", False), ("a.b", "a.c", False), ("$", "a", True),
        ("a.*.c", "a.b.c", True), ("a.*", "a[]", False), ("a[]", "a[].b", True), ("ab", "a", False),
    ],
)  # fmt: skip
def test_a_finding_covers_what_lies_at_and_below_it(found, listed, expected):
    """The comparison itself must not be what makes the figures good."""
    assert covers(found, listed) is expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"change": "added", "now": ["string"]}, False),
        ({"change": "removed", "path": "a.b", "was": ["string"]}, True),
        ({"change": "removed", "path": "a[]", "was": ["string"]}, False),
        ({"change": "kind", "was": ["integer", "string"], "now": ["string"]}, False),
        ({"change": "kind", "was": ["string"], "now": ["null"]}, True),
        ({"change": "kind", "was": ["null"], "now": ["string"]}, True),
    ],
)
def test_which_listed_changes_must_be_found(change, expected):
    """A kind that is not there this time is no change; all else is."""
    assert must_be_found(change) is expected
