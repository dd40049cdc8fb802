"""What a monitor does with its store: one transaction a tool, and the exchange of decisions and events.

In a transaction a tool follows what other processes wrote, judges what was counted here, and saves it. The flusher
calls this, with the store's lock held. Where the store fails, nothing is lost: what was counted stays in its channel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from toolpulse._base.guard import Guard
from toolpulse.errors import StoreUnreadable, StoreUnusable
from toolpulse.events import DriftEvent
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.background.degraded import PATIENCE, Judge
from toolpulse.runtime.background.delivery import Dispatcher
from toolpulse.runtime.background.store_link import StoreLink
from toolpulse.runtime.channels import Channels
from toolpulse.state.snapshot import Snapshot
from toolpulse.stores.base import Store, Transaction
from toolpulse.stores.memory import MemoryStore

T = TypeVar("T")

_ASK_PATIENCE: Final = 2.0
"""Seconds that a question to the store waits for a flush that is under way."""

_TIDY_EVERY: Final = 3600.0
"""Seconds between two looks for what the store need not keep any longer."""


class Transactions:
    """Brings what channels counted to the store, and what others decided or left unsent back from it."""

    def __init__(self, link: StoreLink, judge: Judge, dispatcher: Dispatcher, channels: Channels, guard: Guard) -> None:
        self._link = link
        self._judge = judge
        self._dispatcher = dispatcher
        self._channels = channels
        self._guard = guard
        self.after_fork()

    def after_fork(self) -> None:
        """In a child nothing was asked of the store yet."""
        self._decisions_seen = -1
        """How many decisions the store had when they were followed last."""
        self._tidied: float | None = None

    def ask(self, question: Callable[[Store], T]) -> T | None:
        """What the store answers; None where it is out of reach, or in use for longer than a question may wait."""
        if not self._link.reachable or not self._link.lock.acquire(_ASK_PATIENCE):
            return None
        try:
            return question(self._link.store)
        except Exception as error:  # noqa: BLE001 - a store may raise anything; what is known here has to do
            if isinstance(error, StoreUnreadable):
                self._guard.failed("using the store", error)
            else:
                self._failed(error)
            return None
        finally:
            self._link.lock.release()

    def save(self, channel: ToolChannel) -> bool:
        """Follow what the store knows of a tool, judge what is due, and save it. False where the store failed."""
        self._link.asked = time.monotonic()
        try:
            saved = self._transaction(channel)
        except StoreUnreadable as error:
            self._guard.failed("using the store", error)
            channel.memory_only = channel.loaded = True
            return True
        except Exception as error:  # noqa: BLE001 - what was counted is kept, and this is tried again
            self._failed(error)
            return False
        if saved is None:
            return False
        channel.memory_only = False
        self._link.pause.worked()
        snapshot, events = saved
        if snapshot is not None:
            self._acknowledge(channel, snapshot)
        self._dispatcher.acknowledge(events)
        return True

    def _transaction(self, channel: ToolChannel) -> tuple[Snapshot | None, list[DriftEvent]] | None:
        """What was saved (None for nothing), and the events with it; None where somebody judges for too long."""
        state = channel.state
        with self._link.store.transaction(state.tool, state.key, self._link.writer) as transaction:
            judged = self._follow_and_judge(channel, transaction)
            if judged is None:
                return None
            acknowledged, events, snapshot = judged
            self._dispatcher.acknowledge(acknowledged)
            self._dispatcher.dispatch_all(events, channel.callback)
            if snapshot is not None:
                claimed = bool(self._dispatcher.outboxes)
                transaction.save(snapshot, events, channel.batch_number, claimed=claimed)
        return snapshot, events

    def _follow_and_judge(
        self, channel: ToolChannel, transaction: Transaction
    ) -> tuple[Sequence[DriftEvent], list[DriftEvent], Snapshot | None] | None:
        if not self._judge.lock.acquire(PATIENCE):
            return None
        events: list[DriftEvent] = []
        snapshot: Snapshot | None = None
        try:
            acknowledged = channel.follow(transaction.now, transaction.saved)
            if channel.due and not channel.counting:
                with self._guard("judging"):
                    events = channel.judge_batch()
                self._judge.count_faults(channel)
                snapshot = channel.state.snapshot()
        finally:
            self._judge.lock.release()
        return acknowledged, events, snapshot

    def _acknowledge(self, channel: ToolChannel, snapshot: Snapshot) -> None:
        if self._judge.lock.acquire(PATIENCE):
            try:
                channel.acknowledge(snapshot)
            finally:
                self._judge.lock.release()

    def follow_decisions(self) -> None:
        """Follow what somebody decided elsewhere."""
        try:
            decided = self._link.store.decided()
        except Exception as error:  # noqa: BLE001 - asked again later
            self._failed(error)
            return
        if decided != self._decisions_seen:
            loaded = [channel for channel in self._channels.now() if channel.loaded]
            if all(self.save(channel) for channel in loaded):
                self._decisions_seen = decided
            self.exchange_events(claim=True)

    def exchange_events(self, *, claim: bool = False) -> None:
        """Report to the store what was sent, and take over what nobody is about to send; ``claim``: not only rarely."""
        store, writer = self._link.store, self._link.writer
        try:
            self._dispatcher.report_sent(store, writer)
            claimed = self._dispatcher.claim(store, writer, now=claim)
            for event in claimed:
                channel = self._channels.by_name.get((event.tool, event.key))
                self._dispatcher.dispatch(event, channel.callback if channel else None)
            self._dispatcher.acknowledge(claimed)
            if self._tidied is None or time.monotonic() - self._tidied > _TIDY_EVERY:
                self._tidied = time.monotonic()
                store.tidy()
        except Exception as error:  # noqa: BLE001 - tried again
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._link.failed(error)
        if isinstance(error, StoreUnusable):
            self._go_on_in_memory()

    def _go_on_in_memory(self) -> None:
        """Take over what is known into a store in memory, in place of one that cannot be used."""
        memory = MemoryStore()
        for channel in self._channels.now():
            if channel.loaded and self._judge.lock.acquire(PATIENCE):
                try:
                    with memory.transaction(channel.state.tool, channel.state.key, self._link.writer) as transaction:
                        transaction.save(channel.assume_saved())
                finally:
                    self._judge.lock.release()
        self._link.replace(memory)
