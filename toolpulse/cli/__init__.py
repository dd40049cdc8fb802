"""The command line: ``toolpulse``, or ``python -m toolpulse``.

A command is one file in this folder and one line in ``COMMANDS``. Commands call the library and hold no logic of
their own; what they print goes through ``_render``, which alone needs the extra ``toolpulse[cli]``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from toolpulse.cli._command import Command, parser
from toolpulse.cli._exit import CommandError, Exit, guarded
from toolpulse.cli._output import Output
from toolpulse.cli.baseline import BASELINE
from toolpulse.cli.decisions import ACCEPT, IGNORE, REJECT
from toolpulse.cli.demo import DEMO
from toolpulse.cli.doctor import DOCTOR
from toolpulse.cli.forget import FORGET
from toolpulse.cli.gate import GATE
from toolpulse.cli.incidents import INCIDENTS
from toolpulse.cli.log import LOG
from toolpulse.cli.manifest import MANIFEST
from toolpulse.cli.offline import CHECK, LEARN, SHOW
from toolpulse.cli.prompt import PROMPT
from toolpulse.cli.stamp import STAMP
from toolpulse.cli.status import STATUS
from toolpulse.cli.tools import TOOLS

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


def main(argv: list[str] | None = None) -> int:
    """Run a command and return its exit code; ``argv`` is ``sys.argv[1:]`` without one."""

    def run() -> int:
        args = _parsed(sys.argv[1:] if argv is None else argv)
        return int(args.run(args)) if args is not None else Exit.OK

    return int(guarded(run))


def _parsed(argv: list[str]) -> argparse.Namespace | None:
    """The arguments; None where they asked for help or the version, which needs no extra and was printed."""
    # the package lies above this room, and it is imported already
    top = parser(COMMANDS, sys.modules["toolpulse"].__version__)
    wrong: CommandError | None = None
    args = None
    try:
        args = top.parse_args(argv)
    except SystemExit:
        Output().write("")
        return None
    except CommandError as error:
        wrong = error
    if find_spec("rich") is None:
        raise CommandError(Exit.USAGE, "the command line needs an extra: pip install 'toolpulse[cli]'")
    if wrong is not None:
        raise wrong
    return args
