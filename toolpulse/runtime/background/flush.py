"""The flusher of a monitor: when what its callers counted is judged, saved and sent, and by which thread.

A worker thread drives it, or ``observe`` itself where there is none; the user by ``flush`` and ``close``; and the end
of the process. Each tool that has something due gets one transaction with the store (``transactions.py``). Where the
store fails, the tool is judged in memory (``degraded.py``), so that a break is reported all the same.

Locks are always taken in this order: the store's, the judge's; nobody does I/O while judging.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from toolpulse._base.guard import Guard
from toolpulse._base.times import iso_time
from toolpulse.errors import DriftError, StoreError, ToolPulseError
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.background.degraded import PATIENCE, Judge
from toolpulse.runtime.background.delivery import Dispatcher
from toolpulse.runtime.background.lifetime import EXIT_PATIENCE
from toolpulse.runtime.background.store_link import StoreLink
from toolpulse.runtime.background.transactions import Transactions
from toolpulse.runtime.background.worker import Worker
from toolpulse.runtime.channels import Channels
from toolpulse.runtime.decisions import decide
from toolpulse.shape import Truncation
from toolpulse.sinks.queue import Outbox
from toolpulse.state.incidents import Action, Decision
from toolpulse.state.pending import TallyKey
from toolpulse.stores.base import Store

T = TypeVar("T")

_LOAD_PATIENCE: Final = 0.5
"""Seconds for which the first call of a tool waits for the store, where what it found is to be raised."""

_LAST_PAUSE: Final = 0.4
"""Seconds between two attempts to save as the process ends."""

_LAST_ROUNDS: Final = 3
"""Flushes as the process ends; more is not left to sinks that call tools, and to threads that never rest."""

_retiring: Final[set[Flusher]] = set()
"""Flushers of monitors that are gone and have something to bring to their stores; at exit they are flushed, too."""


class Flusher:
    """Flushes the channels of one monitor.

    ``interval``: seconds between flushes of a worker thread; None where there is none, and each call flushes itself.
    """

    def __init__(
        self, store: Store, guard: Guard, outboxes: tuple[Outbox, ...], channels: Channels, interval: float | None
    ) -> None:
        self.channels = channels
        self.link = StoreLink(store, guard, interval)
        self.dispatcher = Dispatcher(outboxes, channels.callbacks)
        self.worker = None if interval is None else Worker(self.flush_due, interval, self._start_sending)
        if self.worker is not None:
            self.dispatcher.wake = self.worker.wake
        self._guard = guard
        self._judge = Judge(channels.by_name, self.dispatcher, guard)
        self._transactions = Transactions(self.link, self._judge, self.dispatcher, channels, guard)
        self._closed = False
        self._is_retiring = False
        self._late: float | None = None
        """Seconds that calls after the last flush may still wait in vain; None before that."""

    @property
    def _inside(self) -> bool:
        """Whether the thread that asks is in the middle of judging or saving, and must not wait for either."""
        return self._judge.lock.mine or self.link.lock.mine

    def wake(self, channel: ToolChannel, *, hurry: bool = False) -> None:
        """There is something to judge of a channel: by the worker soon, else now."""
        if self._late is not None:
            self._save_late(channel)
            return
        if self.worker is not None:
            self.worker.wake(hurry=hurry)
            if self.link.asked and self.link.hangs:
                self._judge.judge_aside()
            return
        self.flush_due(channels=[channel])
        self.send(time.monotonic())

    def flush(self, timeout: float) -> bool:
        """Judge, save and send what waits; False where something still waits after ``timeout`` seconds.

        False at once where the thread came back in: it is doing so already.
        """
        if self._inside:
            return False
        deadline = time.monotonic() + timeout
        self._flush_now(timeout)
        return self.send(deadline) and not self._has_unsaved()

    def _flush_now(self, timeout: float) -> None:
        """Have the worker do what is due, so that a store that hangs is left behind; else this thread."""
        self.link.pause.over()
        if self.worker is None or self.worker.flush(timeout) is None:
            self.flush_due(timeout, now=True)

    def flush_due(
        self, timeout: float = PATIENCE, *, now: bool = False, channels: Sequence[ToolChannel] | None = None
    ) -> None:
        """Save all channels that have something due, or some, and exchange events with the store: the worker's task.

        What the store cannot be given is judged in memory. ``now``: however recent the store's last failure.
        """
        if self._inside:
            return
        deadline = time.monotonic() + timeout
        channels = self.channels.now() if channels is None else channels
        if now:
            self.link.pause.over()
        if self.link.reachable and self.link.lock.acquire(timeout):
            try:
                self._save_due(channels)
            finally:
                self.link.asked = 0.0
                self.link.lock.release()
        for channel in channels:
            if channel.awaiting_judgement and self._goes_alone(channel):
                self._judge.judge(channel, deadline - time.monotonic())
        if self.worker is not None:
            self._schedule_next(self.worker)

    def _save_due(self, channels: Sequence[ToolChannel]) -> None:
        failures = self.link.pause.failures
        self.link.asked = time.monotonic()
        self._transactions.follow_decisions()
        for channel in channels:
            if channel.due and not channel.memory_only and self.link.reachable:
                self._transactions.save(channel)
        self._transactions.exchange_events()
        if self.link.pause.failures == failures:
            self.link.pause.worked()

    def _goes_alone(self, channel: ToolChannel) -> bool:
        """Whether a channel is to be judged in memory: what the store knows is loaded, or long out of reach."""
        return channel.memory_only or (not self.link.reachable and (channel.loaded or self.link.long_gone))

    def _schedule_next(self, worker: Worker) -> None:
        self.dispatcher.send_inline()
        watches = self.channels.has_active_incidents and not self._is_retiring
        if self._has_unsaved() or self.link.pause.failures or watches:
            worker.wake()
        elif self._is_retiring:
            self._let_go()

    def _has_unsaved(self) -> bool:
        return self.dispatcher.unreported or self.channels.has_unsaved

    def retire(self) -> None:
        """End the threads once nothing waits: nobody holds the monitor any more. Called by the garbage collector."""
        self._is_retiring = True
        if self._has_unsaved() and not self._closed:
            _retiring.add(self)
            if self.worker is not None:
                self.worker.wake(hurry=True)
        else:
            self._let_go()

    def _let_go(self) -> None:
        _retiring.discard(self)
        if self.worker is not None:
            self.worker.stop()
        for outbox in self.dispatcher.senders:
            outbox.stop()

    def close(self, deadline: float) -> None:
        """End the worker, close sinks and store; what does not come back by ``deadline`` is left behind."""
        if self._closed:
            return
        self._closed = True
        if self.worker is not None:
            self.worker.stop()
        outboxes = self.dispatcher.senders
        for outbox in outboxes:
            outbox.close()
        for outbox in outboxes:
            outbox.join(deadline - time.monotonic())
        if not self._inside:
            self.link.close(deadline - time.monotonic())

    def ask(self, question: Callable[[Store], T]) -> T | None:
        """What the store answers; None where it is closed or out of reach, or this thread is in the middle of it."""
        return None if self._closed or self._inside else self._transactions.ask(question)

    def decide(
        self, action: Action, target: str, paths: tuple[str, ...], reason: str, who: str
    ) -> tuple[Decision, ...]:
        """Take a decision on an incident, or on all that are open of a tool; see ``Monitor.accept``."""
        self.flush(PATIENCE)
        if self._inside or not self.link.lock.acquire(PATIENCE):
            raise ToolPulseError(f"cannot {action} {target}: the monitor is busy")
        try:
            now = iso_time(time.time())
            decisions = decide(self.link.store, action, target, paths, reason=reason, who=who, time=now)
        except ToolPulseError:
            raise
        except Exception as error:  # noqa: BLE001 - a store may raise anything, and its text may hold anything
            raise StoreError(f"cannot {action} {target}: {type(error).__name__} while using the store") from None
        finally:
            self.link.lock.release()
        self.flush(PATIENCE)
        return decisions

    def drift_error(
        self, channel: ToolChannel, key: TallyKey, truncations: tuple[Truncation, ...]
    ) -> DriftError | None:
        """What to raise in the caller's thread for an observation that was just counted; None for nothing."""
        if self._inside or channel.counting:
            return None  # it came back in; whoever is at it judges this one as well
        if not channel.loaded and not channel.load_tried:
            self._load(channel)
        return self._judge.drift_error(channel, key, truncations) if channel.loaded else None

    def _load(self, channel: ToolChannel) -> None:
        """Have the store asked what it knows of a tool, once, before that is judged in its caller's thread."""
        channel.load_tried = True
        if self.worker is None:
            self.flush_due(channels=[channel])
        else:
            self.worker.wake(hurry=True)
            self.worker.flush(_LOAD_PATIENCE)

    def _start_sending(self) -> None:
        for outbox in self.dispatcher.senders:
            outbox.start()

    def send(self, deadline: float) -> bool:
        """Have all events sent, and report it to the store; False where some are left."""
        sent = self.dispatcher.send(deadline)
        if self.dispatcher.unreported and self.link.reachable and self.link.lock.acquire(deadline - time.monotonic()):
            try:
                self._transactions.exchange_events()
            finally:
                self.link.lock.release()
        return sent

    @property
    def has_work(self) -> bool:
        """Whether there is anything to save or to send."""
        return self._has_unsaved() or any(outbox.waiting for outbox in self.dispatcher.senders)

    def flush_at_exit(self, timeout: float) -> None:
        """Flush by the worker, so that a store or a sink that hangs is left behind."""
        deadline = time.monotonic() + timeout
        rounds = _LAST_ROUNDS
        while self._has_unsaved():
            self._flush_now(deadline - time.monotonic())
            rounds -= not self.link.pause.failures
            if not self._has_unsaved() or not rounds or time.monotonic() + _LAST_PAUSE > deadline:
                break
            if self.link.pause.failures:
                time.sleep(_LAST_PAUSE)
        self.send(deadline)

    def process_ends(self) -> None:
        """The last flush begins: each call from now on saves itself."""
        self._late = EXIT_PATIENCE

    def _save_late(self, channel: ToolChannel) -> None:
        """Save what came after the last flush. What cannot be saved in a short time is lost, counted and logged."""
        if self.worker is not None and self.worker.is_current:
            self.worker.wake(hurry=True)
            return
        counted, begun = channel.calls, time.monotonic()
        if self._late:
            self.flush_at_exit(self._late)
        if channel.saved_calls < counted and not channel.memory_only:
            self._late = max(0.0, (self._late or 0.0) - (time.monotonic() - begun))
            self._guard.failed("the process ends", StoreError("a call after the last flush could not be saved"))

    def before_fork(self) -> None:
        """Let no child be born in the middle of a judgement."""
        self._judge.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on judging."""
        self._judge.after_fork_in_parent()

    def after_fork(self) -> None:
        """In a child: threads are gone, locks may be held by nobody, and what waits is the parent's to flush."""
        self._late = None
        self._judge.after_fork()
        self._transactions.after_fork()
        self._guard.after_fork()
        self.dispatcher.after_fork()
        self.link.after_fork()
        for outbox in self.dispatcher.senders:
            outbox.after_fork()
        self.channels.after_fork()
        if self.worker is not None:
            self.worker.after_fork()
