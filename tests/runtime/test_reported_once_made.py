"""An incident counts as told only once there is an event of it, and no reader's setting loses another's."""

from __future__ import annotations

import pytest

from toolpulse import Consumer
from toolpulse.state import tool_state as live_room
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick]

GOOD = {"id": 1, "items": [1, 2]}
BROKEN = {"id": "x", "items": [1] * 150}


def _no_event(*_, **__):
    raise IndexError


@pytest.mark.parametrize("settings", [{"risk": {"truncation-changed": "quiet"}}, {"ignore": ["items"]}])
@pytest.mark.parametrize("others", [(), (Consumer("other"),)])
def test_silencing_one_rule_loses_no_other(settings, others):
    """A long list beside a kind change: the list is quiet, the kind change is told of."""
    monitor = RecordingMonitor(consumers=[Consumer("p", **settings), *others])
    for _ in range(12):
        monitor.observe("t", GOOD)
    for _ in range(5):
        monitor.observe("t", BROKEN)
    told = [event for event in monitor.events if event.status == "open"]
    assert [change.rule_id for event in told for change in event.changes] == ["kind-changed"]
    assert "p" in told[0].risks


@pytest.mark.parametrize("settings", [{"risk": {"map-learned": "quiet"}}, {"ignore": ["$", "**"]}])
def test_a_quiet_map_loses_not_what_was_learned(settings):
    """What was learned is told of in the moment in which a map is."""
    monitor = RecordingMonitor(consumers=[Consumer("p", **settings)])
    for n in range(30):
        word = "".join(chr(97 + (n * 7 + i * 5) % 26) for i in range(6))
        monitor.observe("t", {f"{word}{chr(97 + j)}": {"a": 1, "b": "x"} for j in range(3)})
    assert [event.status for event in monitor.events].count("learned") == 1


@pytest.mark.swallows
@pytest.mark.parametrize("background", [False, True])
def test_an_event_that_cannot_be_made_is_told_of_later(monkeypatch, background):
    """The incident is as good as unknown to everybody until then; an error there lost it for good."""
    monitor = RecordingMonitor(background=background)
    for _ in range(20):
        monitor.observe("t", GOOD)
    monitor.flush()
    made = live_room.incident_event
    monkeypatch.setattr(live_room, "incident_event", _no_event)
    for _ in range(5):
        monitor.observe("t", {**GOOD, "id": "x"})
    monitor.flush()
    assert "judging: IndexError" in monitor.health().swallowed_by
    assert [event.status for event in monitor.events] == ["learned"]
    monkeypatch.setattr(live_room, "incident_event", made)
    monitor.observe("t", GOOD)  # not the break: what is owed does not wait for it to come again
    monitor.flush()
    assert [event.status for event in monitor.events] == ["learned", "open"]
    assert monitor.health().tools["t"].unjudged == 0


@pytest.mark.swallows
def test_an_error_in_judging_loses_no_event_made_before(monkeypatch):
    """One batch holds many shapes; what was told of the first is not lost with the last."""
    monitor = RecordingMonitor(background=True, flush_interval=10_000.0)
    for _ in range(20):
        monitor.observe("t", GOOD)
    monitor.flush()
    live = monitor._channels["t", ""].state
    monkeypatch.setattr(live, "_report_absences", _no_event)
    for _ in range(5):
        monitor.observe("t", {**GOOD, "id": "x"})
    monitor.flush()
    assert [event.status for event in monitor.events] == ["learned", "open"]
