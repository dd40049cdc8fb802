"""The engine of a monitor: judging what its callers counted against what the store knows, saving and sending it.

A worker thread drives it, or ``observe`` itself where there is none. For each tool that has something due it takes one
turn: a transaction of the store in which it follows what others wrote, judges, and saves. Where the store fails, the
turn is taken in memory, so that a break is told of all the same, and is taken again for the record when it is back.

Locks are always taken in this order: storing, judging; nobody does I/O while judging.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from toolpulse._base.guard import Guard
from toolpulse._base.locks import NonReentrantLock
from toolpulse._base.times import iso_time
from toolpulse.errors import DriftError, StoreError, StoreUnreadable, StoreUnusable, ToolPulseError
from toolpulse.events import DriftEvent
from toolpulse.judgement.rules import Risk
from toolpulse.runtime.counters import ToolChannel
from toolpulse.runtime.decisions import decide
from toolpulse.runtime.delivery import Dispatcher
from toolpulse.runtime.lifetime import EXIT_PATIENCE
from toolpulse.runtime.worker import Worker
from toolpulse.shape import Truncation
from toolpulse.sinks.queue import Outbox, Pause
from toolpulse.state.incidents import ACTIVE, Action, Decision
from toolpulse.state.pending import TallyKey
from toolpulse.state.snapshot import Snapshot
from toolpulse.stores.base import Store
from toolpulse.stores.memory import MemoryStore

T = TypeVar("T")

PATIENCE: Final = 10.0
"""Seconds ``flush`` and ``close`` wait for what is under way, and for sinks."""

_FORK_PATIENCE: Final = 1.0
"""Seconds a fork waits for a judgement that is under way; it takes no I/O."""

_LOAD_PATIENCE: Final = 0.5
"""Seconds for which the first call of a tool waits for the store, where what it found is to be raised."""

_ASK_PATIENCE: Final = 2.0
"""Seconds that a question to the store waits for a flush that is under way."""

_LAST_PAUSE: Final = 0.4
"""Seconds between two attempts to save as the process ends."""

_HANGS: Final = 10.0
"""Seconds after which a store that was asked and did not answer is judged without."""

_LONG_GONE: Final = 30.0
"""Seconds of failing attempts after which what this process saw has to do for what the store knows."""

_SHORTEST_PAUSE: Final = 1.0
"""Seconds between two attempts at a store that fails, where flushes come faster than that."""

_PAUSE_IN_CALLS: Final = 10.0
"""Seconds between two attempts at a store that fails, at most, where each attempt is made in somebody's call."""

_LAST_ROUNDS: Final = 3
"""Flushes as the process ends; more is not left to sinks that call tools, and to threads that never rest."""

_TIDY_EVERY: Final = 3600.0
"""Seconds between two looks for what the store need not keep any longer."""

_retiring: Final[set[Engine]] = set()
"""Engines of monitors that are gone and have something to bring to their stores; at exit they are flushed, too."""


