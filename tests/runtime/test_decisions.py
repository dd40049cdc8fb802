from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolpulse import Baseline, Consumer, Monitor
from toolpulse.errors import ConfigurationError
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

GOOD = {"id": 1, "score": 0.5, "note": "n"}
BAD = {"id": "1", "score": "high", "note": "n"}


def feed(monitor, *runs, tool="t"):
    """Observe (response, times) blocks."""
    for response, times in runs:
        for _ in range(times):
            monitor.observe(tool, response)


def broken(times=7, **settings):
    """A monitor with one open incident of two changes."""
    monitor = RecordingMonitor(**settings)
    feed(monitor, (GOOD, 20), (BAD, times))
    monitor.events.clear()
    return monitor, monitor.incidents()[0].id


def rows(monitor, tool="t"):
    """What taught: count, first and last ordinal of each shape."""
    return sorted((row.count, row.first, row.last) for row in monitor._channels[tool, ""].state.rows)


def test_what_was_held_teaches_with_its_counts_and_ordinals():
    """Accepting is as if it had taught all along."""
    monitor, incident = broken()
    assert rows(monitor) == [(20, 1, 20)]
    (decision,) = monitor.accept(incident, reason="planned", who="mia")
    assert rows(monitor) == [(7, 21, 27), (20, 1, 20)]
    assert (decision.action, decision.incident, decision.reason, decision.who) == ("accept", incident, "planned", "mia")
    assert sorted(key[0] for key in decision.changes) == ["id", "score"]
    assert decision.time
    feed(monitor, (BAD, 3), (GOOD, 3), ({"id": "1", "score": 1, "note": "n"}, 3))
    assert [event.status for event in monitor.events] == ["accepted"]
    assert sum(count for count, _, _ in rows(monitor)) == 36


def test_one_change_of_an_incident():
    """The other stays open and keeps the shape from teaching."""
    monitor, incident = broken()
    monitor.accept(incident, "score")
    assert rows(monitor) == [(20, 1, 20)]
    assert monitor.incidents()[0].status == "open"
    feed(monitor, ({**GOOD, "score": "high"}, 2))
    assert rows(monitor) == [(2, 28, 29), (20, 1, 20)]
    monitor.accept(incident, "id")
    assert monitor.incidents()[0].status == "accepted"
    assert rows(monitor) == [(2, 28, 29), (7, 21, 27), (20, 1, 20)]
    assert len(monitor.decisions()) == 2


def test_rejecting_one_change_does_not_mute_the_other():
    """The incident is over only when all of it was decided; kept out is kept out."""
    monitor, incident = broken()
    monitor.reject(incident, "score")
    assert monitor.incidents()[0].status == "open"
    monitor.accept(incident, "id")
    assert monitor.incidents()[0].status == "rejected"
    assert rows(monitor) == [(20, 1, 20)]
    feed(monitor, ({**GOOD, "id": "1"}, 2))
    assert rows(monitor) == [(2, 28, 29), (20, 1, 20)]


def test_all_that_is_open_of_a_tool():
    """By the tool's name: what is worse than info, and of no other tool."""
    monitor, _ = broken()
    feed(monitor, ({**GOOD, "note": 5}, 2), ({**GOOD, "new": 1}, 1))
    feed(monitor, (GOOD, 20), (BAD, 2), tool="other")
    taken = monitor.accept("t", who="mia")
    assert len(taken) == 2
    assert {incident.status for incident in monitor.incidents("t") if incident.risk.is_news} == {"accepted"}
    assert [incident.status for incident in monitor.incidents("other")] == ["open"]
    assert monitor.accept("t") == ()
    assert monitor.decisions("other") == ()


