"""The JSON documents in a file, whether it holds one, one a line, or several written one after the other."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from toolpulse._base import files
from toolpulse._base.canonical import CanonicalError, JSONError, load_exact
from toolpulse.errors import InputError

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def documents(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Each document with where it begins (``file:line``), read exactly. Blank lines and a byte order mark are skipped.

    A file whose first line is no complete document is read as documents one after the other, over several lines each.
    Raises InputError where the file cannot be read; while iterating, InputError with file, line and what is wrong.
    """
    file = _printable(os.fspath(path))
    data = files.read(path).removeprefix(_BOM)
    first, _, _ = data.lstrip(_BLANK).partition(b"\n")
    try:
        load_exact(first)
    except JSONError as error:
        if error.unfinished and first.strip(_BLANK):
            yield from _one_after_the_other(file, data)
            return
    except CanonicalError:
        pass
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip(_BLANK):
            yield f"{file}:{number}", _loaded(file, number, line.rstrip(b"\r"))


def _one_after_the_other(file: str, data: bytes) -> Iterator[tuple[str, Any]]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}:{line}: not UTF-8 (byte {error.start})") from None
    at, line, decoder = 0, 1, json.JSONDecoder()
    while True:
        start = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        line += text.count("\n", at, start)
        if start == len(text):
            return
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = len(text)
        yield f"{file}:{line}", _loaded(file, line, text[start:end])
        line += text.count("\n", start, end)
        at = end


def _loaded(file: str, line: int, text: bytes | str) -> Any:
    try:
        return load_exact(text)
    except JSONError as error:
        raise InputError(f"{file}:{line + (error.line or 1) - 1}: {error.reason}") from None
    except CanonicalError as error:
        raise InputError(f"{file}:{line}: {error}") from None


def _printable(file: str) -> str:
    """A file's name as messages show it: control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in file)
