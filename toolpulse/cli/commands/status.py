"""``toolpulse status``: what a store knows of each tool."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.arguments import json_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.store import Snapshots, db_argument, opened
from toolpulse.cli._kit.targets import glob_argument
from toolpulse.cli._kit.text import is_named, short_names
from toolpulse.cli._views.store_facts import ToolStatus
from toolpulse.judgement.changes import WARM_UP
from toolpulse.judgement.rules import worst
from toolpulse.state.incidents import ACTIVE

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.stores.sql.store import SqlStore

_HOUR: Final = 3600
"""Seconds: a store counts traffic by the hour."""

_SUMMED: Final = ("calls", "errors", "observations", "last_24h", "incidents")


def _run(args: argparse.Namespace) -> int:
    with opened(args) as store:
        snapshots = Snapshots(store, lambda tool: is_named(tool, args.tool))
        rows = _rows(store, snapshots)
        names = short_names(tool for tool, _ in store.tools())
    total = _total(rows)
    if args.json:
        print_json({"schema": 1, "tools": [row.plain() for row in rows], "total": total})
    else:
        from toolpulse.cli._views.printer import Printer
        from toolpulse.cli._views.store_views import status_table

        Printer(Output()).lines(status_table(rows, total, names))
    return snapshots.code


def _rows(store: SqlStore, snapshots: Snapshots) -> list[ToolStatus]:
    # the current hour and 23 before it
    since = int(time.time()) // _HOUR - 23
    seen = store.times()
    return [
        _status(tool, key, snapshot, sum(store.traffic(tool, key, since).values()), seen.get((tool, key), (0.0, 0.0)))
        for tool, key, snapshot in snapshots
    ]


def _status(tool: str, key: str, snapshot: Snapshot, last_24h: int, seen: tuple[float, float]) -> ToolStatus:
    """``seen`` is when it was seen first and last, in seconds since 1970."""
    active = [incident.risk for incident in snapshot.incidents.values() if incident.status in ACTIVE]
    first, last = (datetime.fromtimestamp(seconds, UTC) for seconds in seen)
    return ToolStatus(
        tool=tool,
        key=key,
        state="learning" if snapshot.observations < WARM_UP else "watching",
        calls=snapshot.calls.calls,
        errors=snapshot.calls.errors,
        observations=snapshot.observations,
        learned=len(snapshot.rows),
        quarantined=len(snapshot.quarantined),
        last_24h=last_24h,
        incidents=len(active),
        risk=worst(active) if active else None,
        first=first,
        last=last,
    )


def _total(rows: list[ToolStatus]) -> dict[str, int]:
    sums = {name: sum(getattr(row, name) for row in rows) for name in _SUMMED}
    return {"tools": len({row.tool for row in rows}), **sums}


def _arguments(parser: argparse.ArgumentParser) -> None:
    glob_argument(parser)
    db_argument(parser)
    json_argument(parser)


STATUS: Final = Command(
    name="status",
    summary="show how each watched tool is doing",
    usage="[--tool GLOB] [--db URL] [--json]",
    about="Shows what a store knows of each tool: its calls, the distinct shapes of its responses, whether it is\n"
    "still learning, and its open incidents. A tool that cannot be read is named on stderr, and the exit code is 4.",
    example="toolpulse status",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_arguments,
    run=_run,
)
