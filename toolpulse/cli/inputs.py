"""Responses from files, for the commands that work offline.

A file holds one JSON document, which is one response, or JSON lines, a response a line with blank lines between;
either may be compressed with gzip, told by its first bytes. ``-`` is standard input. A document whose first line
is complete on its own cannot go on, so that line decides which of the two a file is.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, NamedTuple

from toolpulse._base.canonical import JSONError, load_exact, load_strict
from toolpulse._base.paths import ANY_DEPTH, ITEMS, ROOT, VALUES, Path, Segment, format_path, parse_path
from toolpulse.errors import ConfigurationError, InputError

STDIN: Final = "-"

_GZIP: Final = b"\x1f\x8b"  # RFC 1952, part 2.3.1
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"  # RFC 8259, part 2; Python's own idea of blank is wider


class Source(NamedTuple):
    """Where a response was read."""

    file: str
    """The name as it was given; ``-`` is standard input."""
    line: int
    """The line its text begins on, counted from 1, in the decompressed text."""

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}"


def shown(file: str) -> str:
    """A file's name on one printable line: what a terminal would act on is escaped."""
    if file == STDIN:
        return "<stdin>"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in file)


def responses(
    files: Sequence[str], select: str | None = None, stdin: BinaryIO | None = None
) -> Iterator[tuple[Source, object]]:
    """The responses in ``files``, in order, each with where it was read.

    ``select`` is the path of the response inside each document or line; ``[]`` and ``*`` in it give several. JSON
    lines are read one at a time, any other document whole. A byte order mark at the start of a file is passed over,
    as RFC 8259 part 8.1 allows and as tools on Windows write it.

    Raises ConfigurationError at once on a bad ``select``. While iterating it raises InputError, one line of
    ``file:line: what is wrong``, where a file cannot be opened or decompressed, holds no response, is not UTF-8 or
    no JSON, or has nothing at ``select``.
    """
    return _responses(files, ROOT if select is None else _select_path(select), stdin)


def document(file: str, stdin: BinaryIO | None = None) -> Any:
    """The one JSON document in a file whose fingerprint is wanted, read exactly (see ``load_exact``).

    Raises InputError, the file's name in front and where it is known the line or the path.
    """
    with _opened(file, stdin) as raw:
        text = b"".join(line for _, line in _lines(file, raw))
    try:
        return load_exact(text)
    except JSONError as error:
        raise _located(Source(file, 1), error) from None
    except InputError as error:
        raise InputError(f"{shown(file)}: {error}") from None


def text(file: str, stdin: BinaryIO | None = None) -> bytes:
    """The bytes of a file as they are; gzip is not looked through. Raises InputError where it cannot be read."""
    with _opened(file, stdin) as raw:
        try:
            return raw.read()
        except OSError as error:
            raise InputError(f"{shown(file)}: {_reason(error)}") from None


def _select_path(select: str) -> Path:
    try:
        path = parse_path(select)
    except ConfigurationError as error:
        raise ConfigurationError(f"select: {error}") from None
    if ANY_DEPTH in path:
        raise ConfigurationError(f"select: it says where the response is, so it cannot hold **: {select!r}")
    return path


def _responses(files: Sequence[str], path: Path, stdin: BinaryIO | None) -> Iterator[tuple[Source, object]]:
    for file in files:
        with _opened(file, stdin) as raw:
            for source, document in _documents(file, _lines(file, raw)):
                yield from _selected(source, document, path)


@contextmanager
def _opened(file: str, stdin: BinaryIO | None) -> Iterator[BinaryIO]:
    """A file for as long as it is needed. Standard input is left open."""
    if file == STDIN:
        yield sys.stdin.buffer if stdin is None else stdin
        return
    try:
        raw = open(file, "rb")  # noqa: SIM115, PTH123 - closed below; "-" and FIFOs are no business of pathlib
    except OSError as error:
        raise InputError(f"{shown(file)}: {_reason(error)}") from None
    except ValueError:  # a NUL in it
        raise InputError(f"{shown(file)}: not a file name") from None
    with raw:
        yield raw


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were read already. ``peek`` would do, if it promised two bytes of a pipe."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._read = getattr(rest, "read1", rest.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _decompressed(raw: BinaryIO) -> Iterable[bytes]:
    head = raw.read(len(_GZIP))
    stream = io.BufferedReader(_Rejoined(head, raw))
    return gzip.GzipFile(fileobj=stream) if head == _GZIP else stream


def _lines(file: str, raw: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Every line with its number, the byte order mark off the first."""
    try:
        for number, line in enumerate(_decompressed(raw), 1):
            yield number, line.removeprefix(_BOM) if number == 1 else line
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{shown(file)}: damaged or incomplete gzip data") from None
    except OSError as error:
        raise InputError(f"{shown(file)}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _documents(file: str, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[Source, object]]:
    filled = ((number, line) for number, line in lines if line.strip(_BLANK))
    number, line = next(filled, (0, b""))
    if not line:
        raise InputError(f"{shown(file)}: empty: no response in it")
    source = Source(file, number)
    try:
        document = load_strict(line)
    except JSONError as error:
        if not error.unfinished:
            raise _located(source, error) from None
        yield source, _loaded(source, b"".join((line, *(more for _, more in lines))))
        return
    yield source, document
    for number, line in filled:
        source = Source(file, number)
        # without its break, so that text that stops short is reported on its own line
        yield source, _loaded(source, line.rstrip(b"\r\n"))


def _loaded(source: Source, text: bytes) -> object:
    try:
        return load_strict(text)
    except JSONError as error:
        raise _located(source, error) from None


def _located(source: Source, error: JSONError) -> InputError:
    at = source._replace(line=source.line + (error.line or 1) - 1)
    column = "" if error.column is None else f" (column {error.column})"
    return InputError(f"{at}: {error.reason}{column}")


def _selected(source: Source, document: object, path: Path) -> Iterator[tuple[Source, object]]:
    found = [document]
    for segment in path:
        found = [inner for value in found for inner in _inside(value, segment)]
    if not found:
        raise InputError(f"{source}: nothing at {format_path(path)}")
    for value in found:
        yield source, value


def _inside(value: object, segment: Segment) -> Iterable[object]:
    if isinstance(value, list):
        return value if segment is ITEMS else ()
    if not isinstance(value, dict):
        return ()
    if segment is VALUES:
        return value.values()
    return (value[segment],) if segment in value else ()
