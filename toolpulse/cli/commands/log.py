"""``toolpulse log``: the events of a drift log or a store, for a person, or line by line for a program."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, TypeVar

from toolpulse.cli._kit.arguments import risks
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import CommandError, Exit, complain
from toolpulse.cli._kit.lines import follow, lines
from toolpulse.cli._kit.output import Output
from toolpulse.cli._kit.store import db_argument, exists, file_of, is_missing, may_be_there, url_of
from toolpulse.cli._kit.store_events import arriving, stored
from toolpulse.cli._kit.targets import glob_argument
from toolpulse.cli._kit.text import STDIN, file_label, is_named, safe_json
from toolpulse.cli._kit.times import since
from toolpulse.cli._views.history import History, Line, line_of, read_line
from toolpulse.errors import ConfigurationError, InputError, StoreError

A = TypeVar("A")
B = TypeVar("B")

_DEFAULT: Final = "drift.jsonl"
"""The log that is read where neither a file nor a store is named."""


def _run(args: argparse.Namespace) -> int:
    args.file = _source(args)
    out = Output()
    if args.follow:
        return _follow(args, out)
    return _print_json(args, out) if args.json else _print(args, out)


def _source(args: argparse.Namespace) -> str | None:
    """The file to read; None for the store."""
    if args.file is not None and args.db is not None:
        label = file_label(args.file)
        raise ConfigurationError(f"--db names a store and {label} is a file; a log is read from one of them")
    if args.db is not None:
        return None
    if args.file is not None:
        return str(args.file)
    return _DEFAULT if exists(_DEFAULT) or not may_be_there(url_of(args)) else None


def _wanted(line: Line, args: argparse.Namespace) -> bool:
    event = line.event
    return (
        is_named(event.tool, args.tool)
        and (args.risk is None or event.risk in args.risk)
        and (args.since is None or line.time >= args.since)
    )


def _read(args: argparse.Namespace) -> Iterator[Line]:
    if args.file is not None:
        yield from (read_line(args.file, number, raw) for number, raw in lines(args.file))
        return
    try:
        yield from (line_of(text, event) for text, event in stored(args))
    except StoreError as error:
        url = url_of(args)
        if args.db is not None or not is_missing(error, url):
            raise
        # nobody named a store, so the message says where a log was looked for
        looked = f"there is no {_DEFAULT} here, and no store at {file_of(url) or url}"
        raise CommandError(Exit.INPUT, f"{looked} ({error})") from None


def _print_json(args: argparse.Namespace, out: Output) -> int:
    for line in _read(args):
        if _wanted(line, args):
            out.write(safe_json(line.text) + "\n")
        if out.gone:
            break
    return Exit.OK


def _print(args: argparse.Namespace, out: Output) -> int:
    from toolpulse.cli._views.drift import drift_log
    from toolpulse.cli._views.printer import Printer

    printer, history = Printer(out), History()
    try:
        for line in _read(args):
            history.add(line, shown=_wanted(line, args))
    except InputError:
        # what came before the bad line is shown all the same
        if history.entries:
            printer.lines(drift_log(history))
        raise
    printer.lines(drift_log(history))
    return Exit.OK


def _follow(args: argparse.Namespace, out: Output) -> int:
    """Print each event as it comes, until Ctrl-C."""
    from toolpulse.cli._views.drift import drift_event
    from toolpulse.cli._views.printer import Printer

    if args.file == STDIN:
        raise ConfigurationError("--follow: standard input cannot be followed")
    if args.file is not None and not exists(args.file):
        complain(f"waiting for {file_label(args.file)}")
    printer, history = Printer(out), History()
    try:
        for line in _followed(args, out):
            entry = history.add(line)
            if not _wanted(line, args):
                continue
            if args.json:
                out.write(safe_json(line.text) + "\n")
            else:
                printer.lines([*drift_event(entry, history), ""])
    except KeyboardInterrupt:
        pass
    return Exit.OK


def _followed(args: argparse.Namespace, out: Output) -> Iterator[Line]:
    if args.file is None:
        yield from _readable(line_of, arriving(args, lambda: out.gone))
    else:
        yield from _readable(partial(read_line, args.file), follow(args.file, lambda: out.gone))


def _readable(read: Callable[[A, B], Line], pieces: Iterable[tuple[A, B]]) -> Iterator[Line]:
    """The lines that can be read. One that cannot is named on stderr and skipped, because the next one may be news."""
    for one, other in pieces:
        try:
            line = read(one, other)
        except InputError as error:
            complain(str(error))
        else:
            yield line


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="drift.jsonl", nargs="?",
                        help=f"the log; - reads stdin (default: {_DEFAULT} if it is there, "
                        "else the store)")  # fmt: skip
    glob_argument(parser)
    parser.add_argument(
        "--risk", metavar="RISKS", type=risks, help="events at one of these risks, as in high,availability"
    )
    parser.add_argument("--since", metavar="WHEN", type=since, help="events of the last 30m, 24h, 7d, or since a time")
    db_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the events' own lines, one JSON object each")
    parser.add_argument("--follow", action="store_true", help="show every event as it comes, until Ctrl-C (exit 0)")


LOG: Final = Command(
    name="log",
    summary="show the events of a drift log or a store",
    usage="[--tool GLOB] [--risk RISKS] [--since WHEN] [--db URL] [--json] [--follow] [drift.jsonl]",
    about="Shows the events of a drift log or a store: each incident once, with its newest event. Where a line is\n"
    "no event it shows what came before, names the line on stderr and ends with 4; with --follow it goes on.",
    example="toolpulse log --risk high --since 24h",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_arguments,
    run=_run,
)
