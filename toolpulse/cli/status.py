"""``toolpulse status``: what a store knows of each tool."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolpulse._base.times import iso_time
from toolpulse.cli._actions import json_argument
from toolpulse.cli._command import Command
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._store import Known, db_argument, opened
from toolpulse.cli._targets import glob_argument
from toolpulse.cli._text import is_named, short_names
from toolpulse.judgement.changes import WARM_UP
from toolpulse.judgement.rules import Risk, worst
from toolpulse.state.incidents import ACTIVE

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.stores.sql.store import SqlStore

_HOUR: Final = 3600


class ToolStatus(NamedTuple):
    """What is known of one tool and key, in figures."""

    tool: str
    key: str
    state: str
    """``learning`` in the warm-up, ``watching`` after it."""
    calls: int
    errors: int
    observations: int
    taught: int
    """Distinct shapes that taught."""
    held: int
    """Distinct shapes that wait for a decision."""
    last_24h: int
    """Observations of the last 24 hours, the hour that runs included."""
    incidents: int
    """Open ones."""
    risk: Risk | None
    """The worst of theirs."""
    first: datetime
    last: datetime

    def plain(self) -> dict[str, Any]:
        """The same as plain data; times as ISO 8601 in UTC, to the millisecond."""
        times = {"first": iso_time(self.first.timestamp()), "last": iso_time(self.last.timestamp())}
        return {**self._asdict(), **times}


def _status(tool: str, key: str, now: Snapshot, traffic: int, seen: tuple[float, float]) -> ToolStatus:
    active = [incident.risk for incident in now.incidents.values() if incident.status in ACTIVE]
    return ToolStatus(
        tool,
        key,
        "learning" if now.observations < WARM_UP else "watching",
        now.calls.calls,
        now.calls.errors,
        now.observations,
        len(now.rows),
        len(now.held),
        traffic,
        len(active),
        worst(active) if active else None,
        *(datetime.fromtimestamp(seconds, UTC) for seconds in seen),
    )


def _rows(store: SqlStore, known: Known) -> list[ToolStatus]:
    since = int(time.time()) // _HOUR - 23
    seen = store.times()
    return [
        _status(tool, key, now, sum(store.traffic(tool, key, since).values()), seen.get((tool, key), (0.0, 0.0)))
        for tool, key, now in known
    ]


def _total(rows: list[ToolStatus]) -> dict[str, int]:
    summed = ("calls", "errors", "observations", "last_24h", "incidents")
    return {"tools": len({row.tool for row in rows}), **{name: sum(getattr(r, name) for r in rows) for name in summed}}


def _run(args: argparse.Namespace) -> int:
    with opened(args) as store:
        known = Known(store, lambda tool: is_named(tool, args.tool))
        rows = _rows(store, known)
        names = short_names(tool for tool, _ in store.tools())
    total = _total(rows)
    if args.json:
        print_json({"schema": 1, "tools": [row.plain() for row in rows], "total": total})
    else:
        from toolpulse.cli._render import Printer
        from toolpulse.cli._store_views import status_table

        Printer(Output()).lines(status_table(rows, total, names))
    return known.code


def _arguments(parser: argparse.ArgumentParser) -> None:
    glob_argument(parser)
    db_argument(parser)
    json_argument(parser)


STATUS: Final = Command(
    "status",
    "show how each watched tool is doing",
    "[--tool GLOB] [--db URL] [--json]",
    "Shows what a store knows of each tool: its calls, the distinct shapes of its responses, whether it is\n"
    "still learning, and its open incidents. A tool that cannot be read is left out, told of, and ends it with 4.",
    "toolpulse status",
    (Exit.OK, Exit.INPUT),
    _arguments,
    _run,
)
