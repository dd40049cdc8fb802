"""``toolpulse baseline``: what production learned as a file to commit, and back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from toolpulse.cli import _actions
from toolpulse.cli._actions import Action, json_argument
from toolpulse.cli._command import Command, file_name, new_file
from toolpulse.cli._exit import Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json, remark
from toolpulse.cli._store import FOLLOW, db_argument, one_key, opened
from toolpulse.cli._targets import key_argument, tool_argument, tool_of
from toolpulse.cli._text import plural, with_key
from toolpulse.cli.inputs import shown
from toolpulse.cli.offline import load
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.runtime.settings import check_tool
from toolpulse.state.convert import baseline_of, has_baseline, snapshot_of
from toolpulse.state.snapshot import EMPTY

if TYPE_CHECKING:
    from toolpulse.state.baseline import Baseline
    from toolpulse.stores.sql.store import SqlStore


def _export(args: argparse.Namespace) -> int:
    with opened(args) as store:
        tool = tool_of(store, args.tool)
        key = one_key(store, tool, args.key)
        known = store.load(tool, key) or EMPTY
    try:
        baseline = baseline_of(known)
    except InputError as error:
        raise InputError(f"{with_key(tool, key)}: {error}") from None
    try:
        baseline.save(args.output)
    except OSError as error:
        raise ConfigurationError(f"-o {shown(args.output)}: {error.strerror or type(error).__name__}") from None
    return _tell(args, (tool, key), baseline, args.output, f"exported to {args.output}")


def _import(args: argparse.Namespace) -> int:
    baseline = load(args.file)
    key = args.key or ""
    try:
        snapshot_of(baseline)
    except InputError as error:
        raise InputError(f"{shown(args.file)}: {error}") from None
    with opened(args, make=True) as store:
        tool = _tool(store, args.tool)
        with store.transaction(tool, key) as transaction:
            if has_baseline(transaction.now) and not args.replace:
                name = with_key(tool, key)
                raise ConfigurationError(f"{name} has a baseline; --replace puts this one in its place")
            transaction.save(snapshot_of(baseline, transaction.now))
    if baseline.consumers:
        remark(["consumers are a monitor's and not a store's; those of the file were left out"])
    return _tell(args, (tool, key), baseline, args.file, f"imported from {args.file}; {FOLLOW}")


def _tool(store: SqlStore, text: str) -> str:
    """The tool that is known by that name or ending, else a new one of that name."""
    check_tool(text)
    try:
        return tool_of(store, text)
    except ConfigurationError:
        # an ending that several tools share would be the name of a tool that nobody calls
        if any(name.endswith(f".{text}") for name, _ in store.tools()):
            raise
        return text


def _tell(args: argparse.Namespace, place: tuple[str, str], baseline: Baseline, file: str, said: str) -> int:
    """The figures of the file: what is held, or was let go, is in the store only."""
    tool, key = place
    if args.json:
        figures = {"observations": baseline.observations, "shapes": len(baseline.rows)}
        print_json({"schema": 1, "tool": tool, "key": key, **figures, "file": file})
    else:
        from toolpulse.cli._render import Printer

        figured = f"{plural(baseline.observations, 'response')}, {plural(len(baseline.rows), 'distinct shape')}"
        Printer(Output()).lines([f"{with_key(tool, key)}: {figured}", f"  {said}"])
    return Exit.OK


def _key(text: str) -> str:
    if text.encode("utf-8", "replace").decode() != text:
        raise argparse.ArgumentTypeError("it must be text")
    return text


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser)
    key_argument(parser, "the only one there is")
    parser.add_argument("-o", metavar="FILE", dest="output", type=new_file, required=True,
                        help="the baseline; replaced whole or not at all")  # fmt: skip
    db_argument(parser)
    json_argument(parser)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the tool; its full name where it was not watched yet")
    parser.add_argument("file", metavar="FILE", type=file_name, help="a baseline that export or learn wrote")
    parser.add_argument("--key", metavar="KEY", type=_key, help="the variant of the call (default: none)")
    parser.add_argument("--replace", action="store_true", help="in place of the baseline that is there")
    db_argument(parser)
    json_argument(parser)


ACTIONS: Final[tuple[Action, ...]] = (
    Action(
        "export", "write what a tool has learned to a file", "TOOL [--key KEY] -o FILE [--db URL] [--json]",
        (Exit.OK, Exit.INPUT), _export_arguments, _export,
    ),
    Action(
        "import", "let a tool go on from a baseline",
        "TOOL FILE [--key KEY] [--replace] [--db URL] [--json]",
        (Exit.OK, Exit.INPUT), _import_arguments, _import,
    ),
)  # fmt: skip

BASELINE: Final = Command(
    "baseline",
    "carry what was learned to a file, and back",
    "export|import ...",
    "Writes what production learned of a tool to a file, made to be committed, and lets a tool go on from such a\n"
    "file: shapes, counts, maps, the evidence of shapes let go, and how responses are read. Incidents stay.",
    "toolpulse baseline export search_docs -o baselines/search_docs.json",
    (Exit.OK, Exit.INPUT),
    _actions.arguments_of("baseline", ACTIONS),
    _actions.run,
)
