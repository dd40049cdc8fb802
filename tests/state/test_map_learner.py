from __future__ import annotations

import random

import pytest

from toolpulse._base.paths import format_path
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import CANARY, RecordingMonitor, assert_no_canary

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(rng, stem=""):
    """A key that does not tell that it is data."""
    return stem + "".join(rng.choice(LETTERS) for _ in range(8))


def live_of(monitor):
    """The state of the one tool."""
    return monitor._channels["t", ""].state


def learned(monitor):
    """The paths decided to be maps."""
    return sorted(format_path(path) for path in live_of(monitor).baseline.maps_learned)


def news(monitor):
    """The summaries of what is worse than info."""
    return [event.summary for event in monitor.drift if event.risk.is_news]


def at_root(found):
    """The map is the response."""
    return found


def nested(found):
    """The map is a field of a field."""
    return {"id": 1, "data": {"scores": found, "n": 1}}


def in_array(found):
    """The map is in each element."""
    return {"rows": [{"id": 1, "scores": found}] * 2}


def in_map(found):
    """The map is in the values of a map whose keys tell it by themselves."""
    return {"by": {"17": {"scores": found}, "18": {"scores": found}}}


WHERE = {at_root: "$", nested: "data.scores", in_array: "rows[].scores", in_map: "by.*.scores"}


@pytest.mark.parametrize("size", [3, 30, 300])
@pytest.mark.parametrize("where", WHERE)
def test_maps_of_any_size_are_learned_anywhere_and_quiet(where, size):
    """Few keys, many keys, more than a record may have."""
    monitor = RecordingMonitor()
    rng = random.Random(size)
    for _ in range(60):
        monitor.observe("t", where({word(rng): {"a": 1, "b": rng.random()} for _ in range(size)}))
    assert news(monitor) == []
    if size < 300:
        assert learned(monitor) == [WHERE[where]]
    assert all(len(event.summary) < 400 for event in monitor.events)
    assert len(live_of(monitor).rows) <= 12
    monitor.observe("t", where({word(rng): {"a": "x", "b": 1.5} for _ in range(size)}))
    (event,) = [event for event in monitor.drift if event.risk.is_news]
    assert [(c.path.endswith("*.a"), c.rule_id) for c in event.changes] == [(True, "kind-changed")]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("options", [{}, {"records": ["other"]}])
def test_keys_seen_before_are_gone_once_the_decision_is_taken(where, options):
    """From rows, what is held, incidents, decisions, what the walk remembers, and the store."""
    store = MemoryStore()
    monitor = RecordingMonitor(store=store)
    responses = []

    @monitor.watch(tool="t", **options)
    def tool():
        return responses[-1]

    def call(response):
        responses.append(response)
        tool()
        responses.clear()

    rng = random.Random(3)
    for _ in range(12):
        call(where({"steady": {"a": 1, "b": 1}, "other": {"a": 1, "b": 2}}))
    for n in range(40):
        keys = {word(rng, CANARY): {"a": 1, "b": 1} for _ in range(6)}
        if n == 1:  # held, and told of
            keys |= {word(rng, CANARY): {"a": "x", "b": 1}, "steady": {"a": "x", "b": 1}}
        call(where(keys if n != 1 else keys | {"other": {"a": 1, "b": 2}}))
        if n == 1:
            for incident in monitor.incidents():
                monitor.accept(incident.id)
    assert learned(monitor) == [WHERE[where]]
    monitor.events.clear()
    call(where({"steady": {"a": 1, "b": 1}}))
    assert monitor.flush()
    live = live_of(monitor)
    assert_no_canary(live.baseline, live.incident_log, live.quarantine, store.load("t", ""), monitor.events, tool)


def test_decisions_are_stored_and_only_grow():
    """A restart knows them, and nothing takes one back."""
    store = MemoryStore()
    rng = random.Random(5)
    with RecordingMonitor(store=store) as one:
        for _ in range(12):
            one.observe("t", nested({word(rng): {"a": 1} for _ in range(5)}))
        before = live_of(one).baseline.maps_learned
        assert len(before) == 1
        snapshot = store.load("t", "")
        assert [row.shape.text for row in snapshot.rows.values()] == [
            '{"data":{"n":"integer","scores":[0,{"a":"integer"}]},"id":"integer"}'
        ]
        assert snapshot.maps_learned == tuple(before.values())
    with RecordingMonitor(store=store) as two:
        for _ in range(60):
            two.observe("t", nested({"steady": {"a": 1}, "also": {"a": 1}}))
        for _ in range(20):
            two.observe("t", nested({word(rng): {word(rng): {"x": 1} for _ in range(5)} for _ in range(5)}))
        assert live_of(two).baseline.maps_learned.items() >= before.items()


def test_a_decision_is_told_with_its_figures_and_without_keys():
    """Why it is a map, for whoever wonders."""
    monitor = RecordingMonitor()
    rng = random.Random(6)
    for _ in range(10):
        monitor.observe("t", nested({word(rng, CANARY): {"a": 1} for _ in range(5)}))
    said, told = monitor.events
    assert said.status == "learned"
    assert "1 of them maps" in said.summary
    assert (told.status, told.summary) == ("noted", "data.scores: keys vary, now treated as a map")
    assert told.changes[0].evidence == (
        "over 10 observations 50 keys (at most 5 at once), 0 of them in most, 50 in one only; values of 1 form"
    )
    assert_no_canary(monitor.events)


