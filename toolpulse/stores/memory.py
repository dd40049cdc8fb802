"""The store that lives as long as the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from toolpulse._base.paths import Path
from toolpulse.errors import ConfigurationError
from toolpulse.events import DriftEvent, names_keys
from toolpulse.state.incidents import Incident
from toolpulse.state.snapshot import Snapshot, empty, new_maps
from toolpulse.stores.base import LEASE, Deferred

MOST_EVENTS: Final = 1000
"""Events kept in memory; the oldest go first."""


def open_url(url: str, existing: bool, clock: Callable[[], float]) -> MemoryStore:
    """A store of its own for each that asks. Raises ConfigurationError where anything follows ``memory:``."""
    if not url.endswith(":"):
        raise ConfigurationError("store: the URL memory: says it all; nothing follows it")
    return MemoryStore(clock)


class _Waiting:
    """An event in the outbox, and until when it is left to whom."""

    __slots__ = ("event", "until", "writer")

    def __init__(self, event: DriftEvent, writer: str, until: float) -> None:
        self.event = event
        self.writer = writer
        self.until = until


class MemoryStore:
    """Snapshots in a dictionary. Monitors of one process may share it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._saved: dict[tuple[str, str, str], int] = {}
        self._events: dict[str, DriftEvent] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._decided = self._forgotten = 0
        self._clock = clock
        self.after_fork()

    @contextmanager
    def transaction(self, tool: str, key: str, writer: str = "") -> Iterator[Deferred]:
        """Begin a transaction; the others wait."""
        with self._lock:
            now = self._snapshots.get((tool, key)) or empty(self._forgotten)
            flush = Deferred(now, self._saved.get((tool, key, writer), 0))
            yield flush
            if flush.after is not None:
                self._drop_keys(tool, key, new_maps(flush.now, flush.after))
                self._snapshots[tool, key] = flush.after
                self._saved[tool, key, writer] = max(flush.saved, flush.batch)
                self._put(flush.events, writer if flush.claimed else "")
                self._decided += flush.batch == 0

    def _drop_keys(self, tool: str, key: str, maps: frozenset[Path]) -> None:
        of_tool = [event for event in self._events.values() if maps and (event.tool, event.key) == (tool, key)]
        self._drop(event for event in of_tool if names_keys(event, maps))

    def _drop(self, events: Iterable[DriftEvent]) -> None:
        for event in list(events):
            self._events.pop(event.id, None)
            self._waiting.pop(event.id, None)

    def _put(self, events: Sequence[DriftEvent], writer: str) -> None:
        until = self._clock() + LEASE if writer else 0.0
        for event in events:
            if event.id not in self._events:
                self._events[event.id] = event
                self._waiting[event.id] = _Waiting(event, writer, until)
        self._drop([*self._events.values()][: max(0, len(self._events) - MOST_EVENTS)])

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What is known, or None."""
        return self._snapshots.get((tool, key))

    def tools(self) -> list[tuple[str, str]]:
        """Every (tool, key) there is something known of, sorted."""
        return sorted(self._snapshots.copy())

    def incidents(self, tool: str | None = None) -> list[Incident]:
        """The incidents of a tool, or of all; the oldest first."""
        known = self._snapshots.copy()
        incidents = [i for (name, _), now in known.items() if tool in (None, name) for i in now.incidents.values()]
        return sorted(incidents, key=lambda incident: (incident.first_time, incident.opened, incident.id))

    def forget(self, tool: str, key: str) -> bool:
        """Drop all that is known of a tool and key, its events included; False where nothing was."""
        with self._lock:
            self._drop(event for event in self._events.values() if (event.tool, event.key) == (tool, key))
            self._saved = {name: n for name, n in self._saved.items() if name[:2] != (tool, key)}
            was = self._snapshots.pop((tool, key), None) is not None
            self._decided += was
            self._forgotten += was
            return was

    def decided(self) -> int:
        """Grows with each decision."""
        return self._decided

    def claim(self, writer: str, most: int) -> list[DriftEvent]:
        """Events that wait and that nobody has a lease on."""
        with self._lock:
            now = self._clock()
            free = [waiting for waiting in self._waiting.values() if waiting.until <= now][:most]
            for waiting in free:
                waiting.writer, waiting.until = writer, now + LEASE
            return [waiting.event for waiting in free]

    def renew(self, writer: str, events: Iterable[str]) -> None:
        """Keep the lease on events that still wait."""
        with self._lock:
            for name in events:
                waiting = self._waiting.get(name)
                if waiting is not None and waiting.writer == writer:
                    waiting.until = self._clock() + LEASE

    def sent(self, events: Iterable[str]) -> None:
        """These events were sent."""
        with self._lock:
            for name in events:
                self._waiting.pop(name, None)

    def events(self) -> list[DriftEvent]:
        """The events kept, in the order they were written."""
        return list(self._events.copy().values())

    def tidy(self) -> None:
        """Nothing gets old in memory; events are bounded as they come."""

    def after_fork(self) -> None:
        """The lock may be held by a thread that is not there."""
        self._lock = threading.RLock()

    def close(self) -> None:
        """Nothing to let go of."""