@pytest.mark.parametrize("action", ["accept", "reject", "ignore"])
def test_a_decision_taken_twice_is_taken_once(action):
    """Two people press the button, two processes hear of it."""
    monitor, incident = broken()
    assert len(getattr(monitor, action)(incident, reason="a", who="mia")) == 1
    before = rows(monitor), monitor.incidents(), len(monitor.events)
    assert getattr(monitor, action)(incident, reason="b", who="tom") == ()
    assert (rows(monitor), monitor.incidents(), len(monitor.events)) == before
    assert [(decision.reason, decision.who) for decision in monitor.decisions()] == [("a", "mia")]


@pytest.mark.parametrize(
    ("action", "status", "text"),
    [("accept", "accepted", "accept: new ids"), ("reject", "rejected", "reject: new ids"), ("ignore", "ignored", None)],
)
def test_a_decision_is_told_to_sinks(action, status, text):
    """Whoever reads the log sees what was decided, and why."""
    monitor, incident = broken()
    getattr(monitor, action)(incident, **({"reason": "new ids"} if text else {}))
    (event,) = monitor.events
    assert (event.status, event.incident, event.decision) == (status, incident, text or action)
    assert event.count == 7


@pytest.mark.parametrize("action", ["reject", "ignore"])
def test_what_is_rejected_or_ignored_is_counted_and_neither_teaches_nor_is_told(action):
    """It stays out for good; of a rejected one it is told that it is over, since a return is a break again."""
    monitor, incident = broken()
    getattr(monitor, action)(incident)
    monitor.events.clear()
    feed(monitor, (BAD, 200), (GOOD, 300), (BAD, 200))
    assert [event.status for event in monitor.events] == (["resolved"] if action == "reject" else [])
    assert rows(monitor) == [(320, 1, 527)]
    assert monitor.incidents()[0].count == 407


def test_whoever_changes_his_mind_may_come_back_to_it():
    """Reject, accept, reject: each is a decision of its own, and the last one stands."""
    monitor, incident = broken()
    monitor.reject(incident)
    monitor.accept(incident)
    assert rows(monitor) == [(7, 21, 27), (20, 1, 20)]
    monitor.reject(incident)
    assert [d.action for d in monitor.decisions()] == ["reject", "accept", "reject"]
    assert monitor.incidents()[0].status == "rejected"
    assert monitor.accept(incident, reason="after all")
    assert monitor.incidents()[0].status == "accepted"
    assert len({d.id for d in monitor.decisions()}) == 4
    assert len({e.id for e in monitor.events}) == 4


def test_what_does_not_exist_is_named():
    """A misspelt target must not look like a decision."""
    monitor, incident = broken()
    for target, paths, words in (
        ("nothing", (), "'nothing' is neither an incident nor a tool"),
        (incident, ("idd",), "no change at idd; it has id, score"),
        (incident, ("id", "idd"), "no change at idd"),
    ):
        for action in (monitor.accept, monitor.reject, monitor.ignore):
            with pytest.raises(ConfigurationError, match=words):
                action(target, *paths)
    feed(monitor, ({**GOOD, "note": 5}, 1))
    with pytest.raises(ConfigurationError, match="2 incidents"):
        monitor.accept("t", "id")
    assert monitor.decisions() == ()
    assert monitor.events[-1].status == "open"


def test_a_restart_keeps_decisions_and_what_they_mean():
    """The trail grows, in its order; what was accepted is no news to the next process."""
    store = MemoryStore()
    monitor, incident = broken(store=store)
    monitor.accept(incident, "id", who="mia")
    monitor.reject(incident, "score", who="tom")
    monitor.close()
    with RecordingMonitor(store=store) as again:
        feed(again, ({**GOOD, "id": "1"}, 2), (BAD, 2))
        assert [(d.action, d.who) for d in again.decisions()] == [("accept", "mia"), ("reject", "tom")]
        assert again.events == []
        assert rows(again) == [(2, 28, 29), (20, 1, 20)]
        assert again.accept(incident, "id") == ()
        assert again.incidents()[0].status == "rejected"
    assert len(store.load("t", "").decisions) == 2


