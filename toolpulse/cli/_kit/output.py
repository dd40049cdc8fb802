"""What a command writes: standard output, notes on stderr, and files it was asked to write.

Only this module writes to standard output, so it alone knows when nobody reads it any more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from toolpulse.cli._kit.exits import CommandError, Exit, complain
from toolpulse.cli._kit.text import file_label, safe_json
from toolpulse.errors import ConfigurationError


class Output:
    """Standard output. Once its reader has gone, as in ``| head``, everything written is dropped without an error."""

    def __init__(self) -> None:
        self.gone = sys.stdout is None
        """Whether nobody reads any more, so that a command may stop early."""

    def write(self, text: str) -> None:
        """Write text at once; characters that the encoding of the stream lacks are escaped.

        Raises CommandError (70) where the device refuses, as a full disk does.
        """
        if self.gone:
            return
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        with self._writing():
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            # now, or an error would show only when the interpreter exits
            sys.stdout.flush()

    def write_bytes(self, line: bytes) -> None:
        """Write bytes as they are, and at once. Raises as ``write``."""
        if self.gone:
            return
        with self._writing():
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.gone = True
            _drop_buffered()
        except OSError as error:
            _drop_buffered()
            reason = error.strerror or type(error).__name__
            raise CommandError(Exit.INTERNAL, f"cannot write to standard output: {reason}") from None


def _drop_buffered() -> None:
    """Send what is still buffered nowhere, or the interpreter complains of it when it exits."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_json(plain: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of ASCII."""
    Output().write(json_line(plain))


def json_line(plain: Mapping[str, Any]) -> str:
    """One JSON object as a line of ASCII, its line break included."""
    return safe_json(json.dumps(plain, ensure_ascii=True)) + "\n"


def print_notes(notes: Sequence[str]) -> None:
    """Print what the user should think about, a line each on stderr."""
    for note in notes:
        complain(f"note: {note}")


@contextmanager
def writing(option: str, file: str) -> Iterator[None]:
    """A block that writes the file an option names. Raises ConfigurationError where the block raises OSError."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"{option} {file_label(file)}: {error.strerror or type(error).__name__}") from None
