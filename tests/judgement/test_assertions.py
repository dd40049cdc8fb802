from __future__ import annotations

import functools
import gc
import threading
import warnings
from concurrent.futures import Future

import pytest

from toolpulse import Consumer
from toolpulse.errors import ConfigurationError
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import CANARY, RecordingMonitor, assert_no_canary

GOOD = {"id": 1, "total": 3}


def feed(monitor, response, times=1):
    """Observe one response some times."""
    for _ in range(times):
        monitor.observe("t", response)


def reader(**assertions):
    """A consumer that asserts."""
    return Consumer("reader", assertions={name.replace("_", " "): holds for name, holds in assertions.items()})


def changes(monitor):
    """Path, rule, what did not hold, risk and count of each incident worse than info."""
    return [
        (finding.path, finding.rule_id, finding.after, str(finding.risk), incident.count)
        for incident in monitor.incidents()
        for finding in incident.findings
    ]


def test_an_assertion_that_is_false_or_raises_is_a_finding_with_its_name():
    """What is meant by a response is the reader's to say."""
    monitor = RecordingMonitor(
        consumers=[reader(has_hits=lambda r: r["total"] > 0, known=lambda r: r["kind"] == "x" or r["total"])]
    )
    feed(monitor, {**GOOD, "kind": "x"}, 12)
    feed(monitor, {**GOOD, "kind": "x", "total": 0}, 3)
    assert changes(monitor) == [("$", "contract", "has hits", "investigate", 3)]
    feed(monitor, GOOD)
    assert ("$", "contract", "known", "investigate", 1) in changes(monitor)


def test_what_breaks_an_assertion_does_not_teach_and_counts_from_the_first_call():
    """A warm-up full of rubbish is no baseline."""
    monitor = RecordingMonitor(consumers=[reader(has_hits=lambda r: r["total"])])
    feed(monitor, {**GOOD, "total": 0}, 5)
    feed(monitor, GOOD, 12)
    assert changes(monitor) == [("$", "contract", "has hits", "investigate", 5)]
    assert [row.count for row in monitor._channels["t", ""].state.rows] == [12]


def test_each_reader_has_assertions_of_its_own():
    """One is content, the other is not; the risk may be overridden."""
    monitor = RecordingMonitor(
        consumers=[
            Consumer("content", assertions={"any": lambda r: True}),
            Consumer("strict", assertions={"any": lambda r: r["total"] > 1}, risk={"contract": "high"}),
        ]
    )
    feed(monitor, GOOD, 12)
    feed(monitor, {**GOOD, "total": 1})
    (incident,) = monitor.incidents()
    assert [(f.consumer, f.after, f.risk) for f in incident.findings] == [("strict", "any", "high")]


def test_it_sees_the_payload_that_readers_see_in_the_callers_thread():
    """Looked through the envelope, before anything goes to a worker."""
    seen = []
    with RecordingMonitor(
        background=True, consumers=[reader(seen=lambda r: seen.append((r, threading.get_ident())) or True)]
    ) as monitor:
        monitor.observe("t", {"content": [{"type": "text", "text": '{"total": 5}'}], "isError": False})
        monitor.observe("t", {"content": [{"type": "text", "text": "no"}], "isError": True})
        assert seen == [({"total": 5}, threading.get_ident())]


class NoTruth:
    """What a comparison may give (numpy does)."""

    def __bool__(self):
        raise ValueError(f"the truth of {CANARY} is ambiguous")


@pytest.mark.parametrize(
    "hostile",
    [
        lambda r: 1 / 0,
        lambda r: (_ for _ in ()).throw(ValueError(f"bad {r}")),
        lambda r: r.update(total=CANARY),
        lambda r: NoTruth(),
        lambda: True,
        lambda r: r[5],
    ],
)
def test_no_assertion_disturbs_the_tool_and_no_value_is_kept(hostile):
    """Whatever it raises or does, the call goes on, and nothing remembers what it saw."""
    store, lines = MemoryStore(), []

    class Lines:
        def emit(self, event):
            lines.append(repr(event))

    response = {"id": CANARY, "total": 1}
    with RecordingMonitor(store=store, sinks=[Lines()], consumers=[reader(holds=hostile)]) as monitor:
        feed(monitor, response, 15)
        assert changes(monitor) == [("$", "contract", "holds", "investigate", 15)]
        assert monitor.health().swallowed == 0
        assert_no_canary(lines, store.load("t", ""), monitor.events, monitor._channels["t", ""].state.incident_log)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_it(error):
    """Ctrl-C in an assertion is Ctrl-C."""

    def stop(response):
        raise error

    monitor = RecordingMonitor(consumers=[reader(stop=stop)])
    with pytest.raises(error):
        monitor.observe("t", GOOD)


