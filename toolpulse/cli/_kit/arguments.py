"""Arguments that several commands have, and the types that argparse checks arguments with.

A type takes what was typed and returns the value. It raises argparse.ArgumentTypeError with a sentence that argparse
puts behind the argument's name; the command ends with 64 then.
"""

from __future__ import annotations

import argparse

from toolpulse._base.paths import format_path, glob, parse_path
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.rules import Risk


def json_argument(parser: argparse.ArgumentParser) -> None:
    """``--json``: print one JSON object."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def output_argument(parser: argparse.ArgumentParser, what: str, *, required: bool) -> None:
    """``-o FILE``, the file to write; it becomes ``args.output``."""
    parser.add_argument("-o", metavar="FILE", dest="output", type=new_file, required=required, help=what)


def strict_text(text: str) -> str:
    """Text that UTF-8 can hold: bytes of the command line that are no UTF-8 come in as lone surrogates."""
    if text.encode("utf-8", "replace").decode() != text:
        raise argparse.ArgumentTypeError("it must be text")
    return text


def words(text: str) -> str:
    """Text for people: UTF-8 can hold it, and it is not blank."""
    if not text.strip() or text.encode("utf-8", "replace").decode() != text:
        raise argparse.ArgumentTypeError("it must be text, and not blank")
    return text


def file_name(text: str) -> str:
    """The name of a file; ``-`` is standard input."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no file name")
    return text


def new_file(text: str) -> str:
    """The name of a file to write, which is replaced whole or not at all: standard output is none."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "it names a file; - is standard output, which cannot be replaced (./- is a file)"
        )
    return file_name(text)


def one_path(text: str) -> str:
    """A path inside a response, in the spelling that paths are printed in: ``results[].score``."""
    try:
        return format_path(parse_path(text))
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def one_glob(text: str) -> str:
    """A path, or a glob that stands for several paths: ``results[].*``."""
    try:
        glob(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def risks(text: str) -> frozenset[Risk]:
    """One or several risks with commas between, but for ``quiet``: ``high,availability``."""
    known = {risk.value: risk for risk in Risk if risk is not Risk.QUIET}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is no risk; known are {', '.join(known)}")
    return frozenset(known[name] for name in names)
