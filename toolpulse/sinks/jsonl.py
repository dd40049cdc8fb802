"""Drift events as JSON lines in a file that grows: ``drift.jsonl``.

Users name it among a monitor's sinks; ``toolpulse log`` reads the file. It opens the file anew for each event.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolpulse._base import files
from toolpulse.events import DriftEvent, encode

if TYPE_CHECKING:
    from collections.abc import Iterator

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: there one process writes a file
    fcntl = None


class JsonlSink:
    """Appends one line an event; safe with several processes on one file.

    A line is written under a lock on the file. Where a write fails half way (a full disk), what was written of it is
    cut off again, so that a reader meets whole lines only; a line that another process left torn is ended first. The
    file is made, with its folder, at the first event, for this user alone. Raises OSError from ``emit``; the monitor
    counts it, and the event comes again.
    """

    def __init__(self, path: str | os.PathLike[str] = "drift.jsonl") -> None:
        self.path = Path(path)

    def emit(self, event: DriftEvent) -> None:
        """Append the event as one line; it is on its way to the disk when this returns. Raises OSError."""
        line = encode(event) + b"\n"
        files.make_folder(self.path.parent)
        handle = files.private(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            with _locked(handle):
                _append(handle, line)
        finally:
            os.close(handle)


def _append(handle: int, line: bytes) -> None:
    state = os.fstat(handle)
    regular = stat.S_ISREG(state.st_mode)
    if regular and state.st_size and _last_byte(handle, state.st_size) != b"\n":
        line = b"\n" + line
    left = memoryview(line)
    try:
        while left:
            left = left[os.write(handle, left) :]
    except OSError:
        if regular:
            with suppress(OSError):
                os.ftruncate(handle, state.st_size)
        raise


def _last_byte(handle: int, size: int) -> bytes:
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1)


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        # said aloud: a fork in between holds the same lock until it closes its copy of the handle
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
