from __future__ import annotations

import pytest

from toolpulse import Consumer, Risk
from toolpulse.testing import RecordingMonitor


def observe(monitor, response, times=1):
    """So many equal responses."""
    for _ in range(times):
        monitor.observe("t", response)


@pytest.mark.parametrize(("between", "rules"), [(9, []), (10, ["field-removed"])])
def test_a_known_shape_is_judged_again_after_ten_others(between, rules):
    """What it lacks is required once ten responses had it, although it was ordinary when it was learned."""
    monitor = RecordingMonitor()
    observe(monitor, {"id": 1}, 10)
    observe(monitor, {"id": 1, "name": "x"}, between)
    before = len(monitor.events)
    observe(monitor, {"id": 1})
    assert [change.rule_id for event in monitor.events[before:] for change in event.changes] == rules


@pytest.mark.parametrize(
    "settings",
    [{"ignore": ["**"]}, {"ignore": ["$"]}, {"opaque": True}, {"requires": ["id"]}],
    ids=["ignores all", "ignores the root", "opaque", "reads one field"],
)
def test_no_policy_hides_that_calls_fail(settings):
    """Whoever forwards responses, or reads one field of them, has nothing to forward where there is none."""
    monitor = RecordingMonitor(consumers=[Consumer("reader", **settings)])
    observe(monitor, {"id": 1}, 30)
    observe(monitor, {"isError": True, "content": [{"type": "text", "text": "no"}]}, 20)
    (event,) = monitor.drift
    assert [(change.rule_id, change.risk) for change in event.changes] == [("error-rate", Risk.AVAILABILITY)]
