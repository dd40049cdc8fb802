"""Synthetic traffic with planted changes: that of the benchmark, and more with other numbers, names and nestings."""

from __future__ import annotations

import itertools
import random
import statistics
import string

import pytest

from benchmarks.traffic import RATES, SCENARIOS, Scenario, optional, run
from toolpulse.testing import RecordingMonitor

SEEDS = (0, 1, 2)
SHORT = 2_000
"""Calls of a quiet stream in the default run: what is wrong with a rule shows in the first few hundred."""

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
SHORTER = {
    "map with 300 changing keys": 200,
    "4,096 combinations of fields": 1_200,
    "slow drip of 40 added fields": 3_000,
}


def shortened(scenario):
    """The scenario as the default run plays it; the call of a planted change is never cut off."""
    if scenario.changed:
        return scenario
    calls = SHORTER.get(scenario.name, SHORT)
    return scenario._replace(make=lambda rng: itertools.islice(scenario.make(rng), calls))


def check(scenario, seeds=SEEDS):
    """Play a scenario for each seed and hold it against what is wanted of it."""
    results = [run(scenario, seed, plain=False) for seed in seeds]
    counts = [result.incidents for result in results]
    told = [event.summary for result in results for event in result.events]
    assert all(scenario.least <= count <= scenario.most for count in counts), (counts, told)
    delays = [result.delay for result in results]
    if scenario.median:
        assert None not in delays
        assert statistics.median(delays) <= scenario.median
    if scenario.longest:
        assert max(delays) <= scenario.longest
    return results


@pytest.mark.parametrize("name", BY_NAME)
def test_each_scenario_is_told_as_wanted(name):
    """Ordinary variation stays quiet, and a planted change is one incident within its delay."""
    check(shortened(BY_NAME[name]))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", BY_NAME)
def test_each_scenario_is_told_as_wanted_at_full_length(name):
    """Twenty thousand calls, and seeds that nothing was tuned to."""
    check(BY_NAME[name], seeds=(*SEEDS, 1729, 40_961))


def test_two_top_level_shapes_get_a_hint_to_use_key():
    """Whoever mixes two tools under one name is told what to do."""
    monitor = RecordingMonitor()
    for call in range(10):
        monitor.observe("t", {"error_code": 1, "reason": "r"} if call == 4 else {"id": "x", "score": 0.5})
    assert "key=" in monitor.events[0].summary


def test_a_rollout_is_one_incident_whose_share_grows():
    """Somebody who looks sees that it is taking over."""
    monitor = RecordingMonitor()
    shares = []
    for call, response in enumerate(BY_NAME["rollout of a changed shape"].make(random.Random(5)), 1):
        monitor.observe("t", response)
        if call in {1_200, 2_000, 4_000}:
            shares.append(monitor.incidents()[0].share(call))
    assert len(monitor.incidents()) == 1
    assert shares == sorted(shares)
    assert shares[0] < 0.3
    assert shares[-1] > 0.5


@pytest.mark.parametrize("rate", RATES)
def test_the_known_cost_is_one_high_at_most(rate):
    """A field that is nearly always there can be taken for required, once."""
    for seed in range(4):
        result = run(Scenario("", optional(rate, 1_000)), seed, plain=False)
        assert result.incidents <= 1
        assert all(event.risk == "high" for event in result.events)


def test_confirm_makes_the_known_cost_rarer_and_a_removal_later():
    """The trade that the documentation offers."""
    flaky = Scenario("", optional(0.9, 150))
    once, confirmed = (
        sum(run(flaky, seed, confirm=confirm, plain=False).incidents for seed in range(20)) for confirm in (1, 10)
    )
    assert once > 4 * max(1, confirmed)
    removed = BY_NAME["required field removed"]
    assert [run(removed, 0, confirm=confirm, plain=False).delay for confirm in (1, 5, 10)] == [1, 5, 10]


# Other numbers, names and nestings: a response is put somewhere, and the same has to be told of it there.


def at_root(record, rng):
    """As it is."""
    return record


def in_object(record, rng):
    """Two objects further in."""
    return {"meta": {"took": 1}, "page": {"body": record}}


def in_array(record, rng):
    """In each of one to three elements."""
    return {"count": 1, "entries": [record] * rng.randrange(1, 4)}


def in_optional_parent(record, rng):
    """In a parent that is there in most calls."""
    return {"id": 1, **({"opt": record} if rng.random() < 0.7 else {})}


def in_map(record, rng):
    """As the values of a map whose keys change."""
    return {"by_id": {str(rng.randrange(10**6)): record for _ in range(rng.randrange(1, 4))}}


def in_array_in_map(record, rng):
    """In arrays in a map."""
    return {"groups": {str(rng.randrange(10**6)): [record]}}


NESTINGS = [at_root, in_object, in_array, in_optional_parent, in_map, in_array_in_map]


def play(make, nest, calls, seed, **settings):
    """The news that a stream of records gives, as (call, event)."""
    monitor = RecordingMonitor(**settings)
    rng = random.Random(seed)
    told = []
    for call in range(calls):
        monitor.observe("svc.lookup", nest(make(call, rng), rng))
        told += [(call, event) for event in monitor.events if event.status == "open" and event.risk.is_news]
        monitor.events.clear()
    return told


