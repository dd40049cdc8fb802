from __future__ import annotations

import gc
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_with_maps, records, tool_responses

from toolpulse import shape_of
from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row
from toolpulse.shape import Walker
from toolpulse.state.learning.live_baseline import MOST_SHAPES, LiveBaseline
from toolpulse.state.learning.map_learner import MOST_FIELDS
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor

WORDS = ["ab", "ac", "bc", "bd", "cd", "ce", "de", "df", "ef", "eg", "fg", "abc", "bcd", "cde", "def", "efg"]


def bits(number, width=12):
    """A record with those of twelve fields whose bit is set; the letters keep the keys from looking like data."""
    return {"id": "x", **{f"field_{chr(97 + bit)}": 1 for bit in range(width) if number >> bit & 1}}


def rows_of(responses):
    """A row for each response, one observation each."""
    return [Row(shape_of(response).shape, 1, n, n) for n, response in enumerate(responses, 1)]


def folded(rows):
    """The profile of rows that were all kept."""
    return fold((row.shape, row.sightings, row.encoding, row.cuts) for row in rows)


def learned_from(rows):
    """A baseline that learned rows, one after the other."""
    baseline = LiveBaseline(Walker())
    for row in rows:
        baseline.learn(row)
    return baseline


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4095), min_size=MOST_SHAPES, max_size=500), st.randoms(use_true_random=False))
def test_the_profile_does_not_depend_on_what_was_let_go(numbers, rng):
    """Beyond two hundred shapes the rarest go; what they showed stays, whatever the order."""
    rows = rows_of(map(bits, numbers))
    baseline = learned_from(rows)
    assert len(baseline.rows) <= MOST_SHAPES
    assert baseline.profile.plain() == folded(rows).plain()
    assert merge(folded(baseline.rows), baseline.merged).plain() == folded(rows).plain()
    rng.shuffle(rows)
    assert learned_from(rows).profile.plain() == folded(rows).plain()


@settings(max_examples=30)
@given(st.lists(tool_responses | json_with_maps | records(tool_responses), min_size=5, max_size=25))
def test_the_evidence_of_what_was_let_go_is_exact_for_any_responses(responses):
    """Arrays, maps, nulls and nesting included, at a bound of four."""
    rows = rows_of(responses)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("toolpulse.state.learning.live_baseline.MOST_SHAPES", 4)
        baseline = learned_from(rows)
    assert len(baseline.rows) <= 4
    assert merge(folded(baseline.rows), baseline.merged).plain() == folded(rows).plain()
    assert sum(row.count for row in baseline.rows) + baseline.merged.observations.count == len(rows)


def test_large_shapes_are_kept_up_to_a_size(monkeypatch):
    """Two hundred shapes of a hostile tool could be gigabytes; what is let go stays in the evidence."""
    monkeypatch.setattr("toolpulse.state.learning.live_baseline.MOST_TEXT", 1_000)
    rows = rows_of({"id": 1, **{f"{letter * 60}": n for letter in letters}} for n, letters in enumerate(WORDS))
    baseline = learned_from(rows)
    assert 1 < len(baseline.rows) < len(rows)
    assert sum(len(row.shape.text) for row in baseline.rows) <= 1_000
    assert baseline.profile.plain() == folded(rows).plain()
    assert (
        len(learned_from([Row(shape_of({"x" * 200: {str(n): 1}}).shape, 1, n + 1, n + 1) for n in range(3)]).rows) >= 1
    )


@given(json_with_maps)
def test_the_size_of_a_shape_is_that_of_its_text(response):
    """It bounds memory and the store without writing anything; what has to be escaped is longer in the text."""
    shape = shape_of(response).shape
    assert shape.size <= len(shape.text)
    assert shape.size == len(shape.text) or "\\" in shape.text


def test_the_rarest_goes_first():
    """What is common is kept as a shape; of equals, whichever every process picks alike."""
    common = Row(shape_of({"id": 1}).shape, 50, 1, 50)
    kept = []
    for seed in range(2):
        rows = rows_of(map(bits, range(400)))
        random.Random(seed).shuffle(rows)
        baseline = learned_from([common, *rows])
        assert common.shape in {row.shape for row in baseline.rows}
        kept.append({row.shape for row in baseline.rows})
    assert len(kept[0]) == MOST_SHAPES
    assert kept[0] == kept[1]


