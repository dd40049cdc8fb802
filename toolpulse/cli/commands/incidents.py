"""``toolpulse incidents``: what is broken, and what was decided about it."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from toolpulse.cli._kit.arguments import risks
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output, json_line
from toolpulse.cli._kit.store import Snapshots, db_argument, opened
from toolpulse.cli._kit.targets import glob_argument, tool_argument, tool_of
from toolpulse.cli._kit.text import is_named
from toolpulse.cli._kit.times import moment, since
from toolpulse.cli._views.history import History, Line
from toolpulse.events import DriftEvent
from toolpulse.state.incidents import ACTIVE, Decision, Incident
from toolpulse.state.reports import incident_event

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot


class ShownIncident(NamedTuple):
    """An incident, as the event that would report it now, and what was decided about it."""

    incident: Incident
    event: DriftEvent
    decisions: tuple[Decision, ...]

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        incident = self.incident
        return {
            "schema": 1,
            "id": incident.id,
            "tool": incident.tool,
            "key": incident.key,
            "status": incident.status,
            "risk": incident.risk.value,
            "risks": {name: risk.value for name, risk in incident.risks.items()},
            "count": incident.count,
            "share": self.event.share,
            "first_time": incident.first_time,
            "last_time": incident.last_time,
            "changes": msgspec.to_builtins(self.event.changes),
            "decisions": msgspec.to_builtins(self.decisions),
        }


def _run(args: argparse.Namespace) -> int:
    history = History()
    with opened(args) as store:
        tool = None if args.name is None else tool_of(store, args.name)
        for name, _ in store.tools():
            # every tool, or a short name could fit two of them
            history.add_tool(name)
        snapshots = Snapshots(store, lambda name: tool in (None, name) and is_named(name, args.tool))
        incidents = _incidents(snapshots, args)
    if args.json:
        _print_json(incidents)
    else:
        _print(incidents, history, "no incidents" if args.all else "no open incidents")
    return snapshots.code


def _incidents(snapshots: Snapshots, args: argparse.Namespace) -> list[ShownIncident]:
    """The incidents that were asked for, oldest first."""
    incidents = [
        _shown(incident, snapshot)
        for _, _, snapshot in snapshots
        for incident in snapshot.incidents.values()
        if _wanted(incident, args)
    ]
    return sorted(incidents, key=lambda one: (one.incident.first_time, one.incident.opened, one.incident.id))


def _wanted(incident: Incident, args: argparse.Namespace) -> bool:
    return (
        (args.all or incident.status in ACTIVE)
        and (args.risk is None or incident.risk in args.risk)
        and (args.since is None or _time(incident.last_time) >= args.since)
    )


def _time(text: str) -> datetime:
    """A time that a store holds. One that cannot be read, because others wrote it, is long ago."""
    try:
        return moment(text)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)


def _shown(incident: Incident, snapshot: Snapshot) -> ShownIncident:
    decisions = tuple(decision for decision in snapshot.decisions.values() if decision.incident == incident.id)
    event = incident_event(incident, time=incident.last_time, ordinal=snapshot.observations)
    sentence = "; ".join(_sentence(decision, incident) for decision in decisions)
    return ShownIncident(incident, msgspec.structs.replace(event, decision=sentence or None), decisions)


def _sentence(decision: Decision, incident: Incident) -> str:
    """A decision in words: what, about which changes unless about all, why and by whom."""
    paths = sorted({path for path, _, _ in decision.changes})
    about = "" if len(decision.changes) == len(incident.keys) else f" {', '.join(paths)}"
    why = f": {decision.reason}" if decision.reason else ""
    return f"{decision.action}{about}{why}" + (f" ({decision.who})" if decision.who else "")


def _print_json(incidents: list[ShownIncident]) -> None:
    out = Output()
    for one in incidents:
        out.write(json_line(one.plain()))


def _print(incidents: list[ShownIncident], history: History, none: str) -> None:
    from toolpulse.cli._views.drift import drift_log
    from toolpulse.cli._views.printer import Printer

    for one in incidents:
        history.add(Line("", one.event, _time(one.incident.first_time)))
    Printer(Output()).lines(drift_log(history, ids=True) if incidents else [none])


def _arguments(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser, "name", optional=True)
    parser.add_argument("--all", action="store_true", help="those that were resolved, decided or only noted, too")
    glob_argument(parser)
    parser.add_argument("--risk", metavar="RISKS", type=risks,
                        help="incidents at one of these risks, as in high,availability")  # fmt: skip
    parser.add_argument("--since", metavar="WHEN", type=since, help="seen in the last 30m, 24h, 7d, or since a time")
    db_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object for each incident")


INCIDENTS: Final = Command(
    name="incidents",
    summary="show what is broken, and what was decided about it",
    usage="[TOOL] [--all] [--tool GLOB] [--risk RISKS] [--since WHEN] [--db URL] [--json]",
    about="Shows the open incidents of a store with their ids: each with its changes, how many calls showed it\n"
    "and their share since it began. A tool that cannot be read is named on stderr, and the exit code is 4.",
    example="toolpulse incidents --risk high --since 24h",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_arguments,
    run=_run,
)