def parcels(call, rng):
    """A parcel whose notes, weights and times come and go, with numbers of both kinds."""
    return {
        "parcel": "p",
        "grams": rng.choice([3, 2.5, None]),
        **({"sender-note": "n"} if rng.random() < 0.37 else {}),
        **({"ETA": {"day": 1, **({"slot": 2} if rng.random() < 0.45 else {})}} if rng.random() < 0.55 else {}),
        "stops": [{"hub": "h", **({"late": True} if rng.random() < 0.4 else {})} for _ in range(rng.randrange(3))],
    }


@pytest.mark.parametrize("nest", NESTINGS)
def test_ordinary_variation_is_quiet_wherever_it_is(nest):
    """No rule may hold at the root only."""
    for seed in (11, 12, 13):
        assert [event.summary for _, event in play(parcels, nest, 1_000, seed)] == []


def null_at(call):
    """At times in the warm-up, where a parent may be missing, too, and always in the end."""
    return call >= 400 or (call < 9 and call % 2)


CHANGES = {
    "a required field is gone": (
        lambda call, rng: {"hub": "h", **({} if call >= 400 else {"eta": 5})},
        1,
        "high",
    ),
    "a kind changes": (lambda call, rng: {"hub": "h", "eta": "5" if call >= 400 else 5}, 1, "high"),
    "an optional field is gone": (
        lambda call, rng: {"hub": "h", **({"eta": 5} if call < 400 and rng.random() < 0.45 else {})},
        45,
        "investigate",
    ),
    "a nullable value is gone": (
        lambda call, rng: {"hub": "h", "eta": None if null_at(call) or rng.random() < 0.15 else 5},
        25,
        "investigate",
    ),
    "an added field is gone": (
        lambda call, rng: {"hub": "h", **({"eta": 5} if 100 <= call < 400 else {})},
        1,
        "high",
    ),
}


@pytest.mark.parametrize("nest", NESTINGS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_planted_change_is_found_once_wherever_it_is(change, nest):
    """One incident at the right risk, in time, and nothing before it."""
    make, delay, risk = CHANGES[change]
    for seed in (21, 22):
        told = play(make, nest, 800, seed)
        assert len(told) == 1, [(call, event.summary) for call, event in told]
        call, event = told[0]
        assert event.risk == risk
        # a parent that is seldom there takes its time
        latest = max(8, delay) * 2.5 if nest is in_optional_parent else delay
        assert 0 <= call - 400 < latest
        assert any("eta" in change.path for change in event.changes)


def hits(empty):
    """A list that is empty when asked to be."""
    return {"took": 3, "hits": [] if empty else [{"k": "v"}]}


@pytest.mark.parametrize("nest", [at_root, in_object, in_optional_parent])
def test_an_emptied_list_is_found_outside_of_arrays(nest):
    """In arrays and maps emptiness is ordinary."""
    told = play(lambda call, rng: hits(call >= 300 or rng.random() < 0.3), nest, 500, 31)
    assert [event.changes[0].rule_id for _, event in told] == ["emptied"]
    assert 300 <= told[0][0] < 345
    assert play(lambda call, rng: hits(call >= 300 or rng.random() < 0.3), in_array, 500, 31) == []


# A worker judges in batches; what it finds is what the call itself would have found.


def batched(make, nest, calls, seed, size):
    """The incidents of a stream that is judged in batches."""
    rng = random.Random(seed)
    with RecordingMonitor(background=True, flush_interval=1000.0) as monitor:
        for call in range(calls):
            monitor.observe("svc.lookup", nest(make(call, rng), rng))
            if call % size == size - 1:
                assert monitor.flush()
        assert monitor.flush()
        return news(monitor)


def news(monitor):
    """What incidents there are worse than info: identity and risk."""
    return {(incident.keys, incident.risk) for incident in monitor.incidents() if incident.risk.is_news}


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("change", ["quiet", *CHANGES])
def test_batches_of_any_size_find_the_same_incidents(change, size):
    """How often a worker comes round is a matter of delay only."""
    make = CHANGES[change][0] if change != "quiet" else parcels
    for nest in (at_root, in_array):
        inline = RecordingMonitor()
        rng = random.Random(41)
        for call in range(800):
            inline.observe("svc.lookup", nest(make(call, rng), rng))
        assert batched(make, nest, 800, 41, size) == news(inline)
        assert len(news(inline)) == (change != "quiet")


def test_variants_of_a_call_are_judged_apart():
    """A change of one variant is neither hidden nor spread by another."""
    monitor = RecordingMonitor()
    rng = random.Random(51)
    for call in range(600):
        monitor.observe("api", parcels(call, rng), key="list")
        monitor.observe("api", {"n": "many" if call >= 300 else 2}, key="count")
        monitor.observe("api", [{"id": "".join(rng.choices(string.ascii_lowercase, k=3))}], key="ids")
    assert [(incident.key, incident.risk) for incident in monitor.incidents() if incident.risk.is_news] == [
        ("count", "high")
    ]


def test_two_shapes_that_alternate_are_quiet_with_a_key():
    """The hint helps."""
    monitor = RecordingMonitor()
    rng = random.Random(52)
    for _ in range(1_500):
        odd = rng.random() < 0.02
        monitor.observe("t", {"code": 1, "why": "r"} if odd else {"id": 1, "score": 0.5}, key="odd" if odd else "even")
    assert [event for event in monitor.drift if event.risk.is_news] == []
