"""``toolpulse incidents``: what is broken, and what was decided about it."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from toolpulse.cli._command import Command, risks
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._store import Known, db_argument, opened
from toolpulse.cli._targets import glob_argument, tool_argument, tool_of
from toolpulse.cli._text import is_named, safe_json
from toolpulse.cli.log import History, Line, moment, since
from toolpulse.events import DriftEvent, drift_event
from toolpulse.state.incidents import ACTIVE, Decision, Incident

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot


class Found(NamedTuple):
    """An incident, as an event that would be told of it now, and what was decided about it."""

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


def _found(incident: Incident, now: Snapshot) -> Found:
    decisions = tuple(decision for decision in now.decisions.values() if decision.incident == incident.id)
    event = drift_event(
        incident, time=incident.last_time, ordinal=now.observations, before=None, after=None, encoding="native"
    )
    said = "; ".join(_said(decision, incident) for decision in decisions)
    return Found(incident, msgspec.structs.replace(event, decision=said or None), decisions)


def _said(decision: Decision, incident: Incident) -> str:
    """A decision in words: what, about which changes where not about all, why and by whom."""
    paths = sorted({path for path, _, _ in decision.changes})
    about = "" if len(decision.changes) == len(incident.keys) else f" {', '.join(paths)}"
    why = f": {decision.reason}" if decision.reason else ""
    return f"{decision.action}{about}{why}" + (f" ({decision.who})" if decision.who else "")


def _when(text: str) -> datetime:
    try:
        return moment(text)
    except (ValueError, OverflowError):  # somebody else wrote it
        return datetime.min.replace(tzinfo=UTC)


def _wanted(incident: Incident, args: argparse.Namespace) -> bool:
    return (
        (args.all or incident.status in ACTIVE)
        and (args.risk is None or incident.risk in args.risk)
        and (args.since is None or _when(incident.last_time) >= args.since)
    )


def _run(args: argparse.Namespace) -> int:
    history, found = History(), []
    with opened(args) as store:
        tool = None if args.name is None else tool_of(store, args.name)
        for name, _ in store.tools():
            history.meet(name)
        known = Known(store, lambda name: tool in (None, name) and is_named(name, args.tool))
        for _, _, now in known:
            wanted = (incident for incident in now.incidents.values() if _wanted(incident, args))
            found += [_found(incident, now) for incident in wanted]
    found.sort(key=lambda one: (one.incident.first_time, one.incident.opened, one.incident.id))
    out = Output()
    if args.json:
        for one in found:
            out.write(safe_json(json.dumps(one.plain(), ensure_ascii=True)) + "\n")
    else:
        from toolpulse.cli._render import Printer, drift_log

        for one in found:
            history.add(Line("", one.event, _when(one.incident.first_time)))
        none = "no incidents" if args.all else "no open incidents"
        Printer(out).lines(drift_log(history, ids=True) if found else [none])
    return known.code


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
    "incidents",
    "show what is broken, and what was decided about it",
    "[TOOL] [--all] [--tool GLOB] [--risk RISKS] [--since WHEN] [--db URL] [--json]",
    "Shows the open incidents of a store with their ids: each with its changes, how many calls showed it\n"
    "and their share since it began. A tool that cannot be read is left out, told of, and ends it with 4.",
    "toolpulse incidents --risk high --since 24h",
    (Exit.OK, Exit.INPUT),
    _arguments,
    _run,
)
