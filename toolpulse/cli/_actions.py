"""Commands with actions of their own: ``toolpulse prompt check``. One parser for an action, one file for a group."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolpulse.cli._command import ALWAYS, exits
from toolpulse.cli._exit import Exit


class Action(NamedTuple):
    """One action of a command: as a Command, below one."""

    name: str
    summary: str
    usage: str
    exits: Sequence[Exit]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def arguments_of(command: str, actions: Sequence[Action]) -> Callable[[argparse.ArgumentParser], None]:
    """The arguments of a command that has actions."""

    def arguments(parser: argparse.ArgumentParser) -> None:
        below = parser.add_subparsers(
            title="actions", metavar="ACTION", dest="action", prog=f"toolpulse {command}", required=True
        )
        for action in actions:
            one = below.add_parser(
                action.name,
                help=action.summary,
                usage=f"toolpulse {command} {action.name} {action.usage}",
                description=action.summary[0].upper() + action.summary[1:] + ".",
                epilog=exits((*action.exits, *ALWAYS)),
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            action.arguments(one)
            one.set_defaults(act=action.run)

    return arguments


def run(args: argparse.Namespace) -> int:
    """Run the action that was named."""
    return int(args.act(args))


def key_env_argument(parser: argparse.ArgumentParser) -> None:
    """``--key-env``: keyed fingerprints, the key in the environment and never on the command line."""
    parser.add_argument("--key-env", metavar="NAME", help="HMAC with the key in this environment variable")


def json_argument(parser: argparse.ArgumentParser) -> None:
    """``--json``: one JSON object."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
