# ruff: noqa: D102, D103
"""The public types, as mypy and pyright read them. Checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from functools import cached_property, partial
from typing import Any, Generic, ParamSpec, TypeVar, assert_type

from toolpulse import (
    Baseline,
    Consumer,
    DriftError,
    Limits,
    Monitor,
    Risk,
    ToolPulseError,
    Verdict,
    configure,
    fingerprint,
    register,
    set_active,
    shape_of,
    watch,
)
from toolpulse.events import DriftEvent
from toolpulse.judgement.findings import Finding
from toolpulse.runtime.health import Health, ToolHealth
from toolpulse.shape import Observation, Truncation
from toolpulse.sinks.base import Sink
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.state.incidents import Decision, Incident
from toolpulse.stores.base import Store
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import RecordingMonitor, assert_no_canary, canaries, recording

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

monitor = Monitor()


# -- watch gives back what it was given --------------------------------------------------------------------------------


@watch
def plain(query: str, limit: int = 10) -> dict[str, int]:
    return {query: limit}


@watch(tool="named", key="query", maps=["rows"], on_drift="raise")
def named(query: str, *rest: int, **more: bool) -> list[int]:
    return [*rest]


@monitor.watch
async def awaited(query: str) -> bytes:
    return query.encode()


@monitor.watch(unwrap="none", limits=Limits(depth=3), consumers=["chat", Consumer("strict")])
def generated(n: int) -> Generator[int, str, bool]:
    yield n
    return True


@watch
async def streamed(n: int) -> AsyncIterator[str]:
    yield str(n)


@watch
def generic(value: T, others: list[T]) -> T:
    return others[0] if others else value


def uses() -> None:
    assert_type(plain("a"), dict[str, int])
    assert_type(plain("a", limit=1), dict[str, int])
    assert_type(named("a", 1, 2, flag=True), list[int])
    assert_type(generated(1), Generator[int, str, bool])
    assert_type(streamed(1), AsyncIterator[str])
    assert_type(generic(1, []), int)
    assert_type(generic("a", ["b"]), str)
    plain(1)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    named("a", "b")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


async def awaits() -> None:
    assert_type(await awaited("a"), bytes)
    async for item in streamed(1):
        assert_type(item, str)


def passed_through(function: Callable[P, R]) -> Callable[P, R]:
    assert_type(watch(function), Callable[P, R])
    return watch(tool="t")(function)


assert_type(passed_through(plain)("a", limit=2), dict[str, int])


class Client(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    @watch
    def method(self, query: str) -> T:
        return self.value

    @classmethod
    @watch
    def of_class(cls, query: str) -> str:
        return query

    @watch
    @classmethod
    def of_class_outside(cls, query: str) -> str:
        return query

    @staticmethod
    @watch(tool="static")
    def static(query: str) -> int:
        return len(query)

    @watch
    @staticmethod
    def static_outside(query: str) -> int:
        return len(query)

    @property
    @watch
    def prop(self) -> float:
        return 1.0

    @cached_property
    @watch
    def cached(self) -> float:
        return 1.0

    @watch
    async def awaited(self, query: str) -> list[T]:
        return [self.value]

    @monitor.watch(key=lambda self, query: query)
    def keyed(self, query: str) -> Iterator[T]:
        yield self.value

    def __call__(self, query: str) -> T:
        return self.value


def uses_methods(client: Client[int]) -> None:
    assert_type(client.method("a"), int)
    assert_type(Client.of_class("a"), str)
    assert_type(client.of_class("a"), str)
    assert_type(Client.of_class_outside("a"), str)
    assert_type(Client.static("a"), int)
    assert_type(Client.static_outside("a"), int)
    assert_type(client.prop, float)
    assert_type(client.cached, float)
    assert_type(client.keyed("a"), Iterator[int])
    assert_type(watch(client), Client[int])
    assert_type(watch(client)("a"), int)
    assert_type(watch(partial(plain, "a")), partial[dict[str, int]])
    assert_type(watch(lambda: len("a"))(), int)


async def awaits_methods(client: Client[int]) -> None:
    assert_type(await client.awaited("a"), list[int])


def promised() -> Awaitable[int]:
    raise NotImplementedError


assert_type(watch(promised)(), Awaitable[int])

watch("name")(plain)  # type: ignore[operator] # pyright: ignore[reportCallIssue]
watch(tool=1)  # type: ignore[call-overload] # pyright: ignore[reportArgumentType, reportCallIssue]
watch(on_drift="shout")  # type: ignore[call-overload] # pyright: ignore[reportArgumentType, reportCallIssue]
watch(nothing=1)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]


# -- Monitor -----------------------------------------------------------------------------------------------------------


class MySink:
    def emit(self, event: DriftEvent) -> None:
        assert_type(event.id, str)
        assert_type(event.tool, str)
        assert_type(event.status, str)
        assert_type(event.incident, str | None)
        assert_type(event.risk, Risk)
        assert_type(event.risks, dict[str, Risk])
        assert_type(event.changes[0].path, str)
        assert_type(event.changes[0].risk, Risk)
        assert_type(event.count, int)
        assert_type(event.share, float)
        assert_type(event.coverage, tuple[str, ...])


sink: Sink = MySink()
sinks: list[Sink] = [JsonlSink("drift.jsonl"), LogSink(), MySink()]
store: Store = MemoryStore()


def alarm(event: DriftEvent) -> None: ...


def uses_monitor(baseline: Baseline) -> None:
    configured = configure(
        "memory:",
        sinks=[MySink()],
        consumers=[Consumer("chat", numeric="strict", ignore=["debug"], requires=["id"], risk={"a": "info"})],
        baselines={"t": baseline},
        confirm=2,
        limits=Limits(elements=10),
        background=False,
        flush_interval=0.5,
        on_drift=alarm,
    )
    assert_type(configured, Monitor)
    with Monitor(store, sinks=sinks) as own:
        assert_type(own, Monitor)
        assert_type(own.observe("t", object(), key="k", unwrap="none"), None)
        assert_type(own.flush(), bool)
        assert_type(own.incidents("t"), tuple[Incident, ...])
        assert_type(own.accept("t", reason="agreed"), tuple[Decision, ...])
        health = own.health()
    assert_type(health, Health)
    assert_type(health.tools, dict[str, ToolHealth])
    assert_type(health.tools["t"].calls, int)
    assert_type(health.tools["t"].errors, int)
    assert_type(health.tools["t"].state, str)
    assert_type(health.tools["t"].error_types, dict[str, int])
    assert_type(health.swallowed, int)
    assert_type(health.store, str)
    assert_type(health.waiting, int)
    assert_type(health.sinks, dict[str, str])
    Monitor(sinks=[object()])  # type: ignore[list-item] # pyright: ignore[reportArgumentType]
    Monitor(on_drift="shout")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


# -- Baseline, Consumer, shapes ----------------------------------------------------------------------------------------


def uses_baseline(responses: list[Any]) -> None:
    baseline = Baseline.learn(responses, consumers=[Consumer("chat")], maps=["rows"], unwrap="auto")
    assert_type(baseline, Baseline)
    assert_type(Baseline.load("baseline.json"), Baseline)
    assert_type(baseline.save("baseline.json"), None)
    verdict = baseline.check(responses, consumer="chat")
    assert_type(verdict, Verdict)
    assert_type(verdict.risk, Risk)
    assert_type(verdict.findings, tuple[Finding, ...])
    assert_type(verdict.truncations, tuple[Truncation, ...])
    for finding in verdict.findings:
        assert_type(finding.path, str)
        assert_type(finding.rule_id, str)
        assert_type(finding.before, str)
        assert_type(finding.after, str)
        assert_type(finding.risk, Risk)
        assert_type(finding.evidence, str)
        assert_type(finding.pattern, str | None)
        assert_type(finding.consumer, str)
    assert_type(verdict.risk > Risk.INFO, bool)
    assert_type(verdict.risk.rank, int)


def uses_consumer(consumer: Consumer) -> None:
    assert_type(consumer.name, str)
    assert_type(consumer.tools, str)
    assert_type(consumer.opaque, bool)
    assert_type(consumer.reads("t"), bool)


class Special:
    rows: list[int]


def uses_shapes() -> None:
    seen = shape_of({"a": 1}, Limits(depth=2), maps=["a"], unwrap="auto")
    assert_type(seen, Observation)
    assert_type(seen.fingerprint, str)
    assert_type(seen.shape.kind, str)
    assert_type(seen.encoding, str)
    assert_type(fingerprint([1]), str)
    register(Special, lambda special: special.rows)
    set_active(False)
    with set_active(True):
        pass


def uses_errors() -> None:
    try:
        plain("a")
    except DriftError as error:
        assert_type(error.tool, str)
        raise ToolPulseError from error


# -- testing -----------------------------------------------------------------------------------------------------------


def uses_testing() -> None:
    with recording(confirm=2) as recorded:
        assert_type(recorded, RecordingMonitor)
        assert_type(recorded.events, list[DriftEvent])
        assert_type(recorded.drift, list[DriftEvent])
    assert_type(canaries(), dict[str, object])
    assert_type(assert_no_canary(recorded, "text", b"bytes"), None)
