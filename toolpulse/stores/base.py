"""The protocol of a store: where what was learned outlives a monitor, and where processes share it.

A flush is one transaction: what others wrote is read, what was counted is judged against it, and the outcome is
written, events included. Transactions on one (tool, key) exclude each other, so ordinals, counts and incidents come out
as if one process had seen everything. An event stays in the outbox until whoever wrote or claimed it says it was sent.

Whoever writes a store needs this file, ``state/snapshot.py`` and the tests in ``tests/stores/test_base.py``. A store
calls nothing of the monitor's; the monitor (``runtime``) and the command line call the store.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, runtime_checkable

from toolpulse.events import DriftEvent
from toolpulse.state.incidents import Incident
from toolpulse.state.snapshot import Snapshot

LEASE: Final = 60.0
"""Seconds for which an event that waits to be sent is left to the writer that wrote or claimed it last."""

MOST_EVENTS: Final = 10_000
"""Events a database keeps of all tools; the oldest go first. MemoryStore keeps fewer."""

DAYS_KEPT: Final = 30
"""Days for which events, counts per hour and the marks of writers are kept."""


class Transaction(Protocol):
    """What a flush sees and writes. Nobody else writes to the same (tool, key) before it ends."""

    @property
    def now(self) -> Snapshot:
        """What is known, as of the last transaction on this (tool, key) that was committed, whoever made it.

        Where nothing is known, it is empty but for ``generation``, which says how often anything was forgotten in this
        store, of whatever tool. Parts that did not change since they were last given out should be the same objects:
        whoever holds them finds by identity what changed.
        """

    @property
    def saved(self) -> int:
        """The number of this writer's newest batch that is part of ``now``; 0 for none."""

    def save(self, after: Snapshot, events: Sequence[DriftEvent] = (), batch: int = 0, *, claimed: bool = True) -> None:
        """Make ``after`` what is known, and put events in the outbox; called once in a transaction at most.

        All of it takes effect at the end of the block, together, or nothing does. An event whose id is in the outbox
        already, sent or not, is left as it is there. With ``claimed`` this writer has the lease on the events for
        ``LEASE`` seconds; without, anybody may claim them at once.

        Where ``after`` knows of a map that ``now`` did not (``new_maps`` tells), all events kept of this (tool, key)
        that name one of its keys (``events.names_keys``) are dropped, so that no data stays in them.

        ``batch`` is the number of what this writer adds to ``now``: where it does not learn whether a commit arrived,
        it finds that number in ``saved``, or not. A lower number than the one in ``saved`` does not lower it. Zero
        stands for a change that nobody observed, as a decision is one; it adds 1 to ``Store.decided``.
        """


@runtime_checkable
class Store(Protocol):
    """Keeps what is known by tool and key, and events until they were sent.

    Names of tools, keys, writers and events are any text, NUL, lone surrogates and line breaks included. A method is
    called from one thread at a time, but not always from the same one; several processes may each have a store on the
    same data. Nothing is opened before the first call, and a call after ``close`` opens it again.

    Any method may raise. StoreError means: not now; it is logged with its text, which must hold no password, and the
    monitor tries again. StoreUnusable means that trying again is in vain: the monitor goes on in memory until the
    process ends. Any other exception is logged by its type and tried again.
    """

    def transaction(self, tool: str, key: str, writer: str = "") -> AbstractContextManager[Transaction]:
        """Begin a transaction on one (tool, key); it is committed where the block ends, and undone where that raises.

        Another transaction on the same (tool, key), of this process or another one, waits until this one has ended, or
        raises StoreError after some seconds. One inside another in the same thread may be refused with StoreError. A
        block that did not call ``save`` changes nothing. When the commit has returned, what was saved survives the
        death of the process.

        ``writer`` names a process's monitor. Without one, events are for whoever claims them first.
        """

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What was last committed of a tool and key, or None where nothing is known; it waits for no transaction."""

    def tools(self) -> list[tuple[str, str]]:
        """Every (tool, key) there is something known of, sorted."""

    def incidents(self, tool: str | None = None) -> list[Incident]:
        """The incidents of a tool under all its keys, or of all tools; the oldest first.

        The order is that of ``first_time``, then ``opened``, then ``id``.
        """

    def forget(self, tool: str, key: str) -> bool:
        """Drop all that is known of a tool and key, its events and the marks of its writers included.

        False where nothing was known. Else ``decided`` grows by 1, and so does the ``generation`` of whatever becomes
        known later.
        """

    def decided(self) -> int:
        """How often somebody changed what is known without having observed anything.

        It grows with each ``save`` whose batch is 0 and with each tool that was forgotten, and never goes back. A
        monitor asks for it before each flush, so it should be cheap.
        """

    def claim(self, writer: str, most: int) -> list[DriftEvent]:
        """Take the lease on at most ``most`` events that wait to be sent and that nobody has a lease on.

        They are given in the order in which they were written. Two that claim at once never get the same event. The
        lease lasts ``LEASE`` seconds; then whoever asks next may have the event.
        """

    def renew(self, writer: str, events: Iterable[str]) -> None:
        """Let the lease on these events, by id, last ``LEASE`` seconds from now.

        An event that was sent, is unknown, or is leased to another writer by now is left as it is.
        """

    def sent(self, events: Iterable[str]) -> None:
        """Note that these events, by id, were sent: nobody can claim them any more. Unknown ones are passed over."""

    def events(self) -> list[DriftEvent]:
        """The events kept, sent or not, in the order they were written; ``MOST_EVENTS`` or fewer."""

    def tidy(self) -> None:
        """Let go of what is older than ``DAYS_KEPT``. Called about once a flush; it should do its work once an hour."""

    def after_fork(self) -> None:
        """Called in the child of a fork: leave connections to the parent, and make new ones at the next call."""

    def close(self) -> None:
        """Let go of files and connections."""


_METHODS: Final = tuple(
    name for name in vars(Store) if not name.startswith("_") and inspect.isfunction(vars(Store)[name])
)


def missing_methods(store: object) -> list[str]:
    """The methods of a store that an object lacks, in the order of the protocol; none for a store."""
    # not isinstance: since Python 3.12 it does not see the methods that a store hands on by __getattr__
    return [name for name in _METHODS if not callable(getattr(store, name, None))]


class Deferred:
    """A transaction for stores that write what was saved in it when the block ends.

    ``after`` is None until ``save`` was called.
    """

    def __init__(self, now: Snapshot, saved: int) -> None:
        self.now = now
        self.saved = saved
        self.after: Snapshot | None = None
        self.events: Sequence[DriftEvent] = ()
        self.batch = 0
        self.claimed = True

    def save(self, after: Snapshot, events: Sequence[DriftEvent] = (), batch: int = 0, *, claimed: bool = True) -> None:
        """Keep what is to be written once the block ends."""
        self.after, self.events, self.batch, self.claimed = after, events, batch, claimed
