"""``toolpulse stamp``: the declared model on generations that name none."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Final

from toolpulse.cli._kit.arguments import file_name
from toolpulse.cli._kit.command import Command
from toolpulse.cli._kit.exits import CommandError, Exit
from toolpulse.cli._kit.output import Output
from toolpulse.cli._kit.text import STDIN, file_label
from toolpulse.errors import InputError
from toolpulse.provenance.generation import stamp_model

_VARIABLE: Final = "AGENT_MODEL_ID"


def _stamp(args: argparse.Namespace) -> int:
    declared = os.environ.get(_VARIABLE, "") if args.model is None else args.model
    if not declared.strip():
        missing = f"no model is declared: --model is blank, or {_VARIABLE} is not set"
        raise CommandError(Exit.INCOMPARABLE, f"{missing}; nothing is stamped")
    out = Output()
    try:
        for line in stamp_model(_lines(args.file), declared):
            out.write_bytes(line)
            if out.gone:
                break
    except InputError as error:
        label = file_label(args.file)
        # the message of a file that cannot be opened names the file already
        raise error if str(error).startswith(label) else InputError(f"{label}: {error}") from None
    return Exit.OK


def _lines(file: str) -> Iterator[bytes]:
    """All lines of a file as they are, blank ones included. Raises InputError where it cannot be read."""
    try:
        if file == STDIN:
            yield from sys.stdin.buffer
            return
        with open(file, "rb") as stream:  # noqa: PTH123 - beside "-" a name is taken as it is
            yield from stream
    except OSError as error:
        raise InputError(f"{file_label(file)}: {error.strerror or type(error).__name__}") from None


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=file_name, default=STDIN,
                        help="a trace as JSON lines (default: standard input)")  # fmt: skip
    parser.add_argument("--model", metavar="MODEL", help=f"the model that was configured (default: ${_VARIABLE})")


STAMP: Final = Command(
    name="stamp",
    summary="put the configured model on spans that name none",
    usage="[FILE] [--model MODEL]",
    about="Writes a trace to standard output with the declared model on each generation that names none, and says on\n"
    "it that the model comes from configuration. Other lines pass through as they are; no response is read.",
    example="toolpulse stamp trace.jsonl --model model-x-2025-01 > stamped.jsonl",
    exits=(Exit.OK, Exit.INCOMPARABLE, Exit.INPUT),
    arguments=_arguments,
    run=_stamp,
)