def test_a_restart_knows_what_was_let_go():
    """The snapshot holds rows and the merged evidence; together they are the profile."""
    store = MemoryStore()
    with RecordingMonitor(store=store) as one:
        for number in (0, 4095, *range(0, 4096, 7)):
            one.observe("t", bits(number))
        before = one._channels["t", ""].state.profile.plain()
    with RecordingMonitor(store=store) as two:
        two.observe("t", bits(0))
        two.flush()
        live = two._channels["t", ""].state
        assert two.events == []
        assert len(live.rows) <= MOST_SHAPES
        again = live.profile.plain()
    assert again["root"]["seen"][0] == before["root"]["seen"][0] + 1
    assert again["root"]["fields"]["field_a"]["always"] == before["root"]["fields"]["field_a"]["always"]


def test_every_combination_of_twelve_fields_is_quiet_and_bounded():
    """4,096 shapes: rows, memory and incidents stay within bounds."""
    monitor = RecordingMonitor()
    rng = random.Random(3)
    for number in [0, 4095, *(rng.getrandbits(12) for _ in range(8))]:
        monitor.observe("t", bits(number))
    numbers = list(range(4096))
    rng.shuffle(numbers)
    for number in numbers[:1_500]:
        monitor.observe("t", bits(number))
    live = monitor._channels["t", ""].state
    assert len(live.rows) <= MOST_SHAPES
    assert [event for event in monitor.drift if event.risk.is_news] == []
    assert places(live.profile.root) == 14


def places(place):
    """How many places a profile has."""
    return 1 + sum(places(below) for _, below in place.children())


def word(rng):
    """A field name that nothing tells from a real one."""
    return "".join(rng.choice("abcdefghijklmnop") for _ in range(9))


STEADY = {"id": 1, "name": "x", "total": 2.5, "tags": ["a"], "owner": {"a": 1}, "open": None}

HOSTILE = {
    "beside known fields": lambda rng: {**STEADY, word(rng): 1},
    "of many kinds": lambda rng: {**STEADY, word(rng): rng.choice([1, "x", [1], {"q": 1}, None])},
    "deep": lambda rng: {"a": {"b": {**STEADY, word(rng): {word(rng): 1}}}},
    "in arrays": lambda rng: {"rows": [{**STEADY, word(rng): 1}] * 2},
    "many at once": lambda rng: {**STEADY, **{word(rng): rng.choice([1, [1]]) for _ in range(40)}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_ever_new_field_names_are_bounded(name, monkeypatch):
    """A tool that invents names must not fill the memory; the place is read as a map, which is told of."""
    monkeypatch.setattr("toolpulse.state.learning.map_learner.MOST_FIELDS", 100)
    monkeypatch.setattr("toolpulse.state.incident_log.MOST_INCIDENTS", 50)
    store = MemoryStore()
    monitor = RecordingMonitor(store=store)
    rng = random.Random(5)
    for _ in range(400):
        monitor.observe("t", HOSTILE[name](rng))
    live = monitor._channels["t", ""].state
    assert places(live.profile.root) < 150
    assert len(live.incident_log.incidents) <= 50
    assert live.baseline.maps_learned
    assert "map-learned" in {change.rule_id for event in monitor.events for change in event.changes}
    told = len(monitor.events)
    for _ in range(100):
        monitor.observe("t", HOSTILE[name](rng))
    assert len(monitor.events) - told <= 3
    assert [event for event in monitor.drift if event.risk == "high"] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", HOSTILE)
def test_five_thousand_calls_with_ever_new_names_do_not_grow_the_memory(name):
    """At the real bounds: once the place is a map, memory stays where it is."""
    monitor = RecordingMonitor()
    rng = random.Random(6)
    for call in range(5_000):
        monitor.observe("t", HOSTILE[name](rng))
        monitor.events.clear()
        if call == 2_500:
            gc.collect()
            tracemalloc.start()
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    live = monitor._channels["t", ""].state
    assert places(live.profile.root) <= 2 * MOST_FIELDS
    assert len(live.rows) <= MOST_SHAPES
    assert grown < 2_000_000


def test_records_are_never_taken_for_crowded():
    """Whoever says that a path is a record means it."""
    monitor = RecordingMonitor()
    watched = []

    @monitor.watch(tool="t", records=["$"])
    def tool():
        return watched[-1]

    rng = random.Random(7)
    for _ in range(120):
        watched.append({**STEADY, **{word(rng): 1 for _ in range(10)}})
        tool()
    live = monitor._channels["t", ""].state
    assert live.baseline.maps_learned == {}
    assert len(live.profile.root.fields) > MOST_FIELDS


def test_an_empty_profile_is_the_neutral_element_of_merging():
    """Nothing let go, nothing added."""
    profile = folded(rows_of([STEADY, {"id": 1}]))
    assert merge(profile, Profile()).plain() == merge(Profile(), profile).plain() == profile.plain()
