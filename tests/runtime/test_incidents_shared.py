"""A monitor answers for the store, not only for what was called in its own process."""

from __future__ import annotations

import pytest

from toolpulse import Monitor
from toolpulse.testing import RecordingMonitor


def _break(monitor, tool="t"):
    for value in [1] * 20 + ["x"] * 5:
        monitor.observe(tool, {"id": value})
    assert monitor.flush()


def test_a_second_monitor_knows_the_incidents_and_decisions_of_the_store(any_db):
    """Whoever looks from another process sees what there is, of tools it never called as well."""
    with Monitor(any_db, sinks=[], background=False) as first, Monitor(any_db, sinks=[]) as second:
        _break(first)
        _break(first, "u")
        assert second.incidents() == first.incidents()
        assert [incident.tool for incident in second.incidents("t")] == ["t"]
        (incident,) = first.incidents("t")
        taken = second.accept(incident.id, reason="meant")
        assert second.decisions() == first.decisions() == taken
        assert first.decisions("u") == ()
        assert first.incidents("t")[0].status == "accepted"


@pytest.mark.swallows
def test_while_the_store_is_down_a_monitor_answers_from_what_it_knows(tmp_path, monkeypatch):
    """A question must not fail because of the store."""
    with Monitor(f"sqlite:///{tmp_path}/a.db", sinks=[], background=False) as monitor:
        _break(monitor)
        known = monitor.incidents()
        assert known

        def down(*_):
            raise OSError

        monkeypatch.setattr(monitor._flusher.link.store, "incidents", down)
        assert monitor.incidents() == known
    assert monitor.incidents() == known


def test_a_sink_may_ask_for_incidents():
    """It runs while the monitor works."""
    asked = []

    class Asks:
        def emit(self, event):
            asked.append(monitor.incidents())

    monitor = RecordingMonitor(sinks=[Asks()])
    _break(monitor)
    assert [len(found) for found in asked] == [0, 1]
