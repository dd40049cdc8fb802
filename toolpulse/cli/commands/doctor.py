"""``toolpulse doctor``: whether a store is well, and what to do where it is not."""

from __future__ import annotations

import argparse
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.arguments import json_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import CommandError, Exit
from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.store import db_argument, file_of, opened, url_of
from toolpulse.cli._kit.text import plural
from toolpulse.cli._kit.times import moment
from toolpulse.cli._views.advice import moved_aside, unreadable
from toolpulse.cli._views.store_facts import Checkup, Problem
from toolpulse.errors import StoreError
from toolpulse.judgement.rules import worst
from toolpulse.state.incidents import ACTIVE
from toolpulse.stores.sql.outbox import Outbox

if TYPE_CHECKING:
    from toolpulse.stores.sql.store import SqlStore

_LATE: Final = timedelta(hours=1)
"""An event that waits longer is a problem: no running process sends it."""

_LITTLE_SPACE: Final = 16 * 2**20
"""Bytes of free disk below which it is a problem."""


def _doctor(args: argparse.Namespace) -> int:
    file = file_of(url_of(args))
    try:
        with opened(args) as store:
            result = _examined(store, file)
    except StoreError as error:
        raise CommandError(Exit.INPUT, "; ".join([str(error), *unreadable(error, url_of(args))])) from None
    code = Exit.DIFFERENT if result.problems else Exit.OK
    if args.json:
        print_json({"schema": 1, "code": code, "store": result.plain()})
    else:
        from toolpulse.cli._views.printer import Printer
        from toolpulse.cli._views.store_views import checkup

        Printer(Output()).lines(checkup(result))
    return code


def _examined(store: SqlStore, file: Path | None) -> Checkup:
    """Examine a store. ``file`` is that of a SQLite store, which is looked at, too."""
    engine = store.describe()
    faults = store.check()
    active = [incident.risk for incident in store.incidents() if incident.status in ACTIVE]
    outbox = store.outbox()
    return Checkup(
        where=engine["url"],
        engine=engine["engine"],
        version=engine["version"],
        schema=store.schema,
        size=store.size(),
        tools=len({tool for tool, _ in store.tools()}),
        incidents=len(active),
        risk=worst(active) if active else None,
        outbox=outbox,
        problems=(*_damage(faults, file), *_late(outbox), *(_of_file(file) if file else ())),
    )


def _damage(faults: list[str], file: Path | None) -> list[Problem]:
    if not faults:
        return []
    aside = f"move {file} and what belongs to it aside" if file else "restore the database from its last good state"
    advice = "`toolpulse baseline export` what can still be read and `toolpulse forget` the tool"
    return [Problem(fault, f"{advice}; if that fails, {aside}") for fault in faults]


def _late(outbox: Outbox) -> list[Problem]:
    try:
        late = datetime.now(UTC) - moment(outbox.oldest) >= _LATE
    except (ValueError, OverflowError):  # what cannot be read is a problem of its own
        late = False
    if not late:
        return []
    what = f"{plural(outbox.waiting, 'event')} to be sent, the oldest of {outbox.oldest}"
    return [Problem(what, "no process with sinks has sent them: see `toolpulse log`, and check who has sinks")]


def _of_file(file: Path) -> list[Problem]:
    """What is wrong with the file of a SQLite store, its folder and its disk."""
    problems = [
        Problem(f"{path} was damaged and moved aside", "salvage it with `sqlite3 FILE .recover`, or remove it")
        for path in moved_aside(file)
    ]
    if not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)):
        advice = "let the user of the watched process write file and folder"
        problems.append(Problem(f"{file} cannot be written by this user", advice))
    free = shutil.disk_usage(file.absolute().parent).free
    if free < _LITTLE_SPACE:
        advice = "make room; until then, new counts wait in the memory of the watched process"
        problems.append(Problem(f"{free:,} bytes are left on its disk", advice))
    return problems


def _arguments(parser: argparse.ArgumentParser) -> None:
    db_argument(parser)
    json_argument(parser)


DOCTOR: Final = Command(
    name="doctor",
    summary="examine a store, and say what to do about problems",
    usage="[--db URL] [--json]",
    about="Examines a store: engine, schema, size, whether all it holds can be read, events that wait to be sent,\n"
    "and damaged files that were moved aside. Says what to do about each problem, and changes nothing.",
    example="toolpulse doctor",
    exits=(Exit.OK, Exit.DIFFERENT, Exit.INPUT),
    arguments=_arguments,
    run=_doctor,
)
