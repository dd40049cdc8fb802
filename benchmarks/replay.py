"""Recorded responses in the order in which they were recorded, through a monitor; and recorded versions of public APIs.

Three detectors read the same responses. The monitor, after its warm-up of ten. A *hash rule*: alert when the
fingerprint of the whole response is new. A *presence rule*: alert when a field is absent that was there in each of the
last ten responses. The rules know nothing for their first ten responses either.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.corpus import corpus, from_tests, lines
from benchmarks.timing import options, table
from toolpulse import Monitor, Risk, shape_of
from toolpulse.events import DriftEvent
from toolpulse.judgement.changes import WARM_UP

Series = tuple[str, list[Any]]
"""A tool and its responses in order."""

_TOLD: Final = frozenset({"open", "noted"})
"""The statuses with which an incident is told of for the first time; ``noted`` is one of additions only."""

_RISKS: Final = (Risk.HIGH, Risk.AVAILABILITY, Risk.INVESTIGATE)
"""Worse than ``info``."""


class Alert(NamedTuple):
    """One incident that was told of: at which call, and after how many calls that showed it already."""

    tool: str
    call: int
    event: DriftEvent
    response: Any

    @property
    def delay(self) -> int:
        """Calls that showed it before the one that told of it."""
        return max(0, self.event.count - 1)

    @property
    def is_sentence(self) -> bool:
        """Whether a tool that answers with documents answered with plain text."""
        return isinstance(self.response, str)


class Replayed(NamedTuple):
    """What three detectors said of one family of tools."""

    tools: int
    judged: int
    """Responses after the warm-up."""
    alerts: list[Alert]
    """Incidents worse than ``info``."""
    notes: int
    """Incidents that are ``info``."""
    hash_rule: int
    presence_rule: int


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables and, below them, each incident."""
    args = options(__doc__, argv)
    folder = corpus()
    if folder is None:
        return 0
    if not args.quick:
        versions()
    names = ("tau_bench_airline", "livemcpbench") if args.quick else tuple(FAMILIES)
    found = {name: replay(FAMILIES[name](folder / "over_time")) for name in names}
    head = ("family", "tools", "judged calls", *_RISKS, "info", "hash rule", "presence rule")
    table("incidents told of beside alerts of plain rules", head, ((name, *_row(done)) for name, done in found.items()))
    for name, done in found.items():
        _list(name, done.alerts)
    quiet = [alert for alert in found["tau_bench_airline"].alerts if not alert.is_sentence]
    print(f"\ntau_bench_airline: {len(quiet)} incidents beyond a first error sentence in place of a document; target 0")
    return int(bool(quiet) and args.check)


def versions() -> None:
    """Print how many of the listed changes between versions are found, and the ``high`` findings beyond the list."""
    module = from_tests("version_pairs")
    rows, beyond = [], []
    for source in module.SOURCES:
        done = [(pair.name, module.outcome(pair)) for pair in module.pairs(source)]
        listed = sum(len(result.listed) for _, result in done)
        missed = [(name, str(change)) for name, result in done for change in result.missed]
        unexpected = [(name, what) for name, result in done for what in result.unexpected]
        rows.append((source, len(done), listed, listed - len(missed), len(unexpected)))
        beyond += [("missed", *what) for what in missed] + [("not listed", *what) for what in unexpected]
    table(
        "version pairs: removals and kind changes, as another program listed them",
        ("source", "pairs", "listed", "found", "high beyond the list"),
        rows,
    )
    for what, name, change in beyond:
        print(f"  {what}: {name}: {change}")


def replay(series: Iterable[Series]) -> Replayed:
    """Run every series through the three detectors."""
    tools = judged = notes = hashes = absences = 0
    alerts: list[Alert] = []
    for tool, responses in series:
        told = list(_monitored(tool, responses))
        tools += 1
        judged += max(0, len(responses) - WARM_UP)
        alerts += [alert for alert in told if alert.event.risk in _RISKS]
        notes += sum(alert.event.risk is Risk.INFO for alert in told)
        hashes += hash_rule(responses)
        absences += presence_rule(responses)
    return Replayed(tools, judged, alerts, notes, hashes, absences)


def _monitored(tool: str, responses: Sequence[Any]) -> Iterator[Alert]:
    events: list[DriftEvent] = []
    with Monitor("memory:", sinks=[_Into(events)], background=False) as monitor:
        for call, response in enumerate(responses, 1):
            monitor.observe(tool, response)
            yield from (Alert(tool, call, event, response) for event in events if event.status in _TOLD)
            events.clear()
        assert not monitor.health().swallowed, monitor.health().swallowed_by


