from __future__ import annotations

import pytest

from toolpulse.evidence.rows import Row
from toolpulse.shape import Walker
from toolpulse.state.learning.live_baseline import LiveBaseline
from toolpulse.state.learning.summary import describe


@pytest.mark.parametrize(
    ("response", "calls", "said"),
    [
        ({}, 10, "learned 0 paths (0 optional) from 10 calls"),
        ({"a": 1}, 1, "learned 1 path (0 optional) from 1 call"),
        ({"a": 1, "b": 1}, 10, "learned 2 paths (0 optional) from 10 calls"),
    ],
)
def test_one_is_no_plural(response, calls, said):
    """The first line that anybody reads of a tool is in plain English."""
    baseline = LiveBaseline(Walker())
    baseline.learn(Row(baseline.walker.observe(response).shape, calls, 1, calls))
    assert describe(baseline, calls, ()) == said
