"""The store that lives as long as the process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolpulse.stores.base import Snapshot


class MemoryStore:
    """Snapshots in a dictionary. Monitors that share one share what was learned one after the other."""

    def __init__(self) -> None:
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._lock = threading.Lock()

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What was saved last, or None."""
        with self._lock:
            return self._snapshots.get((tool, key))

    def save(self, tool: str, key: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""
        with self._lock:
            self._snapshots[tool, key] = snapshot

    def tools(self) -> list[tuple[str, str]]:
        """Every (tool, key) there is a snapshot of, sorted."""
        with self._lock:
            return sorted(self._snapshots)

    def close(self) -> None:
        """Nothing to let go of."""
