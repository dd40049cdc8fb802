"""What a command is, and the parser that all commands are read with."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, NoReturn

from toolpulse._base.paths import glob
from toolpulse.cli._exit import CommandError, Exit
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.rules import Risk

DASH: Final = "a name that starts with a dash goes last, after --"
"""How a name is given that would be taken for an option."""

ALWAYS: Final = (Exit.USAGE, Exit.INTERNAL, Exit.INTERRUPTED)


class Command(NamedTuple):
    """One command: its words for ``--help``, its arguments, and what it does."""

    name: str
    summary: str
    """One line."""
    usage: str
    """The arguments, as after the command's name."""
    about: str
    example: str
    exits: Sequence[Exit]
    """The codes it may end with, beside those of every command."""
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """Wrong use is one line and exit 64."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it; the words are kept for what is said of them where one is missing."""
        self._words = tuple(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        hint = f"; {DASH}" if "are required" in message and self._has_dashed_name() else ""
        raise CommandError(Exit.USAGE, f"{message}{hint} (see {self.prog} --help)")

    def _has_dashed_name(self) -> bool:
        """Whether a word that is no option of the command was taken for one."""
        return any(
            word.startswith("-") and word.partition("=")[0] not in self._option_string_actions
            for word in takewhile(lambda word: word != "--", self._words)
        )


def parser(commands: Sequence[Command], version: str) -> Parser:
    """The parser of the whole program."""
    top = Parser(
        prog="toolpulse",
        usage="toolpulse [--help] [--version] COMMAND ...",
        description="Tells when a tool's responses change shape. What a command does: toolpulse COMMAND --help",
        epilog=exits(tuple(Exit)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"toolpulse {version}")
    # as wide as the longest name, or argparse breaks the line after it
    below = top.add_subparsers(title="commands", metavar="COMMAND ...", dest="command", prog="toolpulse", required=True)
    for command in commands:
        one = below.add_parser(
            command.name,
            help=command.summary,
            usage=f"toolpulse {command.name} {command.usage}",
            description=command.about,
            epilog=f"example:\n  {command.example}\n\n{exits((*command.exits, *ALWAYS))}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.arguments(one)
        one.set_defaults(run=command.run)
    return top


def exits(codes: Sequence[Exit]) -> str:
    """What each code means, for the end of a help text."""
    return "exit codes:\n" + "\n".join(f"  {code.value:<4} {code.meaning}" for code in sorted(codes))


def file_name(text: str) -> str:
    """An argument that names a file."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no file name")
    return text


def new_file(text: str) -> str:
    """An argument that names a file to write, which is replaced whole or not at all."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "it names a file; standard output is none that can be replaced (./- is a file)"
        )
    return file_name(text)


def one_glob(text: str) -> str:
    """An argument that is a path or a glob."""
    try:
        glob(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def risks(text: str) -> frozenset[Risk]:
    """An argument that is a list of risks, with commas between."""
    known = {risk.value: risk for risk in Risk if risk is not Risk.QUIET}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"{word!r} is no risk; known are {', '.join(known)}")
    return frozenset(known[word] for word in words)
