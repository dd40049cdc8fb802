from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Risk
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

RECORD = {"id": 1, "rows": [{"a": 1, "b": "x"}], "note": "n"}


def _changed(**fields):
    return {**RECORD, **fields}


def _without(name):
    return {key: value for key, value in RECORD.items() if key != name}


def _observe(monitor, response, times=1):
    for _ in range(times):
        monitor.observe("t", response)


def _statuses(monitor):
    return [event.status for event in monitor.events]


def _learned():
    monitor = RecordingMonitor()
    _observe(monitor, RECORD, 10)
    return monitor


def test_ten_observations_teach_and_are_told_of_once():
    """The warm-up ends with one event, and what came in it is no drift whatever it was."""
    monitor = RecordingMonitor()
    for n in range(9):
        _observe(monitor, _changed(id=1 if n % 2 else "x"))
    assert monitor.events == []
    assert monitor.health().tools["t"].state == "learning"
    _observe(monitor, RECORD)
    (event,) = monitor.events
    assert (event.status, event.risk, event.changes, event.count) == ("learned", Risk.INFO, (), 10)
    assert monitor.health().tools["t"].state == "watching"
    _observe(monitor, RECORD, 30)
    assert monitor.events == [event]


def test_a_change_is_told_once_and_then_counted():
    """A break that lasts a day is one event and a number, not a day of events."""
    monitor = _learned()
    _observe(monitor, _changed(id="x"), 25)
    (event,) = monitor.drift
    assert (event.status, event.risk, event.count) == ("open", Risk.HIGH, 1)
    assert [(change.path, change.rule_id, change.before, change.after) for change in event.changes] == [
        ("id", "kind-changed", "integer", "string")
    ]
    (incident,) = monitor.incidents()
    assert (incident.id, incident.count, incident.opened, incident.last) == (event.incident, 25, 11, 35)
    _observe(monitor, RECORD, 25)
    assert monitor.incidents()[0].share(60) == pytest.approx(0.5)


def test_changes_that_come_together_are_one_incident():
    """A release of the tool changes three fields at once; that is one thing to look at."""
    monitor = _learned()
    _observe(monitor, {"id": "x", "rows": [{"a": "y", "b": "x"}]}, 3)
    (event,) = monitor.drift
    assert {change.path for change in event.changes} == {"id", "rows[].a", "note"}
    assert monitor.incidents()[0].count == 3


def test_only_a_change_that_nobody_has_seen_opens_another():
    """The same break beside a new one is counted where it is known."""
    monitor = _learned()
    _observe(monitor, _changed(id="x"))
    _observe(monitor, _changed(id="x", note=5))
    _observe(monitor, _changed(note=5))
    first, second = monitor.drift
    assert [[change.path for change in event.changes] for event in (first, second)] == [["id"], ["note"]]
    assert sorted(incident.count for incident in monitor.incidents()) == [2, 2]


def test_an_addition_is_told_of_as_info_and_teaches():
    """Additions are the norm, so they are part of the baseline from then on."""
    monitor = _learned()
    _observe(monitor, _changed(extra=True), 3)
    (event,) = monitor.events[1:]
    assert (event.risk, [change.rule_id for change in event.changes]) == (Risk.INFO, ["field-added"])
    assert monitor.health().tools["t"].shapes == 2
    assert monitor._channels["t", ""].state.quarantine.shapes == {}
    assert monitor.health().tools["t"].incidents == 0


def test_a_break_does_not_teach_however_often_it_is_seen():
    """A baseline that learns the break says nothing when only half of the calls are mended."""
    monitor = _learned()
    _observe(monitor, _changed(id="x"), 500)
    live = monitor._channels["t", ""].state
    assert [row.shape.text for row in live.rows] == [
        '{"id":"integer","note":"string","rows":[{"a":"integer","b":"string"}]}'
    ]
    assert len(live.quarantine) == 1


def test_a_path_warms_up_too():
    """A field that is new has not proven yet that it is always there."""
    monitor = _learned()
    _observe(monitor, _changed(extra=1), 3)
    told = len(monitor.events)
    _observe(monitor, _changed(extra="x"))
    assert [event.risk for event in monitor.events[told:]] == [Risk.INFO]
    monitor = _learned()
    _observe(monitor, _changed(extra=1), 10)
    told = len(monitor.events)
    _observe(monitor, _changed(extra="x"))
    assert [event.risk for event in monitor.events[told:]] == [Risk.HIGH]


def test_confirm_waits_for_as_many_observations():
    """One odd response in a million is not worth a page; several are."""
    monitor = RecordingMonitor(confirm=3)
    _observe(monitor, RECORD, 10)
    _observe(monitor, _changed(id="x"), 2)
    assert monitor.drift == []
    assert monitor.health().tools["t"].incidents == 0
    _observe(monitor, _changed(id="x"))
    (event,) = monitor.drift
    assert (event.status, event.count) == ("open", 3)
    _observe(monitor, _changed(id="x"), 5)
    assert monitor.drift == [event]


def test_variants_of_a_call_learn_apart():
    """What one variant returns is no drift of another."""
    monitor = RecordingMonitor()
    for key, response in (("list", [1]), ("count", {"count": 1})):
        for _ in range(12):
            monitor.observe("t", response, key=key)
    assert [(event.status, event.key) for event in monitor.events] == [("learned", "list"), ("learned", "count")]
    assert monitor.health().tools["t"].keys == 2


