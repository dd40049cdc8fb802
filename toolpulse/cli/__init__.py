"""The command line: ``toolpulse``, or ``python -m toolpulse``.

A command is a file in ``commands`` and a line in ``COMMANDS``. What commands share lies in ``_kit`` (arguments, files,
stores, exit codes) and ``_views`` (what they print). Only the views need the extra ``toolpulse[cli]``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.command import Command, parser
from toolpulse.cli._kit.exits import CommandError, Exit, guarded
from toolpulse.cli._kit.output import Output
from toolpulse.cli.commands.baseline import BASELINE
from toolpulse.cli.commands.decisions import ACCEPT, IGNORE, REJECT
from toolpulse.cli.commands.demo import DEMO
from toolpulse.cli.commands.doctor import DOCTOR
from toolpulse.cli.commands.forget import FORGET
from toolpulse.cli.commands.incidents import INCIDENTS
from toolpulse.cli.commands.log import LOG
from toolpulse.cli.commands.offline import CHECK, LEARN, SHOW
from toolpulse.cli.commands.provenance.gate import GATE
from toolpulse.cli.commands.provenance.manifest import MANIFEST
from toolpulse.cli.commands.provenance.prompt import PROMPT
from toolpulse.cli.commands.provenance.stamp import STAMP
from toolpulse.cli.commands.provenance.tools import TOOLS
from toolpulse.cli.commands.status import STATUS

if TYPE_CHECKING:
    import argparse

__all__ = ["COMMANDS", "main"]

COMMANDS: Final[tuple[Command, ...]] = (
    DEMO,
    STATUS,
    INCIDENTS,
    LOG,
    ACCEPT,
    REJECT,
    IGNORE,
    BASELINE,
    FORGET,
    DOCTOR,
    LEARN,
    CHECK,
    SHOW,
    PROMPT,
    TOOLS,
    STAMP,
    GATE,
    MANIFEST,
)
"""Every command, in the order in which ``--help`` lists them."""


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code. ``argv`` are the words after the program's name, from ``sys`` if None."""

    def run() -> int:
        args = _parsed(sys.argv[1:] if argv is None else argv)
        return int(args.run(args)) if args is not None else Exit.OK

    return int(guarded(run))


def _parsed(argv: list[str]) -> argparse.Namespace | None:
    """The arguments; None where help or the version was asked for and printed, for which the extra is not needed.

    Raises CommandError for wrong use. Where the extra is missing, that is the error, whatever the arguments are.
    """
    # `from toolpulse import ...` is not allowed on this floor, and the package is imported by now
    top = parser(COMMANDS, sys.modules["toolpulse"].__version__)
    wrong_use: CommandError | None = None
    args = None
    try:
        args = top.parse_args(argv)
    except SystemExit:
        Output().write("")
        return None
    except CommandError as error:
        wrong_use = error
    if find_spec("rich") is None:
        raise CommandError(Exit.USAGE, "the command line needs an extra: pip install 'toolpulse[cli]'")
    if wrong_use is not None:
        raise wrong_use
    return args
