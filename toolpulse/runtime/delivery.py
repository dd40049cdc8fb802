"""Events on their way from the store's outbox to the sinks, and word of what was sent on its way back."""

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

_MOST_TOLD: Final = 10_000
"""Events told that the store does not have yet which are remembered, so that none is told again when it has."""


class Dispatcher:
    """Hands each event to all sinks once, and remembers until the store knows that it was sent.

    A break is told of before the store has it, which may take long. An event that a sink could not be given is left to
    whoever claims it when its lease has run out, and one that nobody here is told of to whoever has sinks.
    """

    def __init__(self, outboxes: tuple[Outbox, ...], callbacks: dict[tuple[int, int], Outbox]) -> None:
        self.outboxes = outboxes
        self.callbacks = callbacks
        for outbox in outboxes:
            outbox.ended = self._ended
        self.wake: Callable[[], object] = lambda: None
        """Called when there is something to say to the store."""
        self.after_fork()

    def after_fork(self) -> None:
        """In a child what waits is the parent's to send and to tell of."""
        self._lock = threading.RLock()  # a signal handler may come back in
        self._left: dict[str, int] = {}
        self._sent: list[str] = []
        self._told: dict[str, bool] = {}
        self._claimed = self._renewed = -LEASE

    @property
    def senders(self) -> tuple[Outbox, ...]:
        """The queues of all sinks and callables."""
        return (*self.outboxes, *self.callbacks.copy().values())

    @property
    def waits(self) -> bool:
        """Whether there is something to say to the store."""
        return bool(self._sent)

    def tell(self, event: DriftEvent, callback: Callable[[DriftEvent], None] | None) -> None:
        """Hand an event to the sinks, unless they were given it."""
        with self._lock:
            if event.id in self._told or event.id in self._left:
                return
            self._told[event.id] = True
            if len(self._told) > _MOST_TOLD:
                del self._told[next(iter(self._told))]
            if self.outboxes:
                self._left[event.id] = len(self.outboxes)
        for outbox in self.outboxes:
            outbox.put(event)
        if callback is not None and event.status != "learned":
            callback(event)

    def saved(self, events: Iterable[DriftEvent]) -> None:
        """The store has these events: what is sent of them can be said from now on."""
        with self._lock:
            for event in events:
                # what is not known any more is left to whoever claims it, and comes twice rather than never
                taken = self._told.pop(event.id, False) and event.id not in self._left
                if taken and self.outboxes:
                    self._sent.append(event.id)

    def _ended(self, event: str, sent: bool) -> None:
        with self._lock:
            left = self._left.pop(event, None)
            if left is None:
                return
            if not sent and event in self._told:
                self._told[event] = False
            elif sent and left > 1:
                self._left[event] = left - 1
            elif sent and event not in self._told:
                self._sent.append(event)
        if self._sent:
            self.wake()

    def settle(self, store: Store, writer: str) -> None:
        """Say what was sent, and keep the lease on what is still on its way. Raises what the store raises."""
        with self._lock:
            sent, self._sent = self._sent, []
            left = list(self._left)
        try:
            if sent:
                store.sent(sent)
        except BaseException:
            with self._lock:
                self._sent[:0] = sent
            raise
        now = time.monotonic()
        if left and now - self._renewed > LEASE / 4:
            store.renew(writer, left)
            self._renewed = now

    def claim(self, store: Store, writer: str, *, now: bool = False) -> list[DriftEvent]:
        """Take over events that nobody is about to send; at most every quarter of a lease, unless ``now``."""
        moment = time.monotonic()
        if not self.outboxes or len(self._left) > _MOST_CLAIMED or (moment - self._claimed < LEASE / 4 and not now):
            return []
        found = store.claim(writer, _MOST_CLAIMED)
        self._claimed = moment
        return found

    def send(self, deadline: float) -> bool:
        """Have all events sent; False where some are left."""
        sent = [outbox.send(deadline - time.monotonic()) for outbox in self.senders]
        return all(sent)

    def send_inline(self) -> None:
        """Send what has no thread of its own."""
        for outbox in self.senders:
            if not outbox.threaded:
                outbox.send(0)
