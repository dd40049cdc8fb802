"""``toolpulse log``: what a drift log or a store tells, for a person or line by line for a program."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, TypeVar

from toolpulse._base.canonical import JSONError
from toolpulse.cli._command import Command, risks
from toolpulse.cli._events import arriving, stored
from toolpulse.cli._exit import CommandError, Exit, complain
from toolpulse.cli._lines import follow, lines
from toolpulse.cli._output import Output
from toolpulse.cli._store import db_argument, exists, file_of, is_missing, may_be_there, url_of
from toolpulse.cli._targets import glob_argument
from toolpulse.cli._text import is_named, safe_json, short_names
from toolpulse.cli.inputs import STDIN, shown
from toolpulse.errors import ConfigurationError, InputError, StoreError
from toolpulse.events import DriftEvent, decode

A = TypeVar("A")
B = TypeVar("B")

DEFAULT: Final = "drift.jsonl"
"""The log that is read where none is named."""

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Line(NamedTuple):
    """One line of a log: its text and the event it holds."""

    text: str
    event: DriftEvent
    time: datetime


class Entry(NamedTuple):
    """What is shown of an incident: its newest event, and when it began."""

    event: DriftEvent
    since: datetime


class History:
    """The newest event of each incident, in the order of the newest, and all names of tools and consumers."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], Entry] = {}
        self._seen: dict[tuple[str, str, str], datetime] = {}
        self._names: dict[str, str] = {}
        self.consumers: set[str] = set()

    def add(self, line: Line, *, shown: bool = True) -> Entry:
        """Take one more line; the entry it leads to. One that is not ``shown`` only adds to what is known."""
        event = line.event
        key = (event.tool, event.key, event.incident or event.id)
        began = self._seen[key] = min(self._seen.get(key, line.time), line.time)
        self.meet(event.tool)
        self.consumers.update(event.risks)
        entry = Entry(event, began)
        self._entries.pop(key, None)
        if shown:
            self._entries[key] = entry
        return entry

    def meet(self, tool: str) -> None:
        """Know a tool's name, so that a short one stands for no other."""
        self._names.setdefault(tool, "")

    def name(self, tool: str) -> str:
        """A tool's name, short where that is unique among all tools so far."""
        if not self._names.get(tool):
            self._names = short_names([*self._names, tool])
        return self._names[tool]

    @property
    def entries(self) -> list[Entry]:
        """What is to be shown, the incident that was told of last at the end."""
        return list(self._entries.values())