class _Into:
    def __init__(self, events: list[DriftEvent]) -> None:
        self._events = events

    def emit(self, event: DriftEvent) -> None:
        self._events.append(event)


def hash_rule(responses: Sequence[Any]) -> int:
    """Alerts of a plain hash: fingerprints that are new after the first ten responses."""
    known: set[str] = set()
    alerts = 0
    for call, response in enumerate(responses):
        seen = shape_of(response, unwrap="auto").fingerprint
        alerts += call >= WARM_UP and seen not in known
        known.add(seen)
    return alerts


def presence_rule(responses: Sequence[Any]) -> int:
    """Alerts of a plain presence rule: responses without a field that each of the ten before had."""
    last: deque[set[str]] = deque(maxlen=WARM_UP)
    alerts = 0
    for response in responses:
        fields = set(_fields(shape_of(response, unwrap="auto").shape, ""))
        if len(last) == WARM_UP:
            alerts += not set.intersection(*last) <= fields
        last.append(fields)
    return alerts


def _fields(shape: Any, path: str) -> Iterator[str]:
    for name, child in getattr(shape, "fields", {}).items():
        yield f"{path}.{name}"
        yield from _fields(child, f"{path}.{name}")
    for member in (*getattr(shape, "elements", ()), *getattr(shape, "values", ())):
        yield from _fields(member, f"{path}[]")


def tau_bench(folder: Path) -> Iterator[Series]:
    """A tool a file."""
    for path in sorted(folder.joinpath("tau_bench_airline").glob("*.jsonl")):
        yield path.stem, [row["result"] for row in lines(path)]


def livemcpbench(folder: Path) -> Iterator[Series]:
    """Whole MCP results, by server and tool."""
    rows = list(lines(folder / "livemcpbench" / "calltoolresult_envelopes.jsonl"))
    yield from _grouped((f"{row['server']}.{row['tool']}", row["result"]) for row in rows)


def toolbench(folder: Path) -> Iterator[Series]:
    """Envelopes of RapidAPI tools; those that do not say which tool it was are left out."""
    rows = list(lines(folder / "toolbench" / "tool_envelopes_truncated_text.jsonl"))
    yield from _grouped((row["tool"], row["result"]) for row in rows if row["tool"] != "?")


def octokit(folder: Path) -> Iterator[Series]:
    """GitHub's API by method, path pattern and status, over seven years."""
    rows = [row for path in sorted(folder.joinpath("octokit_fixtures").glob("*.jsonl")) for row in lines(path)]
    rows.sort(key=lambda row: row["date"])
    named = ((f"{row['method']} {pattern(row['path'])} {row['status']}", row["response"]) for row in rows)
    yield from _grouped(named)


def pattern(path: str) -> str:
    """The path with names and numbers that vary from recording to recording as ``*``."""
    return re.sub(r"(?<=/)(tmp-scenario-[^/?]+|[0-9a-f]{40}|\d+)", "*", path.partition("?")[0]).rstrip("/")


def _grouped(named: Iterable[tuple[str, Any]]) -> Iterator[Series]:
    for name, rows in groupby(sorted(named, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        yield name, [response for _, response in rows]


FAMILIES: Final = {
    "tau_bench_airline": tau_bench,
    "livemcpbench": livemcpbench,
    "toolbench": toolbench,
    "octokit_fixtures": octokit,
}


def _row(done: Replayed) -> tuple[int, ...]:
    by_risk = [sum(alert.event.risk is risk for alert in done.alerts) for risk in _RISKS]
    return done.tools, done.judged, *by_risk, done.notes, done.hash_rule, done.presence_rule


def _list(name: str, alerts: Sequence[Alert]) -> None:
    rows = []
    for alert in alerts:
        worst = max(alert.event.changes, key=lambda change: change.risk)
        what = f"{worst.path}: {worst.before} -> {worst.after} ({worst.rule_id})"
        event = alert.event
        rows.append((alert.tool[:44], alert.call, alert.delay, event.risk.value, len(event.changes), what[:70]))
    if rows:
        table(f"{name}: each incident", ("tool", "at call", "delay in calls", "risk", "changes", "first change"), rows)


if __name__ == "__main__":
    raise SystemExit(main())
