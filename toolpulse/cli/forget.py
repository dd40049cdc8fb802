"""``toolpulse forget``: drop all that is known of a tool."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from toolpulse.cli._actions import json_argument
from toolpulse.cli._command import Command
from toolpulse.cli._exit import CommandError, Exit
from toolpulse.cli._output import Output
from toolpulse.cli._rulings import print_json
from toolpulse.cli._store import FOLLOW, db_argument, keys_of, one_key, opened
from toolpulse.cli._targets import key_argument, tool_argument, tool_of
from toolpulse.cli._text import plural, safe, with_key


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
        from toolpulse.cli._render import Printer

        said = f"forgot {_shown(tool, forgotten)}; {FOLLOW}, and learn anew" if forgotten else "nothing was forgotten"
        Printer(Output()).lines([said])
    return Exit.OK


def _shown(tool: str, keys: list[str]) -> str:
    return with_key(tool, keys[0]) if len(keys) == 1 else f"{tool} with {plural(len(keys), 'key')}"


def _confirmed(tool: str, keys: list[str]) -> bool:
    """Ask, if there is a terminal to ask at. Raises CommandError where there is none."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(Exit.USAGE, f"{_shown(tool, keys)} would be forgotten for good; --yes says that it may be")
    question = f"Forget {_shown(tool, keys)}: baseline, incidents, decisions and events? [y/N] "
    print(safe(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _arguments(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser)
    key_argument(parser, "all of them")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    db_argument(parser)
    json_argument(parser)


FORGET: Final = Command(
    "forget",
    "drop all that is known of a tool",
    "TOOL [--key KEY] [--yes] [--db URL] [--json]",
    "Drops the baseline, incidents, decisions and events of a tool. It is learned anew from its next call on.\n"
    "Asks first where there is a terminal, and needs --yes where there is none.",
    "toolpulse forget search_docs --yes",
    (Exit.OK, Exit.INPUT),
    _arguments,
    _forget,
)