@pytest.mark.parametrize("where", WHERE)
def test_a_stable_record_never_becomes_a_map(where):
    """However wide, and however alike its values."""
    monitor = RecordingMonitor()
    rng = random.Random(7)
    names = [word(rng) for _ in range(40)]
    for _ in range(150):
        record = {name: {"a": 1} for name in names if rng.random() < 0.995}
        monitor.observe("t", where(record))
    assert learned(monitor) == []


def test_optional_fields_are_no_keys():
    """Half of a record's fields may come and go."""
    monitor = RecordingMonitor()
    rng = random.Random(8)
    names = [word(rng) for _ in range(30)]
    for _ in range(300):
        monitor.observe("t", {"id": 1, **{name: 1 for name in names if rng.random() < 0.4}})
    assert learned(monitor) == []
    assert news(monitor) == []


def test_flipping_around_256_keys_is_quiet():
    """A map by its size in one call, and small enough for a record in the next."""
    for sizes in ([250, 262], [262, 250], [3, 300], [300, 3]):
        monitor = RecordingMonitor()
        rng = random.Random(9)
        for call in range(80):
            monitor.observe("t", nested({word(rng): {"a": 1} for _ in range(sizes[call % 2])}))
        assert news(monitor) == []


def test_stable_names_that_grow_beyond_256_are_told_of_once():
    """A record that becomes a map is another container; it does not flap."""
    monitor = RecordingMonitor()
    rng = random.Random(10)
    names = [word(rng) for _ in range(270)]
    for call in range(200):
        monitor.observe("t", nested(dict.fromkeys(names[: 250 if call % 3 else 270], 1)))
    assert len(news(monitor)) <= 1


def test_a_map_inside_a_map():
    """Both are found, the outer one first, and the contract is in the innermost values."""
    monitor = RecordingMonitor()
    rng = random.Random(11)

    def response(leaf):
        return {"by": {word(rng): {word(rng): {"v": leaf} for _ in range(4)} for _ in range(4)}}

    for _ in range(60):
        monitor.observe("t", response(1))
    assert learned(monitor) == ["by", "by.*"]
    assert news(monitor) == []
    monitor.observe("t", response("x"))
    assert news(monitor) == ["by.*.*.v: integer -> string"]


def test_records_prevents_it():
    """Whoever names a record keeps its fields, and hears of them."""
    monitor = RecordingMonitor()
    rng = random.Random(12)
    responses = []

    @monitor.watch(tool="t", records=["data.scores"])
    def tool():
        return responses[-1]

    for _ in range(30):
        responses.append(nested({word(rng): {"a": 1} for _ in range(5)}))
        tool()
    assert learned(monitor) == []
    assert len(live_of(monitor).profile.root.fields["data"].fields["scores"].fields) == 150


def test_a_map_that_is_added_later_is_learned():
    """Not only what the warm-up saw."""
    monitor = RecordingMonitor()
    rng = random.Random(13)
    for call in range(300):
        more = {"scores": {word(rng): {"a": 1} for _ in range(3)}} if call >= 100 else {}
        monitor.observe("t", {"id": 1, **more})
    assert learned(monitor) == ["scores"]
    assert news(monitor) == []
    assert sum(event.status == "noted" for event in monitor.events) < 20


def test_what_a_map_was_learned_from_may_be_odd():
    """A value of another kind in the very response that decides is a change of a value, not of the container."""
    monitor = RecordingMonitor()
    rng = random.Random(14)
    for _ in range(40):
        monitor.observe("t", {"id": 1})
    for _ in range(60):
        values = [{"a": 1}] * 3 + [{"a": 1, "b": 2}] * (rng.random() < 0.5)
        monitor.observe("t", {"id": 1, "scores": {word(rng): value for value in values}})
    assert learned(monitor) == ["scores"]
    assert news(monitor) == []
    assert live_of(monitor).quarantine.shapes == {}


@pytest.mark.parametrize("size", [7, 50])
def test_batches_learn_the_same_maps(size):
    """A worker that comes round seldom decides the same, and keeps no key."""
    rng = random.Random(15)
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        for call in range(200):
            monitor.observe("t", nested({word(rng, CANARY): {"a": 1} for _ in range(4)}))
            if call % size == 0:
                assert monitor.flush()
        assert monitor.flush()
        assert learned(monitor) == ["data.scores"]
        assert news(monitor) == []
        live = live_of(monitor)
        assert_no_canary(live.baseline, live.incident_log, live.quarantine, live._newest)


def test_a_map_that_is_empty_at_times_is_missed_when_it_stays_empty():
    """An empty object where a map is known is an empty map."""
    monitor = RecordingMonitor()
    rng = random.Random(16)
    for call in range(300):
        empty = call >= 200 or rng.random() < 0.4
        monitor.observe("t", nested({} if empty else {str(rng.randrange(10**6)): 1}))
    assert news(monitor) == ["data.scores: non-empty -> empty"]


def test_a_batch_that_waited_names_no_key_in_what_was_cut():
    """What was walked before its map was learned is judged after it; the cuts below the map must be read again, too."""
    with RecordingMonitor(background=True, flush_interval=1e6) as monitor:
        rng = random.Random(3)
        for length in [5] * 10 + [150] * 4:
            monitor.observe("t", {"users": {word(rng, CANARY): {"tags": [1] * length}}})
        assert monitor.flush()
        assert learned(monitor) == ["users"]
        assert [c.path for e in monitor.events for c in e.changes if c.rule_id == "truncation-changed"] == [
            "users.*.tags"
        ]
        assert_no_canary(monitor.events, live_of(monitor).cuts, live_of(monitor).rows)
