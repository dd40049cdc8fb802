"""Events on their way to one sink: a sink that raises gets them again later, one that hangs holds up nobody's call."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolpulse._guard import Guard
    from toolpulse.events import DriftEvent
    from toolpulse.sinks.base import Sink

MOST_EVENTS: Final = 1000
"""Events kept for a sink that fails; the oldest goes first, and is counted."""

_LONGEST_PAUSE: Final = 60.0


class Outbox:
    """The queue of one sink. Filled by any thread, sent by one at a time."""

    def __init__(self, name: str, sink: Sink) -> None:
        self.name = name
        self.sink = sink
        self.dropped = 0
        self.failures = 0
        self._queue: deque[DriftEvent] = deque()
        self._busy = False
        self._not_before = 0.0

    def put(self, event: DriftEvent) -> None:
        """Add an event."""
        if len(self._queue) >= MOST_EVENTS:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(event)

    def send(self, guard: Guard, *, now: bool = False) -> None:
        """Send what waits, unless the last failure was too recent; ``now`` tries all the same."""
        if not now and time.monotonic() < self._not_before:
            return
        self._busy = True
        try:
            while self._queue:
                self.sink.emit(self._queue[0])
                self._queue.popleft()
                self.failures = 0
        except Exception as error:  # noqa: BLE001 - whatever a sink raises, the tool must not notice
            self.failures += 1
            self._not_before = time.monotonic() + min(_LONGEST_PAUSE, 2.0**self.failures / 2)
            guard.failed(f"emitting to {self.name}", error)
        finally:
            self._busy = False

    @property
    def waiting(self) -> int:
        """Events not yet sent."""
        return len(self._queue)

    @property
    def state(self) -> str:
        """``ok``, ``failing``, ``busy`` (it was given an event and has not come back), and what was dropped."""
        state = "busy" if self._busy else "failing" if self.failures else "ok"
        return f"{state}, {self.dropped} dropped" if self.dropped else state

    def after_fork(self) -> None:
        """In a child: what waits is the parent's to send."""
        self._queue.clear()
        self._busy = False
