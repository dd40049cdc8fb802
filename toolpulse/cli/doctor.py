"""``toolpulse doctor``: whether a store is well, and what to do where it is not."""

from __future__ import annotations

import argparse
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolpulse.cli._actions import json_argument
from toolpulse.cli._advice import kept_aside, unreadable
from toolpulse.cli._command import Command
from toolpulse.cli._exit import CommandError, Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._store import db_argument, file_of, opened, url_of
from toolpulse.cli._text import plural
from toolpulse.cli.log import moment
from toolpulse.errors import StoreError
from toolpulse.judgement.rules import Risk, worst
from toolpulse.state.incidents import ACTIVE
from toolpulse.stores.sql.outbox import Outbox

if TYPE_CHECKING:
    from toolpulse.stores.sql.store import SqlStore

_LATE: Final = timedelta(hours=1)
"""An event that waits longer has nobody to send it."""

_ROOM: Final = 16 * 2**20
"""Bytes of free disk that are too few."""


class Problem(NamedTuple):
    """What is not well, and what to do about it."""

    what: str
    advice: str


class Checkup(NamedTuple):
    """How a store is doing."""

    where: str
    engine: str
    version: str
    schema: int
    size: int
    """Bytes."""
    tools: int
    incidents: int
    """Open ones that can be read."""
    risk: Risk | None
    """The worst of theirs."""
    outbox: Outbox
    problems: tuple[Problem, ...]

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            **self._asdict(),
            "outbox": self.outbox._asdict(),
            "problems": [problem._asdict() for problem in self.problems],
        }


def _examine(store: SqlStore, file: Path | None) -> Checkup:
    engine = store.describe()
    faults = store.check()
    active = [incident.risk for incident in store.incidents() if incident.status in ACTIVE]
    waits = store.outbox()
    problems = [*_broken(faults, file), *_late(waits), *(_of_file(file) if file else ())]
    return Checkup(
        engine["url"],
        engine["engine"],
        engine["version"],
        store.schema,
        store.size(),
        len({tool for tool, _ in store.tools()}),
        len(active),
        worst(active) if active else None,
        waits,
        tuple(problems),
    )


def _broken(faults: list[str], file: Path | None) -> list[Problem]:
    if not faults:
        return []
    aside = f"move {file} and what belongs to it aside" if file else "restore the database from its last good state"
    advice = "`toolpulse baseline export` what still reads and `toolpulse forget` the tool"
    return [Problem(fault, f"{advice}; where it does not go, {aside}") for fault in faults]


def _late(waits: Outbox) -> list[Problem]:
    try:
        late = datetime.now(UTC) - moment(waits.oldest) >= _LATE
    except (ValueError, OverflowError):  # what cannot be read is a problem of its own
        late = False
    if not late:
        return []
    told = f"{plural(waits.waiting, 'event')} to be sent, the oldest of {waits.oldest}"
    return [Problem(told, "no process with sinks took them: see `toolpulse log`, and check who has sinks")]


def _of_file(file: Path) -> list[Problem]:
    found = [
        Problem(f"{kept} was damaged and kept aside", "salvage it with `sqlite3 FILE .recover`, or remove it")
        for kept in kept_aside(file)
    ]
    if not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)):
        found.append(Problem(f"{file} cannot be written by this user", "give file and folder to who watches"))
    free = shutil.disk_usage(file.absolute().parent).free
    if free < _ROOM:
        found.append(Problem(f"{free:,} bytes are left on its disk", "make room; what was counted waits in memory"))
    return found


def _doctor(args: argparse.Namespace) -> int:
    file = file_of(url_of(args))
    try:
        with opened(args) as store:
            found = _examine(store, file)
    except StoreError as error:
        raise CommandError(Exit.INPUT, "; ".join([str(error), *unreadable(error, url_of(args))])) from None
    code = Exit.DIFFERENT if found.problems else Exit.OK
    if args.json:
        print_json({"schema": 1, "code": code, "store": found.plain()})
    else:
        from toolpulse.cli._render import Printer
        from toolpulse.cli._store_views import checkup

        Printer(Output()).lines(checkup(found))
    return code


def _arguments(parser: argparse.ArgumentParser) -> None:
    db_argument(parser)
    json_argument(parser)


DOCTOR: Final = Command(
    "doctor",
    "tell whether a store is well, and what to do",
    "[--db URL] [--json]",
    "Examines a store: engine, schema, size, whether all it holds is whole, events that wait to be sent, and\n"
    "damaged files that were kept aside. Says what to do about each problem, and changes nothing.",
    "toolpulse doctor",
    (Exit.OK, Exit.DIFFERENT, Exit.INPUT),
    _arguments,
    _doctor,
)
