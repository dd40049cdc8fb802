"""The protocol of a store: where what was learned outlives a monitor, and where processes share it.

A flush is one transaction: what others wrote is read, what was counted is judged against it, and the outcome is
written, events included. Transactions on one (tool, key) exclude each other, so ordinals, counts and incidents come out
as if one process had seen everything. An event stays in the outbox until whoever wrote or claimed it says it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, runtime_checkable

from toolpulse.events import DriftEvent
from toolpulse.state.incidents import Incident
from toolpulse.state.snapshot import Snapshot

LEASE: Final = 60.0
"""Seconds for which an event that waits to be sent is left to the writer that wrote or claimed it last."""

MOST_EVENTS: Final = 10_000
"""Events kept of all tools; the oldest go first."""

DAYS_KEPT: Final = 30
"""Days for which events, counts per hour and the marks of writers are kept."""


class Transaction(Protocol):
    """What a flush sees and writes. Nobody else writes to the same (tool, key) before it ends."""

    @property
    def now(self) -> Snapshot:
        """What is known. Where nothing is, ``generation`` says how often anything was forgotten here."""

    @property
    def saved(self) -> int:
        """The number of this writer's newest batch that is part of ``now``; 0 for none."""

    def save(self, after: Snapshot, events: Sequence[DriftEvent] = (), batch: int = 0, *, claimed: bool = True) -> None:
        """Make ``after`` what is known, and put events in the outbox; once a transaction.

        They are claimed by this writer, or are for whoever has sinks.

        Events of this (tool, key) that name a key of a map which ``after`` is the first to know are dropped.

        ``batch`` is the number of what this writer adds to ``now``: where it does not learn whether a commit arrived,
        it finds that number in ``saved``, or not. Zero stands for a change that nobody observed, as a decision is one.
        """


@runtime_checkable
class Store(Protocol):
    """Keeps snapshots by tool and key, and events until they were sent. Called from one thread at a time.

    Everything may raise and is tried again then; StoreError is logged with its text, any other error by its type.
    StoreUnusable says that trying again is in vain.
    """

    def transaction(self, tool: str, key: str, writer: str = "") -> AbstractContextManager[Transaction]:
        """Begin a transaction; it is committed where the block ends, and undone where that raises.

        ``writer`` names a process's monitor. Without one, events are for whoever claims them first.
        """

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What is known of a tool and key, or None; waits for no transaction."""

    def tools(self) -> list[tuple[str, str]]:
        """Every (tool, key) there is something known of, sorted."""

    def incidents(self, tool: str | None = None) -> list[Incident]:
        """The incidents of a tool under all its keys, or of all tools; the oldest first."""

    def forget(self, tool: str, key: str) -> bool:
        """Drop all that is known of a tool and key, its events included; False where nothing was.

        What is known of it later has another ``generation``.
        """

    def decided(self) -> int:
        """A number that grows whenever somebody changes what is known without having observed anything."""

    def claim(self, writer: str, most: int) -> list[DriftEvent]:
        """At most ``most`` events that wait to be sent and that nobody has a lease on; the oldest first."""

    def renew(self, writer: str, events: Iterable[str]) -> None:
        """Keep the lease on events that still wait to be sent."""

    def sent(self, events: Iterable[str]) -> None:
        """These events, by id, were sent."""

    def events(self) -> list[DriftEvent]:
        """The events kept, sent or not, in the order they were written."""

    def tidy(self) -> None:
        """Let go of what is older than it is kept."""

    def after_fork(self) -> None:
        """This is the child of a fork; connections are the parent's."""

    def close(self) -> None:
        """Let go of files and connections."""
