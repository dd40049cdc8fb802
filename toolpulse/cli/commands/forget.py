"""``toolpulse forget``: drop all that is known of a tool."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from toolpulse.cli._kit.arguments import json_argument
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import CommandError, Exit
from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.store import FOLLOW, db_argument, keys_of, one_key, opened
from toolpulse.cli._kit.targets import key_argument, tool_argument, tool_of
from toolpulse.cli._kit.text import plural, safe, with_key


def _forget(args: argparse.Namespace) -> int:
    with opened(args) as store:
        tool = tool_of(store, args.tool)
        keys = keys_of(store, tool) if args.key is None else [one_key(store, tool, args.key)]
        forgotten = []
        if args.yes or _confirmed(tool, keys):
            forgotten = [key for key in keys if store.forget(tool, key)]
    if args.json:
        print_json({"schema": 1, "tool": tool, "forgotten": forgotten})
    else:
        from toolpulse.cli._views.printer import Printer

        done = f"forgot {_tool_and_keys(tool, forgotten)}; {FOLLOW}, and learn anew"
        Printer(Output()).lines([done if forgotten else "nothing was forgotten"])
    return Exit.OK


def _tool_and_keys(tool: str, keys: list[str]) -> str:
    return with_key(tool, keys[0]) if len(keys) == 1 else f"{tool} with {plural(len(keys), 'key')}"


def _confirmed(tool: str, keys: list[str]) -> bool:
    """Ask the user for a yes. Raises CommandError where there is no terminal to ask at."""
    what = _tool_and_keys(tool, keys)
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(Exit.USAGE, f"{what} would be forgotten for good; --yes says that it may be")
    question = f"Forget {what}: baseline, incidents, decisions and events? [y/N] "
    # standard output is for the result
    print(safe(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _arguments(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser)
    key_argument(parser, "all of them")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    db_argument(parser)
    json_argument(parser)


FORGET: Final = Command(
    name="forget",
    summary="drop all that is known of a tool",
    usage="TOOL [--key KEY] [--yes] [--db URL] [--json]",
    about="Drops the baseline, incidents, decisions and events of a tool. It is learned anew from its next call on.\n"
    "Asks first where there is a terminal, and needs --yes where there is none.",
    example="toolpulse forget search_docs --yes",
    exits=(Exit.OK, Exit.INPUT),
    arguments=_arguments,
    run=_forget,
)