@pytest.mark.parametrize("wrong", [{"a": 5}, {"a": None}, {5: lambda r: True}])
def test_what_is_no_assertion_fails_at_construction(wrong):
    """And says which it was."""
    with pytest.raises(ConfigurationError, match="assertions"):
        Consumer("c", assertions=wrong)


async def later(response):
    """An answer that has to be waited for."""
    return False


class Later:
    """An object that is called as an async function."""

    async def __call__(self, response):
        """Answer later."""
        return False


async def items_later(response):
    """An async generator."""
    yield False


def items(response):
    """A generator."""
    yield False


@pytest.mark.parametrize(
    "wrong", [later, Later(), Later().__call__, functools.partial(later), items, items_later, functools.partial(items)]
)
def test_an_assertion_that_cannot_answer_at_once_fails_at_construction(wrong):
    """What it gives is true whatever it would say, so that it would never be broken."""
    with pytest.raises(ConfigurationError, match=r"assertions\['total is positive'\] is an async function"):
        Consumer("c", assertions={"total is positive": wrong})


class Awaitable:
    """Of some library."""

    def __await__(self):
        yield


@pytest.mark.parametrize(
    "unanswered",
    [
        lambda _: later(GOOD),
        lambda _: Awaitable(),
        lambda _: Future(),
        lambda _: items(GOOD),
        lambda _: items_later(GOOD),
    ],
)
def test_what_an_assertion_leaves_to_be_awaited_is_no_answer(unanswered):
    """It is told at the first call, and no coroutine is left behind for the interpreter to complain of."""
    monitor = RecordingMonitor(consumers=[reader(holds=unanswered)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        feed(monitor, GOOD, 12)
        gc.collect()
    assert changes(monitor) == [("$", "contract", "holds", "investigate", 12)]


LEARNED = {"id": 1, "score": 0.5, "meta": {"page": 1}, "rows": [{"a": 1}]}
READERS = [
    ("plain", {}),
    ("needs id", {"requires": ["id"]}),
    ("ignores id", {"ignore": ["id", "meta"]}),
    ("opaque", {"opaque": True}),
    ("no nulls", {"null": "high"}),
    ("nulls are fine", {"null": "quiet"}),
    ("exact", {"numeric": "exact"}),
    ("own risks", {"risk": {"field-removed": "investigate", "score": "info"}}),
]


def gone(name):
    """The learned response without a field."""
    return {key: value for key, value in LEARNED.items() if key != name}


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (gone("id"), ["high", "high", None, "info", "high", "high", "high", "investigate"]),
        (gone("score"), ["high", "info", "high", "info", "high", "high", "high", "info"]),
        (
            {**LEARNED, "id": None},
            ["investigate", "investigate", None, "info", "high", None, "investigate", "investigate"],
        ),
        ({**LEARNED, "meta": None}, ["high", "info", None, "info", "high", "high", "high", "high"]),
        ({**LEARNED, "id": 1.5}, [None, None, None, None, None, None, "high", None]),
        ({**LEARNED, "new": 1}, ["info"] * 8),
        ({}, ["availability"] * 8),
        ({**LEARNED, "rows": [{"a": "x"}]}, ["high", "info", "high", "info", "high", "high", "high", "high"]),
    ],
)
def test_two_readers_side_by_side_have_a_verdict_each(now, found):
    """One observation, and each pair of readers sees what each would have seen alone."""
    wanted = {name: risk for (name, _), risk in zip(READERS, found, strict=True) if risk}
    for index, (name, settings) in enumerate(READERS):
        other, more = READERS[(index + 3) % len(READERS)]
        monitor = RecordingMonitor(consumers=[Consumer(name, **settings), Consumer(other, **more)])
        feed(monitor, LEARNED, 12)
        feed(monitor, now)
        risks = {reader: str(risk) for event in monitor.drift for reader, risk in event.risks.items()}
        assert risks == {who: wanted[who] for who in (name, other) if who in wanted}


def test_one_reader_that_is_broken_keeps_an_observation_from_teaching_all():
    """There is one baseline, and what breaks somebody is not normal."""
    blind, plain = Consumer("blind", opaque=True), Consumer("plain")
    for readers, taught in (([blind], 2), ([blind, plain], 1)):
        monitor = RecordingMonitor(consumers=readers)
        feed(monitor, LEARNED, 12)
        feed(monitor, gone("id"), 3)
        assert len(monitor._channels["t", ""].state.rows) == taught


def test_readers_are_asked_for_the_tools_they_read():
    """By a glob of names; a tool nobody reads has the default reader."""
    monitor = RecordingMonitor(consumers=[Consumer("s", tools="search_*"), Consumer("all", ignore=["id"])])
    for tool in ("search_docs", "other"):
        for response in [LEARNED] * 12 + [gone("id")]:
            monitor.observe(tool, response)
    assert {event.tool: event.risks for event in monitor.drift} == {"search_docs": {"s": "high"}}
