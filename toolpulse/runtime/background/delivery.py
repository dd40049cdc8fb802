"""Was it sent? The one place in a process that knows, for each event, between judging and the store.

An event is made by judging, in the same transaction as the change of its incident, and is known by one id in four
places:

1. The **incident** says that it was reported once an event was made of it. It is not proof that anybody was told.
2. The **outbox table** of the store holds each event, saved with the incident, until it is marked as sent. It is what
   survives a crash: an event whose lease has run out is claimed by another process: sent twice rather than never.
3. The **queue** of each sink (``sinks/queue.py``) holds what this process still has to give to that sink.
4. The **Dispatcher** here joins 2 and 3: it puts an event into all queues once, however often it is handed over,
   remembers how many queues still hold it, and reports it as sent to the table when all gave it to their sinks.

A break is sent before the store has it, which may take long. So an event that all sinks were given may be unknown to
the store; it is reported as sent only after ``acknowledge``.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from toolpulse.stores.base import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolpulse.events import DriftEvent
    from toolpulse.sinks.queue import Outbox
    from toolpulse.stores.base import Store

_MOST_CLAIMED: Final = 100
"""Events taken over at a time."""

_MOST_UNSAVED: Final = 10_000
"""Dispatched events that the store does not have yet which are remembered, so that none is sent twice when it has."""


class Dispatcher:
    """Hands each event to all sinks once, and remembers until the store knows that it was sent.

    An event that a sink could not be given is left to whoever claims it when its lease has run out, and one that no
    sink of this process takes to a process that has sinks. ``callbacks`` are the queues of ``on_drift`` callables;
    whether they were given an event is not waited for.
    """

    def __init__(self, outboxes: tuple[Outbox, ...], callbacks: dict[tuple[int, int], Outbox]) -> None:
        self.outboxes = outboxes
        self.callbacks = callbacks
        for outbox in outboxes:
            outbox.ended = self._left_queue
        self.wake: Callable[[], object] = lambda: None
        """Called when there is something to report to the store."""
        self.after_fork()

    def after_fork(self) -> None:
        """In a child what waits is the parent's to send and to report."""
        self._lock = threading.RLock()  # a signal handler may come back in
        self._queued: dict[str, int] = {}
        """Events by how many sinks have not been given them yet."""
        self._unsaved: dict[str, bool] = {}
        """Dispatched events that the store may not have, and whether no sink has failed to take them so far."""
        self._sent: list[str] = []
        """Events that are sent and saved, to be reported to the store."""
        self._claimed = self._renewed = -LEASE

    @property
    def senders(self) -> tuple[Outbox, ...]:
        """The queues of all sinks and callables."""
        return (*self.outboxes, *self.callbacks.copy().values())

    @property
    def unreported(self) -> bool:
        """Whether there is something to report to the store."""
        return bool(self._sent)

    def dispatch(self, event: DriftEvent, callback: Callable[[DriftEvent], None] | None) -> None:
        """Put an event into the queues of all sinks, unless it was put there before."""
        with self._lock:
            if event.id in self._unsaved or event.id in self._queued:
                return
            self._unsaved[event.id] = True
            if len(self._unsaved) > _MOST_UNSAVED:
                del self._unsaved[next(iter(self._unsaved))]
            if self.outboxes:
                self._queued[event.id] = len(self.outboxes)
        for outbox in self.outboxes:
            outbox.put(event)
        if callback is not None and event.status != "learned":
            callback(event)

    def dispatch_all(self, events: Iterable[DriftEvent], callback: Callable[[DriftEvent], None] | None) -> None:
        """As ``dispatch``, for each of ``events``."""
        for event in events:
            self.dispatch(event, callback)

    def acknowledge(self, events: Iterable[DriftEvent]) -> None:
        """The store has these events: those that are sent can be reported from now on."""
        with self._lock:
            for event in events:
                # what is not known any more is left to whoever claims it, and comes twice rather than never
                sent = self._unsaved.pop(event.id, False) and event.id not in self._queued
                if sent and self.outboxes:
                    self._sent.append(event.id)

    def _left_queue(self, event: str, sent: bool) -> None:
        """An event left the queue of one sink: it was given to it, or dropped."""
        with self._lock:
            left = self._queued.pop(event, None)
            if left is None:
                return
            if not sent and event in self._unsaved:
                self._unsaved[event] = False
            elif sent and left > 1:
                self._queued[event] = left - 1
            elif sent and event not in self._unsaved:
                self._sent.append(event)
        if self._sent:
            self.wake()

    def report_sent(self, store: Store, writer: str) -> None:
        """Mark what was sent in the store, and renew the lease on what is queued. Raises what the store raises."""
        with self._lock:
            sent, self._sent = self._sent, []
            queued = list(self._queued)
        try:
            if sent:
                store.sent(sent)
        except BaseException:
            with self._lock:
                self._sent[:0] = sent
            raise
        now = time.monotonic()
        if queued and now - self._renewed > LEASE / 4:
            store.renew(writer, queued)
            self._renewed = now

    def claim(self, store: Store, writer: str, *, now: bool = False) -> list[DriftEvent]:
        """Take over events that nobody is about to send; at most every quarter of a lease, unless ``now``."""
        moment = time.monotonic()
        if not self.outboxes or len(self._queued) > _MOST_CLAIMED or (moment - self._claimed < LEASE / 4 and not now):
            return []
        events = store.claim(writer, _MOST_CLAIMED)
        self._claimed = moment
        return events

    def send(self, deadline: float) -> bool:
        """Have all events sent; False where some are left at ``deadline`` (of the monotonic clock)."""
        sent = [outbox.send(deadline - time.monotonic()) for outbox in self.senders]
        return all(sent)

    def send_inline(self) -> None:
        """Send, in this thread, what has no thread of its own."""
        for outbox in self.senders:
            if not outbox.threaded:
                outbox.send(0)
