"""The lines of a log file: those that are there, or each new one while the file grows."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import BinaryIO, Final

from toolpulse.cli._kit.text import STDIN, file_label
from toolpulse.errors import InputError

_PAUSE: Final = 0.2
"""Seconds between two looks at a file that grows."""


def lines(file: str) -> Iterator[tuple[int, bytes]]:
    """Every line of a file that is not blank, with its number, counted from 1.

    Raises InputError where the file cannot be read.
    """
    try:
        if file == STDIN:
            yield from _filled(enumerate(sys.stdin.buffer, 1))
            return
        with open(file, "rb") as stream:  # noqa: PTH123 - beside "-" a name is taken as it is
            yield from _filled(enumerate(stream, 1))
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def follow(file: str, ended: Callable[[], bool], pause: float = _PAUSE) -> Iterator[tuple[int, bytes]]:
    """The same lines, and each line added later, until ``ended()`` is true; between looks it sleeps ``pause`` seconds.

    The file may appear later, be cut short, or be replaced by another of the same name. A line is given once its line
    break is written. Raises InputError where the file is there and cannot be read.
    """
    with closing(_Tail(file)) as tail:
        while not ended():
            grew = False
            for line in _filled(tail.new_lines()):
                grew = True
                yield line
            if not grew:
                time.sleep(pause)


class _Tail:
    """A file that grows, and how far it has been read."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stream: BinaryIO | None = None
        self._rest = b""
        self._number = 0

    def new_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that were completed since the last call."""
        try:
            replaced = self._replaced()
            if self._stream is not None:
                # also where it was replaced: its writer may have added lines until then
                yield from self._complete(self._stream)
            if replaced:
                yield from self._last()
                yield from self._complete(self._reopen())
        except (OSError, ValueError) as error:
            raise _unreadable(self._file, error) from None

    def _replaced(self) -> bool:
        """Whether the name now stands for another file than the open one. One that was cut short is read again."""
        try:
            now = os.stat(self._file)  # noqa: PTH116 - beside fstat
        except FileNotFoundError:
            return False
        if self._stream is None:
            return True
        was = os.fstat(self._stream.fileno())
        # another file under the name: log rotation renames the old one
        if (now.st_dev, now.st_ino) != (was.st_dev, was.st_ino):
            return True
        if now.st_size < self._stream.tell():
            self._stream.seek(0)
            self._rest, self._number = b"", 0
        return False

    def _complete(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        for piece in iter(stream.readline, b""):
            self._rest += piece
            if self._rest.endswith(b"\n"):
                line, self._rest = self._rest, b""
                self._number += 1
                yield self._number, line

    def _last(self) -> Iterator[tuple[int, bytes]]:
        """The last line of a file that was replaced: no line break will come any more."""
        if self._rest:
            yield self._number + 1, self._rest

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def _reopen(self) -> BinaryIO:
        self.close()
        self._rest, self._number = b"", 0
        self._stream = open(self._file, "rb")  # noqa: SIM115, PTH123 - open until it is replaced
        return self._stream


def _filled(numbered: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in numbered if line.strip())


def _unreadable(file: str, error: OSError | ValueError) -> InputError:
    reason = (error.strerror if isinstance(error, OSError) else "") or "not a file that can be read"
    return InputError(f"{file_label(file)}: {reason}")
