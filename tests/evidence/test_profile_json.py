from __future__ import annotations

import pytest

from toolpulse import shape_of
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.evidence.profile_json import dense, sparse

# written by the first versions, whose names for four of the figures are kept in what is stored
STORED = {
    "encodings": {"native": [3, 1, 3]},
    "root": {
        "seen": [3, 1, 3],
        "kinds": {"array": [3, 1, 3]},
        "valued": [3, 1, 3],
        "filled": [3, 1, 3],
        "items": {
            "seen": [3, 1, 3],
            "kinds": {"object": [3, 1, 3]},
            "valued": [3, 1, 3],
            "objects": [3, 1, 3],
            "filled": [3, 1, 3],
            "cut": [1, 3, 3],
            "whole": 3,
            "fields": {
                "a": {"seen": [3, 1, 3], "kinds": {"integer": [3, 1, 3]}, "valued": [3, 1, 3], "always": [3, 1, 3]},
                "b": {
                    "seen": [1, 2, 2],
                    "kinds": {"integer": [1, 2, 2]},
                    "valued": [1, 2, 2],
                    "partly": [1, 2, 2],
                    "lacking": 3,
                },
            },
            "pairs": [["a", "b"]],
        },
    },
}
RESPONSES = (([{"a": 1}], frozenset()), ([{"a": 1}, {"a": 1, "b": 1}], frozenset()), ([{"a": 1}], frozenset({()})))


def test_what_earlier_versions_stored_is_read_and_written_alike():
    """Baseline files and databases outlive a version, in both directions."""
    rows = [(shape_of(r).shape, Sightings(1, n, n), "native", cuts) for n, (r, cuts) in enumerate(RESPONSES, 1)]
    profile = fold(rows)
    assert dense(STORED) == profile
    b = dense(STORED).root.items.fields["b"]
    assert (b.in_some.plain(), b.last_absent) == ((1, 2, 2), 3)
    assert (profile.root.items.truncated.plain(), profile.root.items.last_complete) == ((1, 3, 3), 3)
    assert dense(sparse(profile)) == profile
    assert sparse(profile)["root"]["items"].keys() == STORED["root"]["items"].keys()


@pytest.mark.parametrize("name", ["cut", "partly"])
def test_figures_that_do_not_go_together_are_refused(name):
    """A file may be anything."""
    with pytest.raises(ValueError, match="do not go together"):
        dense({"encodings": {}, "root": {name: [0, 5, 2]}})
