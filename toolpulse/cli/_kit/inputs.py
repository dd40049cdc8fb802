"""What commands read from files: responses, single documents, text, and baselines.

A file of responses holds one JSON document, which is one response, or JSON lines: a response on each line, blank lines
allowed. Either may be compressed with gzip, which its first bytes show. ``-`` is standard input. If the first line is a
complete JSON document, the file is read as JSON lines; if not, as one document.
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
from toolpulse.cli._kit.text import STDIN, file_label
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.state.baseline import Baseline

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
        return f"{file_label(self.file)}:{self.line}"


def responses(
    files: Sequence[str], select: str | None = None, stdin: BinaryIO | None = None
) -> Iterator[tuple[Source, object]]:
    """The responses in ``files``, in order, each with where it was read.

    ``select`` is the path of the response inside each document or line, as in ``calls[].result``; with ``[]`` or ``*``
    a document gives several responses. ``stdin`` is read for the file ``-`` (default: ``sys.stdin``). JSON lines are
    read one at a time, any other document whole. A byte order mark at the start of a file is skipped, as RFC 8259
    part 8.1 allows, because tools on Windows write one.

    Raises ConfigurationError at once on a bad ``select``. While iterating it raises InputError, one line of
    ``file:line: what is wrong``, where a file cannot be opened or decompressed, holds no response, is not UTF-8 or
    no JSON, or has nothing at ``select``.
    """
    return _responses(files, ROOT if select is None else _select_path(select), stdin)


def document(file: str, stdin: BinaryIO | None = None) -> Any:
    """The one JSON document in a file, read for its fingerprint: nothing is lost or rounded (see ``load_exact``).

    Raises InputError with the file's name in front, and the line or the path where that is known.
    """
    with _opened(file, stdin) as raw:
        text = b"".join(line for _, line in _lines(file, raw))
    try:
        return load_exact(text)
    except JSONError as error:
        raise _located(Source(file, 1), error) from None
    except InputError as error:
        raise InputError(f"{file_label(file)}: {error}") from None


def text(file: str, stdin: BinaryIO | None = None) -> bytes:
    """The bytes of a file as they are, compressed or not. Raises InputError where it cannot be read."""
    with _opened(file, stdin) as raw:
        try:
            return raw.read()
        except OSError as error:
            raise InputError(f"{file_label(file)}: {_reason(error)}") from None


def baseline(file: str) -> Baseline:
    """The baseline in a file that ``learn`` or ``baseline export`` wrote. Raises InputError where it holds none."""
    try:
        loaded = Baseline.load(file)
        # folded at first use: a shape that is nested too deeply raises only there
        _ = loaded.profile
    except RecursionError:
        raise InputError(f"{file_label(file)}: not a baseline: nested too deeply") from None
    return loaded


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
    """A block with the file open. Standard input is left open after it."""
    if file == STDIN:
        yield sys.stdin.buffer if stdin is None else stdin
        return
    try:
        raw = open(file, "rb")  # noqa: SIM115, PTH123 - closed below; "-" and FIFOs are no business of pathlib
    except OSError as error:
        raise InputError(f"{file_label(file)}: {_reason(error)}") from None
    except ValueError:  # a NUL in it
        raise InputError(f"{file_label(file)}: not a file name") from None
    with raw:
        yield raw


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were read already. ``peek`` is no way out: of a pipe it may give fewer than two."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        # `read1` gives what a pipe holds now; `read` would wait until the buffer is full
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
    """Every line of the decompressed text with its number, without the byte order mark."""
    try:
        for number, line in enumerate(_decompressed(raw), 1):
            yield number, line.removeprefix(_BOM) if number == 1 else line
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise InputError(f"{file_label(file)}: damaged or incomplete gzip data") from None
    except OSError as error:
        raise InputError(f"{file_label(file)}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _documents(file: str, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[Source, object]]:
    filled = ((number, line) for number, line in lines if line.strip(_BLANK))
    number, line = next(filled, (0, b""))
    if not line:
        raise InputError(f"{file_label(file)}: empty: no response in it")
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
    values = [document]
    for segment in path:
        values = [inner for value in values for inner in _inside(value, segment)]
    if not values:
        raise InputError(f"{source}: nothing at {format_path(path)}")
    for value in values:
        yield source, value


def _inside(value: object, segment: Segment) -> Iterable[object]:
    if isinstance(value, list):
        return value if segment is ITEMS else ()
    if not isinstance(value, dict):
        return ()
    if segment is VALUES:
        return value.values()
    return (value[segment],) if segment in value else ()
