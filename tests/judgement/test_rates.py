from __future__ import annotations

import pytest

from toolpulse import shape_of
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.evidence.quarantine import QuarantineLog
from toolpulse.evidence.silence import optional_parts
from toolpulse.judgement.changes import Change
from toolpulse.judgement.rates import error_rate_change, silence_changes

WITH, WITHOUT = shape_of({"a": 1, "b": "x"}).shape, shape_of({"a": 1}).shape


def test_a_silence_is_a_change_with_its_figures():
    """The counts behind it are what a person is asked to believe."""
    rows = [(WITH, Sightings(600, 1, 1199)), (WITHOUT, Sightings(600, 2, 1200)), (WITHOUT, Sightings(400, 1201, 1600))]
    profile = fold((shape, seen, "native", frozenset()) for shape, seen in rows)
    parts = optional_parts(profile.root)
    (change,) = silence_changes(profile, WITHOUT, now=1600, parts=parts, quarantine=QuarantineLog())
    assert change == Change(
        ("b",),
        "vanished",
        "string",
        "missing",
        "600 of 1,199 before; not in the last 401",
        learned_from=1199,
        shown_by=401,
    )
    assert silence_changes(profile, WITH, now=1600, parts=parts, quarantine=QuarantineLog()) == ()


@pytest.mark.parametrize(
    ("counts", "evidence"),
    [
        ({"calls": 2000, "errors": 12, "run": 10, "recent": 10}, "10 in a row; 2 of 1,990 before"),
        ({"calls": 5000, "errors": 45, "run": 0, "recent": 40}, "40 of the last 100; 5 of 4,900 before"),
        ({"calls": 2000, "errors": 2, "run": 1, "recent": 1}, None),
    ],
    ids=["a run", "a share", "ordinary"],
)
def test_errors_that_come_too_often_are_a_change_of_the_whole_response(counts, evidence):
    """A run and a share are told in other words, each with what was usual before."""
    change = error_rate_change(**counts)
    if evidence is None:
        assert change is None
    else:
        calls = counts["calls"]
        assert change == Change((), "errors", "result", "error", evidence, learned_from=calls)