def since(text: str, now: datetime | None = None) -> datetime:
    """A point in time: ``24h`` or ``7d`` before now, or as ISO 8601 has it (UTC where it says no zone)."""
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", text)
    try:
        if match:
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[match[2]]: int(match[1])})
        return moment(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is neither like 30m, 24h, 7d, 2w nor an ISO 8601 time") from None


def moment(text: str) -> datetime:
    """A time as ISO 8601 has it, in UTC. Raises ValueError or OverflowError for what is none."""
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def parsed(file: str, number: int, raw: bytes) -> Line:
    """Read one line. Raises InputError as ``file:line: what is wrong``."""
    try:
        event = decode(raw)
        return Line(raw.decode("utf-8"), event, moment(event.time))
    except JSONError as error:
        reason = error.reason if error.column is None else f"{error.reason} (column {error.column})"
    except InputError as error:
        reason = str(error)
    except (ValueError, OverflowError):
        reason = "time is not as ISO 8601 has it"
    raise InputError(f"{shown(file)}:{number}: {reason}") from None


def history(file: str, args: argparse.Namespace | None = None) -> History:
    """A whole log. Raises InputError at the first line that is none of a log."""
    found = History()
    for number, raw in lines(file):
        line = parsed(file, number, raw)
        found.add(line, shown=args is None or _wanted(line, args))
    return found


def _wanted(line: Line, args: argparse.Namespace) -> bool:
    event = line.event
    return (
        is_named(event.tool, args.tool)
        and (args.risk is None or event.risk in args.risk)
        and (args.since is None or line.time >= args.since)
    )


def _run(args: argparse.Namespace) -> int:
    args.file = _source(args)
    out = Output()
    if args.follow:
        return _follow(args, out)
    if args.json:
        for line in _read(args):
            if _wanted(line, args):
                out.write(safe_json(line.text) + "\n")
            if out.gone:
                break
        return Exit.OK
    return _print(args, out)


def _source(args: argparse.Namespace) -> str | None:
    """The file to read; None for the store."""
    if args.file is not None and args.db is not None:
        raise ConfigurationError(f"--db names a store and {shown(args.file)} is a file; a log is read from one of them")
    if args.db is not None:
        return None
    if args.file is not None:
        return str(args.file)
    return DEFAULT if exists(DEFAULT) or not may_be_there(url_of(args)) else None


def _read(args: argparse.Namespace) -> Iterator[Line]:
    if args.file is not None:
        yield from (parsed(args.file, number, raw) for number, raw in lines(args.file))
        return
    try:
        yield from (_told(text, event) for text, event in stored(args))
    except StoreError as error:
        url = url_of(args)
        if args.db is not None or not is_missing(error, url):
            raise
        looked = f"there is no {DEFAULT} here, and no store at {file_of(url) or url}"
        raise CommandError(Exit.INPUT, f"{looked} ({error})") from None


def _told(text: str, event: DriftEvent) -> Line:
    try:
        return Line(text, event, moment(event.time))
    except (ValueError, OverflowError):
        raise InputError(f"event {event.id}: time is not as ISO 8601 has it") from None


def _print(args: argparse.Namespace, out: Output) -> int:
    from toolpulse.cli._render import Printer, drift_log

    printer, found = Printer(out), History()
    try:
        for line in _read(args):
            found.add(line, shown=_wanted(line, args))
    except InputError:
        # what came before the bad line is told; nothing of it is lost
        if found.entries:
            printer.lines(drift_log(found))
        raise
    printer.lines(drift_log(found))
    return Exit.OK


def _follow(args: argparse.Namespace, out: Output) -> int:
    """Tell each event as it comes. A bad line is reported and passed over: what comes after it is news too."""
    from toolpulse.cli._render import Printer, drift_event

    if args.file == STDIN:
        raise ConfigurationError("--follow: standard input cannot be followed")
    if args.file is not None and not exists(args.file):
        complain(f"waiting for {shown(args.file)}")
    printer, found = Printer(out), History()
    try:
        for line in _followed(args, out):
            entry = found.add(line)
            if not _wanted(line, args):
                continue
            if args.json:
                out.write(safe_json(line.text) + "\n")
            else:
                printer.lines([*drift_event(entry, found), ""])
    except KeyboardInterrupt:
        pass
    return Exit.OK


def _followed(args: argparse.Namespace, out: Output) -> Iterator[Line]:
    if args.file is None:
        yield from _well(_told, arriving(args, lambda: out.gone))
    else:
        yield from _well(partial(parsed, args.file), follow(args.file, lambda: out.gone))


def _well(read: Callable[[A, B], Line], found: Iterable[tuple[A, B]]) -> Iterator[Line]:
    """The lines that can be read; of each other one it is told that it cannot."""
    for one, other in found:
        try:
            line = read(one, other)
        except InputError as error:
            complain(str(error))
        else:
            yield line


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="drift.jsonl", nargs="?",
                        help=f"the log; - reads stdin (default: {DEFAULT} if it is there, else the store)")  # fmt: skip
    glob_argument(parser)
    parser.add_argument(
        "--risk", metavar="RISKS", type=risks, help="events at one of these risks, as in high,availability"
    )
    parser.add_argument("--since", metavar="WHEN", type=since, help="events of the last 30m, 24h, 7d, or since a time")
    db_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the events' own lines, one JSON object each")
    parser.add_argument("--follow", action="store_true", help="tell every event as it comes, until Ctrl-C (exit 0)")


LOG: Final = Command(
    "log",
    "show what a drift log or a store tells",
    "[--tool GLOB] [--risk RISKS] [--since WHEN] [--db URL] [--json] [--follow] [drift.jsonl]",
    "Shows a drift log, or the events of a store: each incident once, as it stood last. At a line that is no\n"
    "event it tells what came before, reports the line and ends with 4; with --follow it reports it and goes on.",
    "toolpulse log --risk high --since 24h",
    (Exit.OK, Exit.INPUT),
    _arguments,
    _run,
)
