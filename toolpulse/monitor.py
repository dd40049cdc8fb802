"""Monitor: where the pure rooms meet threads, clocks, stores and sinks.

In the caller's thread a response is unwrapped, walked and counted. Judging, sinks and the store are the worker's.
What goes wrong while observing is swallowed, counted, and told by ``health``.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, overload

import msgspec

from toolpulse._guard import Guard
from toolpulse._keys import MOST_KEYS, OTHER_KEY, as_text
from toolpulse._outbox import Outbox
from toolpulse._settings import OnDrift, Settings
from toolpulse._switch import switch
from toolpulse._track import Track
from toolpulse._worker import Worker, look_after
from toolpulse.baseline import Baseline
from toolpulse.consumer import DEFAULT, Consumer
from toolpulse.errors import ConfigurationError, DriftError
from toolpulse.events import DriftEvent
from toolpulse.live import Live
from toolpulse.risk import Risk, worst
from toolpulse.shape import DEFAULT_LIMITS, Limits, Observation, Walker
from toolpulse.sinks.base import Sink
from toolpulse.stores import open_store
from toolpulse.stores.base import Snapshot, Store
from toolpulse.stream import StreamRecord
from toolpulse.unwrap import MODES
from toolpulse.watch import Outcome

T = TypeVar("T")

_PATIENCE: Final = 10.0
"""Seconds ``flush`` and ``close`` wait for a flush that is under way."""


class ToolHealth(msgspec.Struct, frozen=True):
    """How one tool is doing."""

    calls: int
    """Calls that ended, failed ones included."""
    errors: int
    """Calls that raised, or whose result said it is an error."""
    state: str
    """``learning`` until ten observations taught, then ``watching``."""
    shapes: int
    """Distinct shapes known."""
    incidents: int
    """Incidents told of and open."""
    keys: int = 1
    """Variants of its calls."""
    error_types: dict[str, int] = {}
    unjudged: int = 0
    """Calls whose response could not be looked at, or came while too many shapes waited."""


class Health(msgspec.Struct, frozen=True):
    """How a monitor is doing. Reading it waits for nothing."""

    tools: dict[str, ToolHealth]
    swallowed: int
    """Errors that were kept from the watched tools."""
    swallowed_by: dict[str, int]
    """The same by place and type."""
    store: str
    """``ok``, or ``retrying`` since the last save failed."""
    waiting: int
    """Observations not yet judged."""
    sinks: dict[str, str]
    """By sink ``ok``, ``failing`` or ``busy``, and how many events were dropped."""


class Monitor:
    """Watches tools, learns their responses' shapes and tells sinks what changed.

    ``store``: a URL (``memory:``) or a Store. ``sinks``: objects with ``emit(event)``; structlog without any named.
    ``consumers``: who reads the tools. ``baselines``: sealed baselines by tool name; what they know is fixed.
    ``confirm``: how many observations must show an incident before it is told of. ``limits``: how much of a response is
    looked at. ``background=False`` judges inside ``observe``, for tests and for processes that freeze between calls;
    else a worker does, at most every ``flush_interval`` seconds. ``on_drift``: ``"log"``, a callable that takes the
    event as well, or ``"raise"``: judged in the caller's thread, DriftError at ``high``.

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
        self._store = open_store(store) if isinstance(store, str) else store
        self._outboxes = _outboxes(_default_sinks() if sinks is None else sinks)
        self._consumers = _consumers(consumers)
        self._baselines = _baselines(baselines or {})
        self._confirm = _positive("confirm", confirm)
        self._limits = limits
        self._on_drift = _on_drift(on_drift)
        self._guard = Guard()
        self._tracks: dict[tuple[str, str], Track] = {}
        self._keys: Counter[str] = Counter()
        self._making = threading.Lock()
        self._judging = threading.RLock()
        self._sending = threading.Lock()
        self._unsaved: set[tuple[str, str]] = set()
        self._store_state = "ok"
        self._callbacks: dict[str, Outbox] = {}
        if not isinstance(flush_interval, int | float) or flush_interval <= 0:
            raise ConfigurationError(f"flush_interval must be a number of seconds above 0, not {flush_interval!r}")
        self._worker = Worker(weakref.WeakMethod(self._flush), flush_interval) if background else None
        self._default = self._settings((), (), (), None, "auto", None)
        look_after(self)

    @overload
    def watch(self, target: T, /) -> T: ...

    @overload
    def watch(
        self,
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

        Raises ConfigurationError for a bad ``tool``, ``key`` or ``unwrap``; nothing for any response, unless
        ``on_drift="raise"``.
        """
        if not isinstance(tool, str) or not tool:
            raise ConfigurationError(f"tool must be a string that is not empty, not {tool!r}")
        if unwrap not in MODES:
            raise ConfigurationError(f"unwrap must be one of {', '.join(MODES)}, not {unwrap!r}")
        settings = self._default
        if unwrap != settings.unwrap:
            settings = msgspec.structs.replace(settings, unwrap=unwrap)
        if switch.on:
            self.take(self.track(tool, as_text(key) if key is not None else "", settings), settings, response)

    def flush(self, timeout: float = _PATIENCE) -> bool:
        """Judge what waits and send what there is to tell, in this thread; waits ``timeout`` seconds for its turn.

        False where it did not get its turn, a sink failed, or the store did.
        """
        return self._flush(timeout=timeout, now=True)

    def close(self) -> None:
        """Flush, end the worker, close sinks and store. What is observed later is still counted, until a flush."""
        self.flush()
        if self._worker is not None:
            self._worker.stop()
        for outbox in self._outboxes:
            close = getattr(outbox.sink, "close", None)
            if callable(close):
                with self._guard(f"closing {outbox.name}"):
                    close()
        with self._guard("closing the store"):
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def health(self) -> Health:
        """How everything is doing, by tool and by sink."""
        by_tool: dict[str, list[Track]] = {}
        for (tool, _), track in sorted(self._tracks.copy().items()):
            by_tool.setdefault(tool, []).append(track)
        swallowed = self._guard.swallowed
        return Health(
            tools={tool: _tool_health(tracks) for tool, tracks in by_tool.items()},
            swallowed=sum(swallowed.values()),
            swallowed_by=swallowed,
            store=self._store_state,
            waiting=sum(track.waiting for track in self._tracks.copy().values()),
            sinks={outbox.name: outbox.state for outbox in (*self._outboxes, *self._callbacks.copy().values())},
        )

    def settings_for(self, options: Mapping[str, Any]) -> Settings:
        """The settings that options of ``watch`` give. Raises ConfigurationError naming the option."""
        return self._settings(
            options.get("consumers", ()),
            options.get("maps", ()),
            options.get("records", ()),
            options.get("limits"),
            options.get("unwrap", "auto"),
            options.get("on_drift"),
        )

    def _settings(
        self,
        consumers: Sequence[Consumer | str],
        maps: Sequence[str],
        records: Sequence[str],
        limits: Limits | None,
        unwrap: str,
        on_drift: OnDrift | None,
    ) -> Settings:
        if unwrap not in MODES:
            raise ConfigurationError(f"unwrap must be one of {', '.join(MODES)}, not {unwrap!r}")
        if isinstance(consumers, str | Consumer):
            raise ConfigurationError("consumers takes a list of consumers or their names")
        named = tuple(self._named(consumer) for consumer in consumers)
        walker = Walker(limits or self._limits, maps, records)
        return Settings(named, walker, unwrap, self._on_drift if on_drift is None else _on_drift(on_drift))

    def _named(self, consumer: Consumer | str) -> Consumer:
        if isinstance(consumer, Consumer):
            return consumer
        for known in self._consumers:
            if known.name == consumer:
                return known
        known_names = ", ".join(known.name for known in self._consumers) or "none"
        raise ConfigurationError(f"consumers: {consumer!r} is not one of the monitor's ({known_names})")

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
                consumers = settings.consumers or tuple(c for c in self._consumers if c.reads(tool)) or (DEFAULT,)
                sealed = self._baselines.get(tool)
                live = Live(tool, key, settings.walker, consumers, sealed, self._confirm)
                track = self._tracks[tool, key] = Track(live)
                self._keys[tool] += bool(key)
                if callable(settings.on_drift):
                    self._callbacks.setdefault(tool, Outbox(f"on_drift of {tool}", _Callback(settings.on_drift)))
            return track

    def take(self, track: Track, settings: Settings, response: object) -> None:
        """Reduce and count one response. Swallows whatever goes wrong; DriftError where it was asked for."""
        try:
            seen = track.live.walker.observe(response, settings.unwrap)
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            track.record_unseen()
            self._guard.failed("observing a response", error)
            return
        self.finish(track, settings, seen)

    def finish(self, track: Track, settings: Settings, seen: Observation) -> None:
        """Count what was seen, and judge it now where that was asked for."""
        if seen.outcome == "error":
            track.record_error("result")
            return
        hurry = track.record(seen)
        if settings.on_drift == "raise":
            self._raise_drift(track, seen)
        if self._worker is None:
            self._flush()
        else:
            self._worker.wake(hurry=hurry)

    def stream(self, track: Track, settings: Settings) -> StreamRecord:
        """The record of one stream; give it to ``end_stream``."""
        return StreamRecord(track.live.walker, settings.unwrap)

    def end_stream(
        self, track: Track, settings: Settings, record: StreamRecord, outcome: Outcome, error: BaseException | None
    ) -> None:
        """Count a stream that ended: as a response, as an error, or as nothing where nothing of it was seen."""
        if outcome == "raised":
            track.record_error(type(error).__qualname__)
            return
        seen = record.observation(complete=outcome == "complete")
        if seen is None:
            track.record_unseen()
            return
        self.finish(track, settings, seen)

    def count_error(self, track: Track, kind: str) -> None:
        """Count a call that failed, by the type of its exception."""
        track.record_error(kind)

    def failed(self, place: str, error: Exception) -> None:
        """Count something that went wrong while observing, and log the first of its kind."""
        self._guard.failed(place, error)

    def _raise_drift(self, track: Track, seen: Observation) -> None:
        with self._guard("judging in the caller's thread"), self._judging:
            self._judge(track)
        findings = track.live.findings_of(seen.shape, seen.encoding)
        if worst(finding.risk for finding in findings) is Risk.HIGH:
            raise DriftError(track.live.tool, findings)

    def _flush(self, timeout: float = _PATIENCE, *, now: bool = False) -> bool:
        if not self._judging.acquire(timeout=timeout):
            return False
        try:
            for track in list(self._tracks.values()):
                with self._guard("judging"):
                    self._judge(track)
            self._save()
        finally:
            self._judging.release()
        if not self._sending.acquire(timeout=timeout if now else 0):
            return False
        try:
            outboxes = (*self._outboxes, *self._callbacks.copy().values())
            for outbox in outboxes:
                outbox.send(self._guard, now=now)
        finally:
            self._sending.release()
        unsent = any(outbox.waiting for outbox in outboxes)
        if (unsent or self._unsaved) and self._worker is not None:
            self._worker.wake()
        return not unsent and not self._unsaved

    def _judge(self, track: Track) -> None:
        """Load what the store knows at the first time, then judge what waits."""
        live = track.live
        if not track.loaded:
            known = None if live.sealed else self._store.load(live.tool, live.key)
            if known is not None:
                live.restore(known.observations, known.rows, known.maps_learned, known.incidents)
            track.loaded = True
        if not track.waiting:
            return
        events = live.take(track.drain())
        self._unsaved.add((live.tool, live.key))
        for event in events:
            for outbox in self._outboxes:
                outbox.put(event)
            if live.tool in self._callbacks:
                self._callbacks[live.tool].put(event)

    def _save(self) -> None:
        for tool, key in sorted(self._unsaved):
            live = self._tracks[tool, key].live
            incidents = tuple(live.incidents.values())
            snapshot = Snapshot(live.observations, live.rows, tuple(live.decisions.values()), incidents)
            try:
                self._store.save(tool, key, snapshot)
            except Exception as error:  # noqa: BLE001 - kept, and tried again at the next flush
                self._store_state = "retrying"
                self._guard.failed("saving to the store", error)
                return
            self._unsaved.discard((tool, key))
        self._store_state = "ok"

    def after_fork(self) -> None:
        """In a child: locks may be held by nobody, and what waits is the parent's to flush."""
        self._making = threading.Lock()
        self._judging = threading.RLock()
        self._sending = threading.Lock()
        self._guard.after_fork()
        for outbox in (*self._outboxes, *self._callbacks.values()):
            outbox.after_fork()
        for track in self._tracks.values():
            track.after_fork()
        if self._worker is not None:
            self._worker.after_fork()


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


def _tool_health(tracks: list[Track]) -> ToolHealth:
    types: Counter[str] = Counter()
    for track in tracks:
        types.update(track.errors.copy())
    lives = [track.live for track in tracks]
    return ToolHealth(
        calls=sum(track.calls for track in tracks),
        errors=types.total(),
        state="learning" if any(live.learning for live in lives) else "watching",
        shapes=sum(live.shapes for live in lives),
        incidents=sum(i.status == "open" for live in lives for i in live.incidents.copy().values()),
        keys=len(tracks),
        error_types=dict(sorted(types.items())),
        unjudged=sum(track.unjudged for track in tracks),
    )


def _default_sinks() -> list[Sink]:
    from toolpulse.sinks.logs import LogSink

    return [LogSink()]


def _outboxes(sinks: Sequence[Sink]) -> tuple[Outbox, ...]:
    found: list[Outbox] = []
    if callable(getattr(sinks, "emit", None)):
        raise ConfigurationError("sinks takes a list of sinks, not one")
    for index, sink in enumerate(sinks):
        if not callable(getattr(sink, "emit", None)):
            raise ConfigurationError(f"sinks[{index}] must have an emit(event) method; {type(sink).__name__} has none")
        name = type(sink).__name__
        taken = {outbox.name for outbox in found}
        found.append(Outbox(name if name not in taken else f"{name} {index + 1}", sink))
    return tuple(found)


def _consumers(consumers: Sequence[Consumer]) -> tuple[Consumer, ...]:
    if isinstance(consumers, Consumer):
        raise ConfigurationError("consumers takes a list of consumers, not one")
    names: set[str] = set()
    for index, consumer in enumerate(consumers):
        if not isinstance(consumer, Consumer):
            raise ConfigurationError(f"consumers[{index}] must be a Consumer, not {type(consumer).__name__}")
        if consumer.name in names:
            raise ConfigurationError(f"consumers: two are named {consumer.name}")
        names.add(consumer.name)
    return tuple(consumers)


def _baselines(baselines: Mapping[str, Baseline]) -> dict[str, Baseline]:
    for tool, baseline in baselines.items():
        if not isinstance(baseline, Baseline):
            raise ConfigurationError(f"baselines[{tool!r}] must be a Baseline, not {type(baseline).__name__}")
    return dict(baselines)


def _positive(name: str, value: int) -> int:
    if type(value) is not int or value < 1:
        raise ConfigurationError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


def _on_drift(value: OnDrift) -> OnDrift:
    if callable(value) or value in ("log", "raise"):
        return value
    raise ConfigurationError(f"on_drift must be 'log', 'raise' or callable, not {value!r}")
