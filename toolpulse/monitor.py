"""Monitor: where the pure rooms meet threads, clocks, stores and sinks.

In the caller's thread a response is unwrapped, walked and counted. Judging and the store are the worker's, and each
sink has a thread of its own. What goes wrong while observing is swallowed, counted, and told by ``health``.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, overload

from toolpulse import _settings
from toolpulse._guard import Guard
from toolpulse._keys import MOST_KEYS, OTHER_KEY, as_text
from toolpulse._outbox import Outbox, Pause
from toolpulse._settings import OnDrift, Settings
from toolpulse._switch import switch
from toolpulse._track import Health, Track, iso_time, tool_health
from toolpulse._worker import Turn, Worker, look_after
from toolpulse.baseline import Baseline
from toolpulse.consumer import DEFAULT, Consumer
from toolpulse.errors import ConfigurationError, DriftError, ToolPulseError
from toolpulse.events import DriftEvent
from toolpulse.incident import ACTIVE, Action, Decision, Incident
from toolpulse.live import Live
from toolpulse.risk import Risk
from toolpulse.shape import DEFAULT_LIMITS, Limits, Observation
from toolpulse.sinks.base import Sink
from toolpulse.stores import open_store
from toolpulse.stores.base import Snapshot, Store
from toolpulse.stream import StreamRecord
from toolpulse.tally import RowKey, places
from toolpulse.unwrap import unwrap
from toolpulse.watch import Outcome

T = TypeVar("T")

_PATIENCE: Final = 10.0
"""Seconds ``flush`` and ``close`` wait for what is under way, and for sinks."""

_FORK_PATIENCE: Final = 1.0
"""Seconds a fork waits for a judgement that is under way; it takes no I/O."""


class Monitor:
    """Watches tools, learns their responses' shapes and tells sinks what changed.

    ``store``: a URL (``memory:``) or a Store. ``sinks``: objects with ``emit(event)``; structlog without any named.
    ``consumers``: who reads the tools. ``baselines``: sealed baselines by tool name; what they know is fixed, and
    responses are read as they say. ``confirm``: how many observations must show an incident before it is told of, no 20
    observations apart where it is about a field or a value that is missing; what is not confirmed is taken for ordinary
    variation then.
    ``limits``: how much of a response is looked at. ``background=False`` judges and sends inside ``observe``, for tests
    and for processes that freeze between calls; else a worker judges, at most every ``flush_interval`` seconds.
    ``on_drift``: ``"log"``, a callable that takes the event as well (of all but ``learned``), or ``"raise"``: judged in
    the caller's thread, DriftError at ``high``.

    Raises ConfigurationError naming the setting that is wrong. ``observe`` and watched calls raise nothing of ours but
    that DriftError.
    """

    def __init__(
        self,
        store: str | Store = "memory:",
        *,
        sinks: Sequence[Sink] | None = None,
        consumers: Sequence[Consumer] = (),
        baselines: Mapping[str, Baseline] | None = None,
        confirm: int = 1,
        limits: Limits = DEFAULT_LIMITS,
        background: bool = True,
        flush_interval: float = 1.0,
        on_drift: OnDrift = "log",
    ) -> None:
        store = _settings.check_store(store)
        self._guard = Guard()
        self._outboxes = self._outboxes_of(_default_sinks() if sinks is None else _settings.check_sinks(sinks))
        self._consumers = _settings.check_consumers(consumers)
        self._baselines = _settings.check_baselines({} if baselines is None else baselines)
        self._confirm = _settings.check_confirm(confirm)
        self._limits = limits
        self._on_drift = _settings.check_on_drift(on_drift)
        self._default = self.settings_for({})
        interval = _settings.check_interval(flush_interval)
        self._worker = (
            Worker(self._work, interval, self._start_sending) if _settings.check_background(background) else None
        )
        self._tracks: dict[tuple[str, str], Track] = {}
        self._keys: Counter[str] = Counter()
        self._callbacks: dict[int, Outbox] = {}
        self._unsaved: set[tuple[str, str]] = set()
        self._store_pause = Pause()
        self._closed = False
        self._locks()
        self._store = open_store(store) if isinstance(store, str) else store
        weakref.finalize(self, _let_go, self._worker, self._outboxes, self._callbacks).atexit = False
        look_after(self)

    def _locks(self) -> None:
        """Always taken in this order: storing, judging."""
        self._making = threading.RLock()
        self._storing = Turn()
        self._judging = Turn()
        self._forking = False

    def _outboxes_of(self, sinks: Sequence[Sink]) -> tuple[Outbox, ...]:
        kinds = [type(sink).__name__ for sink in sinks]
        names = [kind if kind not in kinds[:index] else f"{kind} {index + 1}" for index, kind in enumerate(kinds)]
        return tuple(Outbox(name, sink, self._guard) for name, sink in zip(names, sinks, strict=True))

    @overload
    def watch(self, target: T, /) -> T: ...

    @overload
    def watch(
        self,
        /,
        *,
        tool: str | None = None,
        key: str | Callable[..., object] | None = None,
        consumers: Sequence[Consumer | str] = (),
        maps: Sequence[str] = (),
        records: Sequence[str] = (),
        limits: Limits | None = None,
        unwrap: str = "auto",
        on_drift: OnDrift | None = None,
    ) -> Callable[[T], T]: ...

    def watch(self, target: Any = None, /, **options: Any) -> Any:
        """Watch a tool; use it as ``@monitor.watch`` or ``@monitor.watch(...)``. See ``toolpulse.watch``."""
        from toolpulse._probe import decorator

        return decorator(target, options, _Own(self), self)

    def observe(self, tool: str, response: object, *, key: str | None = None, unwrap: str = "auto") -> None:
        """Take one response of a tool that is not decorated. ``key`` names the variant of the call.

        Raises ConfigurationError for a bad ``tool`` or ``unwrap``; nothing for any response, unless
        ``on_drift="raise"``.
        """
        _settings.check_tool(tool)
        settings = _settings.with_unwrap(self._default, unwrap)
        if not switch.on:
            return
        try:
            self.take(self.track(tool, "" if key is None else as_text(key), settings), settings, response)
        except DriftError:
            raise
        except Exception as error:  # noqa: BLE001 - whoever observes must not notice
            self._guard.failed("observing a response", error)

    def incidents(self, tool: str | None = None) -> tuple[Incident, ...]:
        """The incidents of a tool, or of all; the newest last."""
        tracks = [track for (name, _), track in self._tracks.copy().items() if tool in (None, name)]
        found = [incident for track in tracks for incident in track.live.book.incidents.copy().values()]
        return tuple(sorted(found, key=lambda incident: (incident.first_time, incident.opened, incident.id)))

    def decisions(self, tool: str | None = None) -> tuple[Decision, ...]:
        """The audit trail of a tool, or of all: every decision in the order it was taken."""
        tracks = [track for (name, _), track in self._tracks.copy().items() if tool in (None, name)]
        found = [decision for track in tracks for decision in track.live.book.decisions.copy().values()]
        return tuple(sorted(found, key=lambda decision: decision.time))

    def accept(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Accept an incident by its id, or all that are open of a tool by its name; ``paths`` picks changes of one.

        What was held for it teaches now. Gives the decisions taken, none where they were taken before. Raises
        ConfigurationError for a target or a path that is not there.
        """
        return self._decide("accept", target, paths, reason, who)

    def reject(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Keep an incident out of the baseline for good: it is a break. As ``accept`` otherwise."""
        return self._decide("reject", target, paths, reason, who)

    def ignore(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Mute an incident: it is counted, does not teach, and is told of no more. As ``accept`` otherwise."""
        return self._decide("ignore", target, paths, reason, who)

    def _decide(
        self, action: Action, target: str, paths: tuple[str, ...], reason: str, who: str
    ) -> tuple[Decision, ...]:
        self.flush()
        if not self._judging.take(_PATIENCE):
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
        self.flush()
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
        tracks = list(self._tracks.values())
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

    def flush(self, timeout: float = _PATIENCE) -> bool:
        """Judge what waits in this thread, save it, and have it sent; gives up after ``timeout`` seconds.

        False where something still waits: the store or a sink failed, or was too slow.
        """
        deadline = time.monotonic() + timeout
        self._work(timeout, now=True)
        return self._send(deadline) and not self._waits()

    def close(self, timeout: float = _PATIENCE) -> None:
        """Flush, end the worker, close sinks and store; leaves behind what does not come back in ``timeout`` seconds.

        What is observed later is counted, and waits for a flush.
        """
        deadline = time.monotonic() + timeout
        self.flush(timeout)
        if self._closed:
            return
        self._closed = True
        if self._worker is not None:
            self._worker.stop()
        outboxes = self._senders()
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def health(self) -> Health:
        """How everything is doing, by tool and by sink."""
        tracks = sorted(self._tracks.copy().items())
        by_tool: dict[str, list[Track]] = {}
        for (tool, _), track in tracks:
            by_tool.setdefault(tool, []).append(track)
        swallowed = self._guard.swallowed
        return Health(
            tools={tool: tool_health(of_tool) for tool, of_tool in by_tool.items()},
            swallowed=sum(swallowed.values()),
            swallowed_by=swallowed,
            store="retrying" if self._store_pause.failures else "ok",
            waiting=sum(track.waiting for _, track in tracks),
            sinks={outbox.name: outbox.state for outbox in self._senders()},
        )

    def settings_for(self, options: Mapping[str, Any], function: Any = None) -> Settings:
        """The settings that options of ``watch`` give. Raises ConfigurationError naming the option."""
        return _settings.settings_of(options, function, self._limits, self._on_drift, self._consumers)

    def track(self, tool: str, key: str, settings: Settings) -> Track:
        """Where the calls of a tool (and key) are counted; the settings of the first call are the tool's."""
        track = self._tracks.get((tool, key))
        return track if track is not None else self._new_track(tool, key, settings)

    def _new_track(self, tool: str, key: str, settings: Settings) -> Track:
        with self._making:
            if (tool, key) not in self._tracks and key and self._keys[tool] >= MOST_KEYS:
                key = OTHER_KEY
            track = self._tracks.get((tool, key))
            if track is None:
                sealed = self._baselines.get(tool)
                readers = settings.consumers or self._readers(tool, settings.function)
                readers = readers or (sealed.consumers if sealed else ()) or (DEFAULT,)
                # a walk of its own: what it remembers of keys goes when they are found to be data
                walker = settings.walker.with_maps(frozenset(), frozenset())
                live = Live(tool, key, walker, readers, sealed, self._confirm)
                callback = self._callback(tool, settings.on_drift)
                track = Track(live, sealed.unwrap if sealed else None, callback.put if callback else None)
                self._tracks[tool, key] = track
                self._keys[tool] += bool(key)
            return track

    def _readers(self, tool: str, function: Any) -> tuple[Consumer, ...]:
        """The monitor's consumers that read a tool."""
        found = []
        for consumer in self._consumers:
            if consumer.reads(tool):
                found.append(consumer)
                with self._guard(f"reading the annotation of {tool}"):
                    found[-1] = consumer.for_function(function)
        return tuple(found)

    def _callback(self, tool: str, on_drift: OnDrift) -> Outbox | None:
        if isinstance(on_drift, str):
            return None
        outbox = self._callbacks.get(id(on_drift))
        if outbox is None:
            name = "on_drift" if on_drift is self._on_drift else f"on_drift of {tool}"
            # one attempt an event: it is the application's code, and an error in it will not go away
            outbox = Outbox(name, _Callback(on_drift), self._guard, retries=False)
            self._callbacks[id(on_drift)] = outbox
            if self._worker is not None:
                outbox.start()
        return outbox

    def take(self, track: Track, settings: Settings, response: object) -> None:
        """Reduce and count one response. Swallows whatever goes wrong; DriftError where it was asked for."""
        broken: tuple[str, ...] = ()
        try:
            seen = track.live.walker.observe(response, track.unwrap or settings.unwrap)
            if track.asserts and seen.outcome != "error":
                payload = unwrap(response, track.unwrap or settings.unwrap).value
                broken = tuple(name for consumer in track.live.consumers for name in consumer.broken(payload))
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            track.record_unseen()
            self._guard.failed("observing a response", error)
            return
        self.finish(track, settings, seen, broken)

    def finish(self, track: Track, settings: Settings, seen: Observation, broken: tuple[str, ...] = ()) -> None:
        """Count what was seen, and judge it now where that was asked for."""
        if seen.outcome == "error":
            self.count_error(track, "result")
            return
        hurry = track.record(seen, broken)
        drift = (
            self._drift(track, RowKey(seen.shape, seen.encoding, places(seen.truncations), broken))
            if settings.on_drift == "raise"
            else None
        )
        self._wake(hurry=hurry)
        if drift is not None:
            raise drift

    def _wake(self, *, hurry: bool = False) -> None:
        if self._worker is not None:
            self._worker.wake(hurry=hurry)
            return
        self._work()
        self._send(time.monotonic())

    def stream(self, track: Track, settings: Settings) -> StreamRecord:
        """The record of one stream; give it to ``end_stream``."""
        return StreamRecord(track.live.walker, track.unwrap or settings.unwrap)

    def end_stream(
        self, track: Track, settings: Settings, record: StreamRecord, outcome: Outcome, error: BaseException | None
    ) -> None:
        """Count a stream that ended: as a response, as an error, or as unjudged where it was not seen."""
        if outcome == "raised":
            self.count_error(track, type(error).__qualname__)
            return
        seen = record.observation(complete=outcome == "complete")
        if seen is None:
            track.record_unseen()
            return
        self.finish(track, settings, seen)

    def count_error(self, track: Track, kind: str) -> None:
        """Count a call that failed, by the type of its exception."""
        track.record_error(kind)
        self._wake()

    def failed(self, place: str, error: Exception) -> None:
        """Count something that went wrong while observing, and log the first of its kind."""
        self._guard.failed(place, error)

    def _drift(self, track: Track, key: RowKey) -> DriftError | None:
        """Judge in the caller's thread; the error to raise, if any."""
        if not track.loaded:
            self._load([track], _PATIENCE, now=False)
        self._judge([track], _PATIENCE)
        book = track.live.book
        found = [finding for finding in track.live.findings_of(key) if finding.risk is Risk.HIGH]
        # what waits to be confirmed, or was muted, stops nobody
        incidents = [book.incidents.get(name) for name in book.of(found)]
        told = {incident.id for incident in incidents if incident and incident.status not in {"pending", "ignored"}}
        high = tuple(finding for finding in found if book.of((finding,)) & told)
        return DriftError(track.live.tool, high) if high else None

    def _work(self, timeout: float = _PATIENCE, *, now: bool = False) -> None:
        """Load, judge and save what is due; the worker's task. ``now``: however recent the store's last failure."""
        deadline = time.monotonic() + timeout
        tracks = list(self._tracks.values())
        self._load([track for track in tracks if not track.loaded], timeout, now=now)
        self._judge(tracks, deadline - time.monotonic())
        self._save(deadline - time.monotonic(), now=now)
        if self._worker is not None:
            for outbox in self._senders():
                if not outbox.threaded:
                    outbox.send(0)
            if self._waits():
                self._worker.wake()

    def _waits(self) -> bool:
        return bool(self._unsaved) or any(track.due for track in self._tracks.copy().values())

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
                if self._judging.take(_PATIENCE):
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
        if not self._judging.take(_PATIENCE):
            return None
        try:
            if not self._unsaved:
                return None
            tool, key = self._unsaved.pop()
            return tool, key, self._tracks[tool, key].snapshot()
        finally:
            self._judging.give()

    def _store_failed(self, place: str, error: Exception) -> None:
        self._store_pause.failed()
        self._guard.failed(place, error)

    def _senders(self) -> tuple[Outbox, ...]:
        return (*self._outboxes, *self._callbacks.copy().values())

    def _start_sending(self) -> None:
        for outbox in self._senders():
            outbox.start()

    def _send(self, deadline: float) -> bool:
        """Have all events sent; False where some are left."""
        sent = [outbox.send(deadline - time.monotonic()) for outbox in self._senders()]
        return all(sent)

    def flush_at_exit(self, timeout: float) -> None:
        """Flush by the worker, so that a store or a sink that hangs is left behind."""
        deadline = time.monotonic() + timeout
        if self._worker is None or self._worker.flush(timeout) is None:
            self._work(timeout, now=True)
        self._send(deadline)

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
        for outbox in self._senders():
            outbox.after_fork()
        for track in self._tracks.values():
            track.after_fork()
        if self._worker is not None:
            self._worker.after_fork()


def _let_go(worker: Worker | None, outboxes: tuple[Outbox, ...], callbacks: dict[int, Outbox]) -> None:
    """End the threads of a monitor that is gone."""
    if worker is not None:
        worker.stop()
    for outbox in (*outboxes, *callbacks.values()):
        outbox.stop()


class _Own:
    """The source of a probe that reports to one monitor. The monitor lives as long as a tool that it watches."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def monitor(self) -> Monitor:
        return self._monitor

    def check(self, options: Mapping[str, Any]) -> None:
        self._monitor.settings_for(options)


class _Callback:
    """A callable of ``on_drift`` as a sink."""

    def __init__(self, function: Callable[[DriftEvent], object]) -> None:
        self._function = function

    def emit(self, event: DriftEvent) -> None:
        self._function(event)


def _default_sinks() -> tuple[Sink, ...]:
    from toolpulse.sinks.logs import LogSink

    return (LogSink(),)
