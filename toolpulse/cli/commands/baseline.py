"""``toolpulse baseline``: what production learned as a file to commit, and back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.arguments import file_name, json_argument, output_argument, strict_text
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import Exit
from toolpulse.cli._kit.inputs import baseline as read_baseline
from toolpulse.cli._kit.output import Output, print_json, print_notes, writing
from toolpulse.cli._kit.store import FOLLOW, db_argument, one_key, opened
from toolpulse.cli._kit.targets import key_argument, tool_argument, tool_of
from toolpulse.cli._kit.text import file_label, plural, with_key
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.runtime.checks import check_tool
from toolpulse.state.convert import baseline_of, has_baseline, snapshot_of
from toolpulse.state.snapshot import EMPTY

if TYPE_CHECKING:
    from toolpulse.state.baseline import Baseline
    from toolpulse.stores.sql.store import SqlStore


def _export(args: argparse.Namespace) -> int:
    with opened(args) as store:
        tool = tool_of(store, args.tool)
        key = one_key(store, tool, args.key)
        snapshot = store.load(tool, key) or EMPTY
    try:
        baseline = baseline_of(snapshot)
    except InputError as error:
        raise InputError(f"{with_key(tool, key)}: {error}") from None
    with writing("-o", args.output):
        baseline.save(args.output)
    return _print(args, (tool, key), baseline, args.output, f"exported to {args.output}")


def _import(args: argparse.Namespace) -> int:
    baseline = read_baseline(args.file)
    key = args.key or ""
    try:
        # a file that cannot be imported is refused before a store is made
        snapshot_of(baseline)
    except InputError as error:
        raise InputError(f"{file_label(args.file)}: {error}") from None
    with opened(args, make=True) as store:
        tool = _known_or_new(store, args.tool)
        with store.transaction(tool, key) as transaction:
            if has_baseline(transaction.now) and not args.replace:
                name = with_key(tool, key)
                raise ConfigurationError(f"{name} has a baseline; --replace puts this one in its place")
            transaction.save(snapshot_of(baseline, transaction.now))
    if baseline.consumers:
        print_notes(["consumers are a monitor's and not a store's; those of the file were left out"])
    return _print(args, (tool, key), baseline, args.file, f"imported from {args.file}; {FOLLOW}")


def _known_or_new(store: SqlStore, text: str) -> str:
    """The tool that the store knows by that name or its end, else ``text``, the full name of a new tool.

    Raises ConfigurationError where several tools' names end so.
    """
    check_tool(text)
    try:
        return tool_of(store, text)
    except ConfigurationError:
        # an ending that several tools share would be the name of a tool that nobody calls
        if any(name.endswith(f".{text}") for name, _ in store.tools()):
            raise
        return text


def _print(args: argparse.Namespace, tool_key: tuple[str, str], baseline: Baseline, file: str, done: str) -> int:
    """Print the figures of the file. What is quarantined or no longer kept row by row is in the store only."""
    tool, key = tool_key
    if args.json:
        figures = {"observations": baseline.observations, "shapes": len(baseline.rows)}
        print_json({"schema": 1, "tool": tool, "key": key, **figures, "file": file})
    else:
        from toolpulse.cli._views.printer import Printer

        counted = f"{plural(baseline.observations, 'response')}, {plural(len(baseline.rows), 'distinct shape')}"
        Printer(Output()).lines([f"{with_key(tool, key)}: {counted}", f"  {done}"])
    return Exit.OK


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser)
    key_argument(parser, "the only one there is")
    output_argument(parser, "the baseline; replaced whole or not at all", required=True)
    db_argument(parser)
    json_argument(parser)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool; its full name where it was not watched yet")
    parser.add_argument("file", metavar="FILE", type=file_name, help="a baseline that export or learn wrote")
    parser.add_argument("--key", metavar="KEY", type=strict_text, help="the variant of the call (default: none)")
    parser.add_argument("--replace", action="store_true", help="in place of the baseline that is there")
    db_argument(parser)
    json_argument(parser)


_ACTIONS: Final = (
    Command(
        name="export",
        summary="write what a tool has learned to a file",
        usage="TOOL [--key KEY] -o FILE [--db URL] [--json]",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_export_arguments,
        run=_export,
    ),
    Command(
        name="import",
        summary="let a tool continue from a baseline",
        usage="TOOL FILE [--key KEY] [--replace] [--db URL] [--json]",
        exits=(Exit.OK, Exit.INPUT),
        arguments=_import_arguments,
        run=_import,
    ),
)

BASELINE: Final = Command(
    name="baseline",
    summary="carry what was learned to a file, and back",
    usage="export|import ...",
    about="Writes what production learned of a tool to a file, made to be committed, and lets a tool continue from\n"
    "such a file: shapes, counts, maps, the summed-up evidence of shapes that are no longer kept one by one, and\n"
    "how responses are read. Incidents stay.",
    example="toolpulse baseline export search_docs -o baselines/search_docs.json",
    exits=(Exit.OK, Exit.INPUT),
    actions=_ACTIONS,
)
