"""What a command is, and the parser that reads the arguments of all commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, NoReturn

from toolpulse.cli._kit.exits import CommandError, Exit

DASH: Final = "a name that starts with a dash goes last, after --"
"""How a name is given that would be taken for an option."""

_ALWAYS: Final = (Exit.USAGE, Exit.INTERNAL, Exit.INTERRUPTED)
"""The codes that every command may end with."""


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    """What a command adds that has no arguments of its own."""


class Command(NamedTuple):
    """One command, or one action of a command: its words for ``--help``, its arguments, and what it does.

    It has either ``run`` or ``actions``. ``toolpulse prompt check`` is the action ``check`` of the command ``prompt``.
    """

    name: str
    summary: str
    """One line, without a full stop: what the list of commands says."""
    usage: str
    """The arguments, as they follow the name."""
    exits: Sequence[Exit]
    """The codes it may end with, beside those that every command may end with."""
    run: Callable[[argparse.Namespace], int] | None = None
    """Takes the parsed arguments, returns the exit code."""
    arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    """Adds the arguments to a parser."""
    about: str = ""
    """Some sentences at the top of its help; without them the summary stands there."""
    example: str = ""
    """One command line."""
    actions: Sequence[Command] = ()


class Parser(argparse.ArgumentParser):
    """A parser that raises CommandError on wrong use: one line, and exit code 64."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it. The words are kept, because ``error`` looks at them."""
        self._words = tuple(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        hint = f"; {DASH}" if "are required" in message and self._has_dashed_name() else ""
        raise CommandError(Exit.USAGE, f"{message}{hint} (see {self.prog} --help)")

    def _has_dashed_name(self) -> bool:
        """Whether some word starts with a dash and is none of the command's options: it may be meant as a name."""
        return any(
            word.startswith("-") and word.partition("=")[0] not in self._option_string_actions
            for word in takewhile(lambda word: word != "--", self._words)
        )


def parser(commands: Sequence[Command], version: str) -> Parser:
    """The parser of the whole program. What it parses has the function to call as ``run``."""
    top = Parser(
        prog="toolpulse",
        usage="toolpulse [--help] [--version] COMMAND ...",
        description="Reports when a tool's responses change shape. What a command does: toolpulse COMMAND --help",
        epilog=_exit_codes(tuple(Exit)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"toolpulse {version}")
    # as wide as the longest name, or argparse breaks the line after it
    below = top.add_subparsers(title="commands", metavar="COMMAND ...", dest="command", prog="toolpulse", required=True)
    for command in commands:
        _add(below, command, "toolpulse")
    return top


def _add(below: argparse._SubParsersAction[Parser], command: Command, above: str) -> None:
    """Add the parser of a command, and those of its actions; ``above`` is what is typed in front of its name."""
    full_name = f"{above} {command.name}"
    added = below.add_parser(
        command.name,
        help=command.summary,
        # written by hand: argparse would list the options in no useful order
        usage=f"{full_name} {command.usage}",
        description=command.about or f"{command.summary[0].upper()}{command.summary[1:]}.",
        epilog=_epilog(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(added)
    if command.run is not None:
        added.set_defaults(run=command.run)
        return
    actions = added.add_subparsers(title="actions", metavar="ACTION", dest="action", prog=full_name, required=True)
    for action in command.actions:
        _add(actions, action, full_name)


def _epilog(command: Command) -> str:
    example = f"example:\n  {command.example}\n\n" if command.example else ""
    return example + _exit_codes((*command.exits, *_ALWAYS))


def _exit_codes(codes: Sequence[Exit]) -> str:
    """What each code means, a line each."""
    return "exit codes:\n" + "\n".join(f"  {code.value:<4} {code.meaning}" for code in sorted(codes))