class Engine:
    """Works for the tracks it is given; ``interval`` seconds apart in a thread, or when asked where that is None."""

    def __init__(self, store: Store, guard: Guard, outboxes: tuple[Outbox, ...], interval: float | None) -> None:
        self.channels: dict[tuple[str, str], ToolChannel] = {}
        self.beyond: ToolChannel | None = None
        """Counts the calls of tools and keys beyond those that are learned."""
        self.callbacks: dict[tuple[int, int], Outbox] = {}
        """Of ``on_drift`` callables, by their identity."""
        self.dispatcher = Dispatcher(outboxes, self.callbacks)
        self.worker = None if interval is None else Worker(self.work, interval, self._start_sending)
        if self.worker is not None:
            self.dispatcher.wake = self.worker.wake
        self._store = store
        self._guard = guard
        self._outboxes = outboxes
        self._fallen = False
        self._closed = False
        self._retiring = False
        self._interval = interval
        self._begin()

    def _begin(self) -> None:
        self.making = threading.RLock()
        self._storing = NonReentrantLock()
        self._judging = NonReentrantLock()
        self._forking: set[int] = set()
        """The threads that fork, and hold the turn of judging meanwhile."""
        # no longer than the flushes are apart: an attempt is no more than each flush asks of a store that works
        interval = self._interval
        self._pause = Pause(_PAUSE_IN_CALLS if interval is None else max(_SHORTEST_PAUSE, interval))
        self._late: float | None = None
        """Seconds that calls after the last flush may still wait in vain; None before that."""
        self._writer = secrets.token_hex(8)
        self._decided = -1
        self._asked = 0.0
        """When the store was asked what it has not answered yet; 0 for nothing."""
        self._aside = 0.0
        self._tidied: float | None = None

    @property
    def store_state(self) -> str:
        """``ok``, ``retrying`` since the store failed or hangs, or ``memory`` where it cannot be used."""
        return "retrying" if self._pause.failures or self._hangs else "memory" if self._fallen else "ok"

    @property
    def _inside(self) -> bool:
        """Whether the thread that asks is in the middle of judging or saving, and must not wait for either."""
        return self._judging.mine or self._storing.mine

    @property
    def _hangs(self) -> bool:
        asked = self._asked
        return asked > 0 and time.monotonic() - asked > _HANGS

    def wake(self, channel: ToolChannel, *, hurry: bool = False) -> None:
        """There is something to judge of a track: by the worker soon, else now."""
        if self._late is not None:
            self._save_late(channel)
            return
        if self.worker is not None:
            self.worker.wake(hurry=hurry)
            if self._asked and self._hangs:
                self._judge_aside()
            return
        self.work(channels=[channel])
        self.send(time.monotonic())

    def flush(self, timeout: float) -> bool:
        """Judge, save and send what waits; False where something still waits after ``timeout``.

        False at once where the thread came back in: it is doing so already.
        """
        if self._inside:
            return False
        deadline = time.monotonic() + timeout
        self._work_now(timeout)
        return self.send(deadline) and not self._waits()

    def _work_now(self, timeout: float) -> None:
        """Have the worker do what is due, so that a store that hangs is left behind; else this thread."""
        self._pause.over()
        if self.worker is None or self.worker.flush(timeout) is None:
            self.work(timeout, now=True)

    def retire(self) -> None:
        """End the threads once nothing waits: nobody holds the monitor any more. Called by the garbage collector."""
        self._retiring = True
        if self._waits() and not self._closed:
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

    def ask(self, question: Callable[[Store], T]) -> T | None:
        """What the store answers; None where it is out of reach, or this thread is in the middle of using it."""
        if self._closed or self._inside or not self._reachable or not self._storing.acquire(_ASK_PATIENCE):
            return None
        try:
            return question(self._store)
        except Exception as error:  # noqa: BLE001 - a store may raise anything; what is known here has to do
            if isinstance(error, StoreUnreadable):
                self._guard.failed("using the store", error)
            else:
                self._failed(error)
            return None
        finally:
            self._storing.release()

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
        if not self._inside and self._storing.acquire(deadline - time.monotonic()):
            try:
                with self._guard("closing the store"):
                    self._store.close()
            finally:
                self._storing.release()

    def decide(
        self, action: Action, target: str, paths: tuple[str, ...], reason: str, who: str
    ) -> tuple[Decision, ...]:
        """Take a decision on an incident, or on all that are open of a tool; see ``Monitor.accept``."""
        self.flush(PATIENCE)
        if self._inside or not self._storing.acquire(PATIENCE):
            raise ToolPulseError(f"cannot {action} {target}: the monitor is busy")
        try:
            now = iso_time(time.time())
            taken = decide(self._store, action, target, paths, reason=reason, who=who, time=now)
        except ToolPulseError:
            raise
        except Exception as error:  # noqa: BLE001 - a store may raise anything, and its text may hold anything
            raise StoreError(f"cannot {action} {target}: {type(error).__name__} while using the store") from None
        finally:
            self._storing.release()
        self.flush(PATIENCE)
        return taken

    def drift(self, channel: ToolChannel, key: TallyKey, truncations: tuple[Truncation, ...]) -> DriftError | None:
        """What an observation that was just counted means, in the caller's thread; the error to raise, if any."""
        if self._inside or channel.counting:
            return None  # it came back in; whoever is at it judges this one as well
        if not channel.loaded and not channel.asked:
            self._load(channel)
        if not channel.loaded:
            return None
        if channel.live.learning:
            # what waits may end the warm-up, and this one come after it
            self._judge(channel, PATIENCE)
        if not self._judging.acquire(PATIENCE):
            return None
        try:
            tally, alike = channel.ask(key, truncations)
            found = [finding for finding in channel.live.preview(tally) if finding.risk is Risk.HIGH]
            high = tuple(finding for finding in found if channel.live.would_report(finding, alike))
        finally:
            self._judging.release()
        return DriftError(channel.live.tool, high) if high else None

    def work(
        self, timeout: float = PATIENCE, *, now: bool = False, channels: Sequence[ToolChannel] | None = None
    ) -> None:
        """Take a turn for all tracks that have something due, or for those of some, and hand on events.

        The worker's task. ``now``: however recent the store's last failure.
        """
        if self._inside:
            return
        deadline = time.monotonic() + timeout
        channels = list(self.channels.values()) if channels is None else channels
        if now:
            self._pause.over()
        if self._reachable and self._storing.acquire(timeout):
            try:
                failures = self._pause.failures
                self._asked = time.monotonic()
                self._heed()
                for channel in channels:
                    if channel.due and not channel.apart and self._reachable:
                        self._turn(channel)
                self._hand_on()
                if self._pause.failures == failures:
                    self._pause.worked()
            finally:
                self._asked = 0.0
                self._storing.release()
        for channel in channels:
            if channel.unasked and self._is_alone(channel):
                self._judge(channel, deadline - time.monotonic())
        if self.worker is not None:
            self.dispatcher.send_inline()
            if self._waits() or self._pause.failures or (self._watches_incidents() and not self._retiring):
                self.worker.wake()
            elif self._retiring:
                self._let_go()

    def _is_alone(self, channel: ToolChannel) -> bool:
        """Whether a track has to be judged in memory: what the store knows of it is known, or has been out of reach."""
        long_gone = self._pause.lasting >= _LONG_GONE
        return channel.apart or (not self._reachable and (channel.loaded or long_gone))

    @property
    def _reachable(self) -> bool:
        """Whether it is time to ask the store, as far as it is known."""
        return self._pause.left <= 0

    def _waits(self) -> bool:
        return self.dispatcher.waits or any(
            channel.due and not channel.apart for channel in self.channels.copy().values()
        )

    def _watches_incidents(self) -> bool:
        """Whether there is something that anybody may decide about meanwhile."""
        incident_logs = [channel.live.incident_log for channel in self.channels.copy().values()]
        return any(
            incident.status in ACTIVE
            for incident_log in incident_logs
            for incident in incident_log.incidents.copy().values()
        )

    def _heed(self) -> None:
        """Follow what somebody decided elsewhere."""
        try:
            decided = self._store.decided()
        except Exception as error:  # noqa: BLE001 - asked again later
            self._failed(error)
            return
        if decided != self._decided:
            loaded = [channel for channel in self.channels.copy().values() if channel.loaded]
            if all(self._turn(channel) for channel in loaded):
                self._decided = decided
            self._hand_on(claim=True)

    def _turn(self, channel: ToolChannel) -> bool:
        """One transaction: follow what the store knows, judge what is due, save it. False where the store failed."""
        live = channel.live
        events: list[DriftEvent] = []
        after: Snapshot | None = None
        self._asked = time.monotonic()
        try:
            with self._store.transaction(live.tool, live.key, self._writer) as transaction:
                if not self._judging.acquire(PATIENCE):
                    return False
                try:
                    arrived = channel.follow(transaction.now, transaction.saved)
                    if channel.due and not channel.counting:
                        with self._guard("judging"):
                            events = channel.take()
                        self._count_faults(channel)
                        after = live.snapshot()
                finally:
                    self._judging.release()
                self.dispatcher.saved(arrived)
                self._tell(channel, events)
                if after is not None:
                    transaction.save(after, events, channel.number, claimed=bool(self._outboxes))
        except StoreUnreadable as error:
            self._guard.failed("using the store", error)
            channel.apart = channel.loaded = True
            return True
        except Exception as error:  # noqa: BLE001 - what was counted is kept, and this is tried again
            self._failed(error)
            return False
        channel.apart = False
        self._pause.worked()
        if after is not None and self._judging.acquire(PATIENCE):
            try:
                channel.arrived(after)
            finally:
                self._judging.release()
        self.dispatcher.saved(events)
        return True

    def _load(self, channel: ToolChannel) -> None:
        """Have the store asked what it knows of a track, once, before that is judged in its caller's thread."""
        channel.asked = True
        if self.worker is None:
            self.work(channels=[channel])
        else:
            self.worker.wake(hurry=True)
            self.worker.flush(_LOAD_PATIENCE)

    def _judge_aside(self) -> None:
        """Judge in memory, in a thread of its own, while the worker waits for a store that hangs; once a second."""
        if time.monotonic() - self._aside > 1:
            self._aside = time.monotonic()
            with suppress(RuntimeError):  # the interpreter is ending
                threading.Thread(target=self._judge_loaded, name="toolpulse aside", daemon=True).start()

    def _judge_loaded(self) -> None:
        for channel in self.channels.copy().values():
            if channel.loaded and channel.unasked:
                self._judge(channel, PATIENCE)

    def _judge(self, channel: ToolChannel, timeout: float) -> None:
        """Judge beside the store, in memory."""
        if channel.counting or not self._judging.acquire(timeout):
            return
        events: list[DriftEvent] = []
        try:
            with self._guard("judging"):
                events = channel.judge()
            self._count_faults(channel)
        finally:
            self._judging.release()
        self._tell(channel, events)

    def _count_faults(self, channel: ToolChannel) -> None:
        for error in channel.faults():
            self._guard.failed("judging", error)

    def _tell(self, channel: ToolChannel | None, events: Sequence[DriftEvent]) -> None:
        for event in events:
            self.dispatcher.tell(event, channel.callback if channel else None)

    def _hand_on(self, *, claim: bool = False) -> None:
        """Tell the store what was sent, and take over what nobody is about to send."""
        try:
            self.dispatcher.settle(self._store, self._writer)
            claimed = self.dispatcher.claim(self._store, self._writer, now=claim)
            for event in claimed:
                self._tell(self.channels.get((event.tool, event.key)), [event])
            self.dispatcher.saved(claimed)
            if self._tidied is None or time.monotonic() - self._tidied > _TIDY_EVERY:
                self._tidied = time.monotonic()
                self._store.tidy()
        except Exception as error:  # noqa: BLE001 - tried again
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._pause.failed()
        self._guard.failed("using the store", error)
        if isinstance(error, StoreUnusable):
            self._fall_back()

    def _fall_back(self) -> None:
        """Go on in memory with what is known."""
        memory = MemoryStore()
        for channel in self.channels.copy().values():
            if channel.loaded and self._judging.acquire(PATIENCE):
                try:
                    with memory.transaction(channel.live.tool, channel.live.key, self._writer) as transaction:
                        transaction.save(channel.settle())
                finally:
                    self._judging.release()
        before, self._store, self._fallen = self._store, memory, True
        self._pause.worked()
        with self._guard("closing the store"):
            before.close()

    def _start_sending(self) -> None:
        for outbox in self.dispatcher.senders:
            outbox.start()

    def send(self, deadline: float) -> bool:
        """Have all events sent, and say so to the store; False where some are left."""
        sent = self.dispatcher.send(deadline)
        if self.dispatcher.waits and self._reachable and self._storing.acquire(deadline - time.monotonic()):
            try:
                self._hand_on()
            finally:
                self._storing.release()
        return sent

    @property
    def waits(self) -> bool:
        """Whether there is anything to save or to send."""
        return self._waits() or any(outbox.waiting for outbox in self.dispatcher.senders)

    def flush_at_exit(self, timeout: float) -> None:
        """Flush by the worker, so that a store or a sink that hangs is left behind."""
        deadline = time.monotonic() + timeout
        rounds = _LAST_ROUNDS
        while self._waits():
            self._work_now(deadline - time.monotonic())
            rounds -= not self._pause.failures
            # there is no later attempt
            if not self._waits() or not rounds or time.monotonic() + _LAST_PAUSE > deadline:
                break
            if self._pause.failures:
                time.sleep(_LAST_PAUSE)
        self.send(deadline)

    def ends(self) -> None:
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
        if channel.saved < counted and not channel.apart:
            self._late = max(0.0, (self._late or 0.0) - (time.monotonic() - begun))
            self._guard.failed("the process ends", StoreError("a call after the last flush could not be saved"))

    def before_fork(self) -> None:
        """Let no child be born in the middle of a judgement."""
        if self._judging.acquire(_FORK_PATIENCE):
            self._forking.add(threading.get_ident())

    def after_fork_in_parent(self) -> None:
        """Go on judging."""
        if threading.get_ident() in self._forking:
            self._forking.discard(threading.get_ident())
            self._judging.release()

    def after_fork(self) -> None:
        """In a child: threads are gone, locks may be held by nobody, and what waits is the parent's to flush."""
        self._begin()
        self._guard.after_fork()
        self.dispatcher.after_fork()
        with self._guard("using the store"):
            self._store.after_fork()
        for outbox in self.dispatcher.senders:
            outbox.after_fork()
        for channel in (*self.channels.values(), *filter(None, [self.beyond])):
            channel.after_fork()
        if self.worker is not None:
            self.worker.after_fork()
