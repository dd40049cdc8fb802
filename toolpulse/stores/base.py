"""The protocol of a store: where what was learned outlives a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from toolpulse.baseline import Row
from toolpulse.incident import Decision, Incident
from toolpulse.maps import MapDecision
from toolpulse.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Iterable


class Snapshot(msgspec.Struct, frozen=True):
    """What is known of one (tool, key): enough to go on where another monitor stopped."""

    observations: int
    rows: tuple[Row, ...]
    maps_learned: tuple[MapDecision, ...] = ()
    incidents: tuple[Incident, ...] = ()
    decisions: tuple[Decision, ...] = ()
    merged: Profile | None = None
    """The evidence of shapes that were let go."""


@runtime_checkable
class Store(Protocol):
    """Keeps snapshots by tool and key. Called from one thread at a time; may raise, and is tried again then."""

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What was saved last, or None."""

    def save(self, tool: str, key: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one, whole or not at all."""

    def tools(self) -> Iterable[tuple[str, str]]:
        """Every (tool, key) there is a snapshot of."""

    def close(self) -> None:
        """Let go of files and connections."""
