"""``toolpulse stamp``: the declared model on generations that name none."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Final

from toolpulse.cli._command import Command, file_name
from toolpulse.cli._exit import CommandError, Exit
from toolpulse.cli._output import drop_stdout
from toolpulse.cli.inputs import STDIN, shown
from toolpulse.errors import InputError
from toolpulse.provenance.generation import stamp_model

VARIABLE: Final = "AGENT_MODEL_ID"


def _stamp(args: argparse.Namespace) -> int:
    declared = os.environ.get(VARIABLE, "") if args.model is None else args.model
    if not declared.strip():
        said = f"no model is declared: --model is blank, or {VARIABLE} is not set"
        raise CommandError(Exit.INCOMPARABLE, f"{said}; nothing is stamped")
    try:
        for line in stamp_model(_lines(args.file), declared):
            if not _written(line):
                break
    except InputError as error:
        place = shown(args.file)
        raise error if str(error).startswith(place) else InputError(f"{place}: {error}") from None
    return Exit.OK


def _lines(file: str) -> Iterator[bytes]:
    try:
        if file == STDIN:
            yield from sys.stdin.buffer
            return
        with open(file, "rb") as stream:  # noqa: PTH123 - beside "-" a name is taken as it is
            yield from stream
    except OSError as error:
        raise InputError(f"{shown(file)}: {error.strerror or type(error).__name__}") from None


def _written(line: bytes) -> bool:
    """Write a line byte for byte; False once its reader has gone."""
    try:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop_stdout()
        return False
    except OSError as error:
        drop_stdout()
        reason = error.strerror or type(error).__name__
        raise CommandError(Exit.INTERNAL, f"cannot write to standard output: {reason}") from None
    return True


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=file_name, default=STDIN,
                        help="a trace as JSON lines (default: standard input)")  # fmt: skip
    parser.add_argument("--model", metavar="MODEL", help=f"the model that was configured (default: ${VARIABLE})")


STAMP: Final = Command(
    "stamp",
    "put the configured model on spans that name none",
    "[FILE] [--model MODEL]",
    "Writes a trace to standard output with the declared model on each generation that names none, and says on\n"
    "it that the model comes from configuration. Other lines pass through as they are; no response is read.",
    "toolpulse stamp trace.jsonl --model model-x-2025-01 > stamped.jsonl",
    (Exit.OK, Exit.INCOMPARABLE, Exit.INPUT),
    _arguments,
    _stamp,
)