def test_responses_without_a_common_field_get_a_hint():
    """Whoever mixes two variants in one baseline is told how to keep them apart."""
    monitor = RecordingMonitor()
    for n in range(10):
        _observe(monitor, {"a": 1, "b": 2} if n % 2 else {"c": 1, "d": 2})
    assert "key=" in monitor.events[0].summary


SEQUENCE = [(RECORD, 12), (_changed(extra=1), 3), (_changed(id="x"), 4), (_without("note"), 4), (_changed(rows=[]), 2)]


@pytest.mark.parametrize("cut", range(1, 25))
def test_a_restart_goes_on_where_it_was(cut):
    """A deploy in the middle of anything must neither teach again nor tell again."""
    calls = [response for response, times in SEQUENCE for _ in range(times)]
    whole = RecordingMonitor()
    for response in calls:
        _observe(whole, response)
    store = MemoryStore()
    told = []
    for part in (calls[:cut], calls[cut:]):
        with RecordingMonitor(store=store) as monitor:
            for response in part:
                _observe(monitor, response)
            told += monitor.events
    assert [(e.id, e.status, e.changes, e.count, e.share) for e in told] == [
        (e.id, e.status, e.changes, e.count, e.share) for e in whole.events
    ]
    assert [(i.id, i.count, i.last) for i in monitor.incidents()] == [
        (i.id, i.count, i.last) for i in whole.incidents()
    ]


def test_a_restart_of_a_sealed_tool_does_not_tell_again():
    """What a committed baseline found open stays open over a deploy."""
    baseline = _sealed()
    store = MemoryStore()
    told = []
    for _ in range(2):
        with RecordingMonitor(store=store, baselines={"t": baseline}) as monitor:
            _observe(monitor, _changed(id="x"), 5)
            told += monitor.events
    assert [event.status for event in told] == ["open"]
    assert monitor.incidents()[0].count == 10


def _sealed():
    from toolpulse import Baseline

    return Baseline.learn([RECORD] * 10)


KINDS = [
    RECORD,
    _changed(id="x"),
    _changed(extra=1),
    _changed(extra="x"),
    _without("note"),
    _changed(rows=[{"a": 1}]),
    _changed(rows=[{"a": 1, "b": "x", "c": None}]),
    _changed(note=None),
    [RECORD],
]


def _block_events(monitor, blocks):
    for response, times in blocks:
        _observe(monitor, response, times)
    assert monitor.flush()
    return [(event.status, event.incident, event.risk, event.changes) for event in monitor.events]


@given(st.lists(st.tuples(st.sampled_from(range(len(KINDS))), st.integers(1, 6)), unique_by=lambda b: b[0], max_size=9))
def test_background_and_inline_tell_the_same(blocks):
    """Whether a worker judges later or the call judges now is a matter of speed, not of what is found."""
    blocks = [(RECORD, 10), *((KINDS[index], times) for index, times in blocks if index)]
    inline = RecordingMonitor()
    with RecordingMonitor(background=True, flush_interval=1000.0) as background:
        assert _without_ends(_block_events(background, blocks)) == _without_ends(_block_events(inline, blocks))


def _without_ends(events):
    """A flush asks once what has been away, so what resolves in the middle is told by the eager one only."""
    return [event for event in events if event[0] in {"learned", "open", "noted"}]


@given(st.permutations(list(enumerate(KINDS))))
def test_a_flush_judges_in_order_of_first_appearance(order):
    """Events come in the order in which things happened, whatever a dictionary or a thread made of it."""
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        _observe(monitor, RECORD, 10)
        assert monitor.flush()
        for _, response in order:
            _observe(monitor, response, 2)
        assert monitor.flush()
        opened = [incident.opened for incident in monitor.incidents()]
        told = [i.opened for event in monitor.drift for i in monitor.incidents() if i.id == event.incident]
        assert told == sorted(opened)[: len(told)] or told == sorted(told)


def test_ordinals_count_every_observation_of_every_flush():
    """Rates are read off ordinals, so no flush may shift them."""
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        for _ in range(5):
            _observe(monitor, RECORD, 7)
            assert monitor.flush()
        _observe(monitor, _changed(id="x"), 2)
        _observe(monitor, RECORD)
        _observe(monitor, _changed(id="x"))
        assert monitor.flush()
        (incident,) = monitor.incidents()
        assert (incident.opened, incident.last, incident.count) == (36, 39, 3)
        (row,) = monitor._channels["t", ""].state.rows
        assert (row.first, row.last, row.count) == (1, 38, 36)


def test_two_monitors_over_one_store_take_turns():
    """A worker process that comes after another learns nothing anew."""
    store = MemoryStore()
    with RecordingMonitor(store=store) as first:
        _observe(first, RECORD, 10)
    with RecordingMonitor(store=store) as second:
        _observe(second, _changed(id="x"))
        assert _statuses(second) == ["open"]


def test_incidents_beyond_the_bound_are_let_go_without_a_fault(monkeypatch):
    """A tool whose every response breaks something new must not fill the memory, nor stop being judged."""
    monkeypatch.setattr("toolpulse.state.incident_log.MOST_INCIDENTS", 5)
    monitor = _learned()
    for n in range(20):
        _observe(monitor, _changed(**{"id": "x", f"f{n}_": [n]}, note=n))
        _observe(monitor, _changed(**{f"g{n}_": {"deep": n}}, rows="x" if n % 2 else n))
    assert len(monitor.incidents()) <= 5
    assert monitor.health().waiting == 0
    assert monitor.health().tools["t"].unjudged == 0
