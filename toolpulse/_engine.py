"""The engine of a monitor: loading, judging, saving and sending what its callers counted, and decisions.

A worker thread drives it, or ``observe`` itself where there is none. Locks are always taken in this order: storing,
judging; nobody does I/O while judging.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from toolpulse._guard import Guard
from toolpulse._outbox import Outbox, Pause
from toolpulse._track import Track, iso_time
from toolpulse._worker import Turn, Worker
from toolpulse.errors import ConfigurationError, DriftError, ToolPulseError
from toolpulse.events import DriftEvent
from toolpulse.incident import ACTIVE, Action, Decision
from toolpulse.risk import Risk
from toolpulse.stores.base import Snapshot, Store
from toolpulse.tally import RowKey

PATIENCE: Final = 10.0
"""Seconds ``flush`` and ``close`` wait for what is under way, and for sinks."""

_FORK_PATIENCE: Final = 1.0
"""Seconds a fork waits for a judgement that is under way; it takes no I/O."""


class Engine:
    """Works for the tracks it is given; ``interval`` seconds apart in a thread, or when asked where that is None."""

    def __init__(self, store: Store, guard: Guard, outboxes: tuple[Outbox, ...], interval: float | None) -> None:
        self.tracks: dict[tuple[str, str], Track] = {}
        self.callbacks: dict[tuple[int, int], Outbox] = {}
        """Of ``on_drift`` callables, by their identity."""
        self.worker = None if interval is None else Worker(self.work, interval, self._start_sending)
        self._store = store
        self._guard = guard
        self._outboxes = outboxes
        self._unsaved: set[tuple[str, str]] = set()
        self._store_pause = Pause()
        self._closed = False
        self._locks()

    def _locks(self) -> None:
        self.making = threading.RLock()
        self._storing = Turn()
        self._judging = Turn()
        self._forking = False

    @property
    def threads(self) -> tuple[Worker | None, tuple[Outbox, ...], dict[tuple[int, int], Outbox]]:
        """What ``let_go`` ends."""
        return self.worker, self._outboxes, self.callbacks

    @property
    def store_state(self) -> str:
        """``ok``, or ``retrying`` since the store failed."""
        return "retrying" if self._store_pause.failures else "ok"

    def wake(self, track: Track, *, hurry: bool = False) -> None:
        """There is something to judge of a track: by the worker soon, else now."""
        if self.worker is not None:
            self.worker.wake(hurry=hurry)
            return
        self.work(tracks=[track])
        self.send(time.monotonic())

    def flush(self, timeout: float) -> bool:
        """Judge, save and send what waits, in this thread; False where something still waits after ``timeout``."""
        deadline = time.monotonic() + timeout
        self.work(timeout, now=True)
        return self.send(deadline) and not self._waits()

    def close(self, deadline: float) -> None:
        """End the worker, close sinks and store; what does not come back by ``deadline`` is left behind."""
        if self._closed:
            return
        self._closed = True
        if self.worker is not None:
            self.worker.stop()
        outboxes = self.senders()
        for outbox in outboxes:
            outbox.close()
        for outbox in outboxes:
            outbox.join(deadline - time.monotonic())
        if self._storing.take(deadline - time.monotonic()):
            try:
                with self._guard("closing the store"):
                    self._store.close()
            finally:
                self._storing.give()

    def decide(
        self, action: Action, target: str, paths: tuple[str, ...], reason: str, who: str
    ) -> tuple[Decision, ...]:
        """Take a decision on an incident, or on all that are open of a tool; see ``Monitor.accept``."""
        self.flush(PATIENCE)
        if not self._judging.take(PATIENCE):
            raise ToolPulseError(f"cannot {action} {target}: the monitor is busy")
        try:
            found = self._targets(target)
            if paths and len(found) > 1:
                raise ConfigurationError(f"{target} has {len(found)} incidents; paths pick changes of one, by its id")
            taken: list[Decision] = []
            for track, name in found:
                taken += self._decided(track, action, name, paths, reason, who)
        finally:
            self._judging.give()
        self.flush(PATIENCE)
        return tuple(taken)

    def _decided(
        self, track: Track, action: Action, name: str, paths: tuple[str, ...], reason: str, who: str
    ) -> list[Decision]:
        book = track.live.book
        known = set(book.decisions)
        event = track.live.decide(action, name, paths, reason=reason, who=who, time=iso_time(time.time()))
        self._unsaved.add((track.live.tool, track.live.key))
        if event is not None:
            self._tell(track, event)
        return [decision for key, decision in book.decisions.items() if key not in known]

    def _targets(self, target: str) -> list[tuple[Track, str]]:
        tracks = list(self.tracks.values())
        named = [(track, target) for track in tracks if target in track.live.book.incidents]
        of_tool = [
            (track, incident.id)
            for track in tracks
            if track.live.tool == target
            for incident in track.live.book.incidents.values()
            if incident.status in ACTIVE | {"resolved"} and incident.risk.is_news
        ]
        if not named and not any(track.live.tool == target for track in tracks):
            raise ConfigurationError(f"{target!r} is neither an incident nor a tool that was watched")
        return named or of_tool

    def drift(self, track: Track, key: RowKey) -> DriftError | None:
        """Judge in the caller's thread; the error to raise, if any."""
        if not track.loaded:
            self._load([track], PATIENCE, now=False)
        self._judge([track], PATIENCE)
        book = track.live.book
        found = [finding for finding in track.live.findings_of(key) if finding.risk is Risk.HIGH]
        # what waits to be confirmed, or was muted, stops nobody
        incidents = [book.incidents.get(name) for name in book.of(found)]
        told = {incident.id for incident in incidents if incident and incident.status not in {"pending", "ignored"}}
        high = tuple(finding for finding in found if book.of((finding,)) & told)
        return DriftError(track.live.tool, high) if high else None

    def work(self, timeout: float = PATIENCE, *, now: bool = False, tracks: Sequence[Track] | None = None) -> None:
        """Load, judge and save what is due, of all tracks or of some; the worker's task.

        ``now``: however recent the store's last failure.
        """
        deadline = time.monotonic() + timeout
        tracks = list(self.tracks.values()) if tracks is None else tracks
        self._load([track for track in tracks if not track.loaded], timeout, now=now)
        self._judge(tracks, deadline - time.monotonic())
        self._save(deadline - time.monotonic(), now=now)
        if self.worker is not None:
            for outbox in self.senders():
                if not outbox.threaded:
                    outbox.send(0)
            if self._waits():
                self.worker.wake()

    def _waits(self) -> bool:
        return bool(self._unsaved) or any(track.due for track in self.tracks.copy().values())

    def _load(self, tracks: Sequence[Track], timeout: float, *, now: bool) -> None:
        """Ask the store what it knows of tracks seen for the first time."""
        if not tracks or not (now or self._store_pause.left <= 0) or not self._storing.take(timeout):
            return
        try:
            for track in tracks:
                if track.loaded:
                    continue
                known = self._store.load(track.live.tool, track.live.key)
                self._store_pause.worked()
                if self._judging.take(PATIENCE):
                    try:
                        track.restore(known)
                    finally:
                        self._judging.give()
        except Exception as error:  # noqa: BLE001 - what waits is kept, and this is tried again
            self._store_failed("loading from the store", error)
        finally:
            self._storing.give()

    def _judge(self, tracks: Sequence[Track], timeout: float) -> None:
        if not any(track.due and track.loaded for track in tracks) or not self._judging.take(timeout):
            return
        try:
            for track in tracks:
                if track.due and track.loaded:
                    self._unsaved.add((track.live.tool, track.live.key))
                    with self._guard("judging"):
                        for event in track.judge():
                            self._tell(track, event)
        finally:
            self._judging.give()

    def _tell(self, track: Track, event: DriftEvent) -> None:
        for outbox in self._outboxes:
            outbox.put(event)
        if track.callback is not None and event.status != "learned":
            track.callback(event)

    def _save(self, timeout: float, *, now: bool) -> None:
        if not self._unsaved or not (now or self._store_pause.left <= 0) or not self._storing.take(timeout):
            return
        try:
            while (taken := self._next_unsaved()) is not None:
                tool, key, snapshot = taken
                try:
                    self._store.save(tool, key, snapshot)
                except Exception as error:  # noqa: BLE001 - kept, and tried again
                    self._unsaved.add((tool, key))
                    self._store_failed("saving to the store", error)
                    return
                except BaseException:
                    self._unsaved.add((tool, key))
                    raise
                self._store_pause.worked()
        finally:
            self._storing.give()

    def _next_unsaved(self) -> tuple[str, str, Snapshot] | None:
        if not self._judging.take(PATIENCE):
            return None
        try:
            if not self._unsaved:
                return None
            tool, key = self._unsaved.pop()
            return tool, key, self.tracks[tool, key].snapshot()
        finally:
            self._judging.give()

    def _store_failed(self, place: str, error: Exception) -> None:
        self._store_pause.failed()
        self._guard.failed(place, error)

    def senders(self) -> tuple[Outbox, ...]:
        """The queues of all sinks and callables."""
        return (*self._outboxes, *self.callbacks.copy().values())

    def _start_sending(self) -> None:
        for outbox in self.senders():
            outbox.start()

    def send(self, deadline: float) -> bool:
        """Have all events sent; False where some are left."""
        sent = [outbox.send(deadline - time.monotonic()) for outbox in self.senders()]
        return all(sent)

    def flush_at_exit(self, timeout: float) -> None:
        """Flush by the worker, so that a store or a sink that hangs is left behind."""
        deadline = time.monotonic() + timeout
        if self.worker is None or self.worker.flush(timeout) is None:
            self.work(timeout, now=True)
        self.send(deadline)

    def before_fork(self) -> None:
        """Let no child be born in the middle of a judgement."""
        self._forking = self._judging.take(_FORK_PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Go on judging."""
        if self._forking:
            self._forking = False
            self._judging.give()

    def after_fork(self) -> None:
        """In a child: threads are gone, locks may be held by nobody, and what waits is the parent's to flush."""
        self._locks()
        self._unsaved.clear()
        self._store_pause = Pause()
        self._guard.after_fork()
        for outbox in self.senders():
            outbox.after_fork()
        for track in self.tracks.values():
            track.after_fork()
        if self.worker is not None:
            self.worker.after_fork()


def let_go(worker: Worker | None, outboxes: tuple[Outbox, ...], callbacks: dict[tuple[int, int], Outbox]) -> None:
    """End the threads of a monitor that is gone."""
    if worker is not None:
        worker.stop()
    for outbox in (*outboxes, *callbacks.values()):
        outbox.stop()