def test_what_was_held_before_a_restart_teaches_when_it_is_accepted():
    """Held shapes are stored with their counts, and so is the decision."""
    store = MemoryStore()
    monitor, incident = broken(store=store)
    monitor.close()
    with RecordingMonitor(store=store) as again:
        feed(again, (GOOD, 1))
        again.accept(incident)
        feed(again, (BAD, 4))
        assert [event.status for event in again.events] == ["accepted"]
        assert rows(again) == [(11, 21, 32), (21, 1, 28)]


def test_a_sealed_baseline_stays_as_it_is_and_accepts():
    """What was committed is not changed by a decision, but what was accepted is no news."""
    store, sealed = MemoryStore(), Baseline.learn([GOOD] * 12)
    before = sealed.to_json()
    with RecordingMonitor(store=store, baselines={"t": sealed}) as monitor:
        feed(monitor, (BAD, 3))
        (incident,) = monitor.incidents()
        monitor.accept(incident.id, reason="planned")
        feed(monitor, (BAD, 3))
        assert [event.status for event in monitor.events] == ["open", "accepted"]
        assert sealed.to_json() == before
    with RecordingMonitor(store=store, baselines={"t": sealed}) as again:
        feed(again, (BAD, 3), ({**BAD, "note": 5}, 1))
        assert [event.status for event in again.events] == ["open"]
        assert [change.path for change in again.events[0].changes] == ["note"]


def test_accepting_a_broken_assertion_lets_its_shape_teach():
    """Its structure was never the matter."""
    monitor = RecordingMonitor(consumers=[Consumer("c", assertions={"has note": lambda r: r["note"]})])
    feed(monitor, (GOOD, 20), ({**GOOD, "note": ""}, 5))
    (incident,) = monitor.incidents()
    assert rows(monitor) == [(20, 1, 20)]
    monitor.accept(incident.id)
    feed(monitor, ({**GOOD, "note": ""}, 5))
    assert rows(monitor) == [(30, 1, 30)]
    assert [event.status for event in monitor.drift] == ["open", "accepted"]


def test_decisions_reach_a_monitor_that_judges_in_the_background():
    """The same calls, a worker in between."""
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        feed(monitor, (GOOD, 20), (BAD, 7))
        assert monitor.flush()
        monitor.accept(monitor.incidents()[0].id)
        feed(monitor, (BAD, 5))
        assert monitor.flush()
        assert [event.status for event in monitor.events] == ["learned", "open", "accepted"]
        assert rows(monitor) == [(12, 21, 32), (20, 1, 20)]


acts = st.tuples(st.sampled_from(["accept", "reject", "ignore"]), st.sampled_from([(), ("id",), ("score",)]))


@settings(max_examples=30)
@given(st.lists(acts, max_size=6), st.integers(0, 6))
def test_a_restart_between_any_decisions_changes_nothing(taken, cut):
    """The trail alone says what stands."""
    store = MemoryStore()
    one, incident = broken(store=MemoryStore())
    two, _ = broken(store=store)
    for index, (action, paths) in enumerate(taken):
        if index == cut:
            two.close()
            two = RecordingMonitor(store=store)
            feed(two, (GOOD, 1))
            feed(one, (GOOD, 1))
        decided = [getattr(monitor, action)(incident, *paths) for monitor in (one, two)]
        assert [d.id for d in decided[0]] == [d.id for d in decided[1]]
    assert [d.id for d in one.decisions()] == [d.id for d in two.decisions()]
    assert one.incidents()[0].status == two.incidents()[0].status
    incident_logs = [monitor._channels["t", ""].state.incident_log for monitor in (one, two)]
    assert incident_logs[0].accepted == incident_logs[1].accepted


def test_decisions_of_a_tool_nobody_watched_fail():
    """Nothing is accepted in advance."""
    with Monitor(sinks=(), background=False) as monitor, pytest.raises(ConfigurationError):
        monitor.accept("t")
