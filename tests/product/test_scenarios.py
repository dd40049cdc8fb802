from __future__ import annotations

import copy
import uuid

import pytest

from toolpulse import Baseline, Consumer, Monitor, Risk

QUIET, INFO, INVESTIGATE, AVAILABILITY, HIGH = "quiet", "info", "investigate", "availability", "high"


def base(n=0, results=19):
    """A search result with nineteen hits."""
    return {
        "results": [{"id": f"doc_{n}_{i}", "score": (i + n) / 100, "title": f"Title {i}"} for i in range(results)],
        "request_id": f"req_{n}",
        "total": 190 + n,
    }


def changed(change):
    """A response on which ``change`` was at work."""
    response = base(99)
    change(response)
    return response


def warm(make=base):
    """Ten calls."""
    return [make(n) for n in range(10)]


def drop(response):
    """Take away a field at the top and one of each hit."""
    del response["request_id"]
    for hit in response["results"]:
        del hit["title"]


def stringify(response):
    """Make the score text."""
    for hit in response["results"]:
        hit["score"] = str(hit["score"])


def explain(response):
    """Add a field at the top and one to each hit."""
    response["took_ms"] = 12
    for hit in response["results"]:
        hit["explanation"] = "because"


def sometimes_paged(n):
    """Three of ten lack a field."""
    return base(n) | ({} if n in (2, 5, 9) else {"next_page": "p2"})


def by_user(n):
    """Users by stem and number."""
    return {"users": {f"user_{93117 + 7 * n + i * 131}": {"name": "x", "age": i} for i in range(4)}}


def by_uuid(n):
    """Users by UUID."""
    return {"users": {str(uuid.UUID(int=n * 1000 + i)): {"name": "x", "age": i} for i in range(4)}}


def sometimes_null(n):
    """Every other one is null."""
    return base(n) | {"cursor": None if n % 2 else "c"}


def large(response):
    """A hundred thousand hits."""
    response["results"] = [dict(response["results"][0]) for _ in range(100_000)]


def loop(response):
    """A response that holds itself."""
    response["self"] = response


# scenario: warm-up calls, the new call, its risk
SCENARIOS = {
    "a other values": (warm(), base(5000), QUIET),
    "b removed, nested and at the top": (warm(), changed(drop), HIGH),
    "c number becomes text": (warm(), changed(stringify), HIGH),
    "d 1 becomes 1.0": (warm(), base(3) | {"total": 190.0}, QUIET),
    "e added": (warm(), changed(explain), INFO),
    "f twenty results": (warm(), base(7, results=20), QUIET),
    "g no results": (warm(), base(7, results=0), AVAILABILITY),
    "h an error object among the results": (
        warm(),
        changed(lambda r: r["results"].insert(5, {"error": "shard failed", "code": 503})),
        INVESTIGATE,
    ),
    "i an optional field absent": (warm(sometimes_paged), sometimes_paged(2), QUIET),
    "j keyed by user": (warm(by_user), by_user(1234), QUIET),
    "j2 keyed by UUID": (warm(by_uuid), by_uuid(1234), QUIET),
    "k null or text": (warm(sometimes_null), sometimes_null(1), QUIET),
    "l a hundred thousand results": (warm(), changed(large), QUIET),
    "m a response that holds itself": (warm(), changed(loop), INFO),
}
TRUNCATED = {
    "l a hundred thousand results": ("results", "elements"),
    "m a response that holds itself": ("self", "cycle"),
}

CHANGES = {
    "b removed, nested and at the top": {"request_id: string -> missing", "results[].title: string -> missing"},
    "c number becomes text": {"results[].score: number -> string"},
    "e added": {"took_ms: missing -> integer", "results[].explanation: missing -> string"},
    "g no results": {"results: non-empty -> empty"},
}


class Recorder:
    def __init__(self):
        self.events = []

    def emit(self, event):
        """Take an event."""
        self.events.append(event)


def live(calls, response, *consumers):
    """What a monitor tells of ten calls and one more: the events about the last one."""
    recorder = Recorder()
    with Monitor("memory:", background=False, sinks=[recorder], consumers=consumers) as monitor:
        for call in calls:
            monitor.observe("search", call)
        assert [event.status for event in recorder.events] == ["learned"]
        monitor.observe("search", response)
        assert monitor.health().tools["search"].calls == 11
    return recorder.events[1:]


@pytest.mark.parametrize("name", SCENARIOS)
def test_offline(name):
    """Thirteen situations in which other tools were tried; none of those passed them all."""
    calls, response, risk = SCENARIOS[name]
    verdict = Baseline.learn(calls).check([response])
    assert verdict.risk == risk
    if name in CHANGES:
        assert {f"{f.path}: {f.change}" for f in verdict.findings} == CHANGES[name]
    cuts = {(cut.path, cut.limit) for cut in verdict.truncations}
    assert cuts == ({TRUNCATED[name]} if name in TRUNCATED else set())


@pytest.mark.parametrize("name", SCENARIOS)
def test_live(name):
    """What is judged live is judged as offline, after ten calls."""
    calls, response, risk = SCENARIOS[name]
    told = live(copy.deepcopy(calls), response)
    drift = [event for event in told if any(change.rule_id != "truncation-changed" for change in event.changes)]
    assert max((event.risk for event in drift), default=Risk.QUIET) == risk
    if name in CHANGES:
        assert {f"{c.path}: {c.before} -> {c.after}" for event in drift for c in event.changes} == CHANGES[name]
    if name in TRUNCATED:
        cuts = {(c.path, c.after) for event in told for c in event.changes if c.rule_id == "truncation-changed"}
        assert cuts == {TRUNCATED[name]}


@pytest.mark.parametrize(("policy", "risk"), [("lenient", QUIET), ("strict", HIGH), ("exact", HIGH)])
def test_whether_1_and_1_0_differ_is_a_policy(policy, risk):
    """Scenario d has no answer of its own."""
    calls, response, _ = SCENARIOS["d 1 becomes 1.0"]
    reader = Consumer("reader", numeric=policy)
    assert Baseline.learn(calls).check([response], consumer=reader).risk == risk
    told = live(calls, response, reader)
    assert max((event.risk for event in told), default=Risk.QUIET) == risk


def test_rates_over_time():
    """Scenario i and k go on: what comes and goes stays quiet however often it does."""
    for make in (sometimes_paged, sometimes_null, by_user, by_uuid):
        recorder = Recorder()
        with Monitor("memory:", background=False, sinks=[recorder]) as monitor:
            for n in range(100):
                monitor.observe("search", make(n % 10))
        assert [event.status for event in recorder.events] == ["learned"]
