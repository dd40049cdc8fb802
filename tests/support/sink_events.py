"""Events, and sinks that keep, fail or hang."""

# ruff: noqa: D102
from __future__ import annotations

import threading

from toolpulse import Risk
from toolpulse.events import DriftEvent, EventChange


def an_event(number=0, **fields):
    """An event, by its number; ``fields`` are set in it."""
    settings = {
        "id": f"{number:016x}",
        "time": "2026-01-02T03:04:05.678Z",
        "tool": "search_docs",
        "key": "",
        "incident": "0123456789ab",
        "status": "open",
        "risk": Risk.HIGH,
        "risks": {"default": Risk.HIGH},
        "summary": "score: number -> string",
        "pattern": None,
        "changes": (
            EventChange("score", "kind-changed", "number", "string", Risk.HIGH, "412 of 412 before; absent now"),
        ),
        "fingerprint_before": "a" * 64,
        "fingerprint_after": "b" * 64,
        "encoding": "native",
        "count": 1,
        "share": 1.0,
        "coverage": (),
    }
    return DriftEvent(**{**settings, **fields})


def drifted(monitor, tool="t", changes=1):
    """Two events and more: learned, then one for each change."""
    for _ in range(12):
        monitor.observe(tool, {f"f{n}": 1 for n in range(changes)})
    for n in range(changes):
        monitor.observe(tool, {f"f{m}": 1 for m in range(changes)} | {f"f{n}": "x"})


class Kept:
    def __init__(self):
        self.events = []
        self.closed = 0

    def emit(self, event):
        self.events.append(event)

    def close(self):
        self.closed += 1


class Failing(Kept):
    broken = True

    def emit(self, event):
        if self.broken:
            raise OSError("full")
        super().emit(event)


class Hanging(Kept):
    def __init__(self):
        super().__init__()
        self.entered = threading.Event()
        self.go = threading.Event()

    def emit(self, event):
        self.entered.set()
        self.go.wait()
        super().emit(event)
