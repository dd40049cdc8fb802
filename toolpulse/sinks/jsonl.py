"""Drift events as JSON lines in a file that grows: ``drift.jsonl``."""

from __future__ import annotations

import os
from pathlib import Path

from toolpulse.events import DriftEvent, encode


class JsonlSink:
    """Appends one line an event; safe with several processes on one file.

    A line goes out as one write to a file opened for appending. Where a write fails half way (a full disk), the next
    line starts on a line of its own, so that one event is lost to readers at most. The file is made, with its
    directory, at the first event. Raises OSError from ``emit``, which the monitor counts.
    """

    def __init__(self, path: str | os.PathLike[str] = "drift.jsonl") -> None:
        self.path = Path(path)
        self._torn = False

    def emit(self, event: DriftEvent) -> None:
        """Append the event."""
        line = encode(event) + b"\n"
        if self._torn:
            line = b"\n" + line
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            written = os.write(handle, line)
        finally:
            os.close(handle)
        self._torn = written < len(line)
        if self._torn:
            raise OSError(f"wrote {written} of {len(line)} bytes")
