"""Monitor: where the pure rooms meet threads, clocks, stores and sinks.

In the caller's thread a response is unwrapped, walked and counted. Judging and the store are the worker's, and each
sink has a thread of its own. What goes wrong while observing is swallowed, counted, and told by ``health``.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, overload

from toolpulse._base.classes import qualname
from toolpulse._base.guard import Guard
from toolpulse.decorator.decorate import Outcome
from toolpulse.errors import DriftError
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.runtime import settings as _settings
from toolpulse.runtime.counters import ToolChannel
from toolpulse.runtime.flush import PATIENCE, Engine
from toolpulse.runtime.health import Health, tool_health
from toolpulse.runtime.keys import MOST_CHANNELS, MOST_KEYS, OTHER_KEY, OTHER_TOOLS, as_text
from toolpulse.runtime.lifetime import look_after
from toolpulse.runtime.settings import OnDrift, Settings
from toolpulse.runtime.switch import switch
from toolpulse.shape import DEFAULT_LIMITS, Limits, Observation
from toolpulse.shape.envelopes import unwrap
from toolpulse.shape.stream import StreamRecord
from toolpulse.sinks.base import Sink
from toolpulse.sinks.queue import Outbox
from toolpulse.state.baseline import Baseline
from toolpulse.state.incidents import Decision, Incident
from toolpulse.state.pending import TallyKey, cuts_of
from toolpulse.state.tool_state import ToolState
from toolpulse.stores import open_store
from toolpulse.stores.base import Store
from toolpulse.stores.default import default_store

T = TypeVar("T")


_log = logging.getLogger("toolpulse")

_GIVEN_UP: Final = frozenset({"CancelledError", "GeneratorExit"})


class Monitor:
    """Watches tools, learns their responses' shapes and tells sinks what changed.

    ``store``: a URL (``sqlite:///path``, ``postgresql://...``, ``memory:``) or a Store; without one it is the URL in
    ``$TOOLPULSE_DB``, else a SQLite file at ``.toolpulse/toolpulse.db``. It is opened when it is first needed.
    ``sinks``: objects with ``emit(event)``; structlog without any named. ``consumers``: who reads the tools.
    ``baselines``: sealed baselines by tool name; what they know is fixed, and responses are read as they say.
    ``confirm``: how many observations must show an incident before it is told of, no 20 observations apart where it is
    about a field or a value that is missing; what is not confirmed is taken for ordinary variation then.
    ``limits``: how much of a response is looked at. ``background=False`` judges, saves and sends inside ``observe``,
    for tests and for processes that freeze between calls; else a worker does, at most every ``flush_interval`` seconds.
    ``on_drift``: ``"log"``, a callable that takes the event as well (of all but ``learned``), or ``"raise"``: judged in
    the caller's thread, DriftError at ``high``. ``save_on_signals``: whether SIGTERM and SIGHUP, where the application
    left them their default, wait for a last flush (two seconds at most) before they end the process.

    Raises ConfigurationError naming the setting that is wrong. ``observe`` and watched calls raise nothing of ours but
    that DriftError.
    """

    def __init__(
        self,
        store: str | Store | None = None,
        *,
        sinks: Sequence[Sink] | None = None,
        consumers: Sequence[Consumer] = (),
        baselines: Mapping[str, Baseline] | None = None,
        confirm: int = 1,
        limits: Limits = DEFAULT_LIMITS,
        background: bool = True,
        flush_interval: float = 1.0,
        on_drift: OnDrift = "log",
        save_on_signals: bool = True,
    ) -> None:
        store = default_store() if store is None else _settings.check_store(store)
        self._guard = Guard()
        self._outboxes = self._outboxes_of(_default_sinks() if sinks is None else _settings.check_sinks(sinks))
        self._consumers = _settings.check_consumers(consumers)
        self._baselines = _settings.check_baselines({} if baselines is None else baselines)
        self._confirm = _settings.check_confirm(confirm)
        self._limits = limits
        self._on_drift = _settings.check_on_drift(on_drift)
        self._default = self.settings_for({})
        interval = _settings.check_interval(flush_interval)
        background = _settings.check_switch("background", background)
        save_on_signals = _settings.check_switch("save_on_signals", save_on_signals)
        opened = open_store(store) if isinstance(store, str) else store
        self._engine = Engine(opened, self._guard, self._outboxes, interval if background else None)
        self._channels = self._engine.channels
        self._keys: dict[str, set[str]] = {}
        weakref.finalize(self, self._engine.retire).atexit = False
        look_after(self._engine, save_on_signals=save_on_signals)

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
        from toolpulse.runtime.tool_probe import decorator

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
            self.take(self.channel(tool, "" if key is None else as_text(key), settings), settings, response)
        except DriftError:
            raise
        except Exception as error:  # noqa: BLE001 - whoever observes must not notice
            self._guard.failed("observing a response", error)

    def incidents(self, tool: str | None = None) -> tuple[Incident, ...]:
        """The incidents of a tool, or of all; the newest last.

        Those that the store has, of tools that were never called here, too, and what this process judged and has not
        saved yet. With a store in memory, after ``close``, and while the store is down or this call came back in from a
        sink or a signal handler, it is what this process knows.
        """
        stored = self._engine.ask(lambda store: store.incidents(tool))
        found = {incident.id: incident for incident in stored or ()}
        for channel in self._own(tool, unsaved=stored is not None):
            found.update(channel.live.incident_log.incidents.copy())
        return _by_time(found.values())

    def _own(self, tool: str | None, *, unsaved: bool) -> list[ToolChannel]:
        """The tracks of a tool, or of all; with ``unsaved`` those that know what the store does not."""
        channels = [channel for (name, _), channel in self._channels.copy().items() if tool in (None, name)]
        return [channel for channel in channels if channel.ahead or channel.apart or not unsaved]

    def decisions(self, tool: str | None = None) -> tuple[Decision, ...]:
        """The audit trail of a tool, or of all: every decision in the order it was taken.

        What the store has, or what this process knows, as for ``incidents``.
        """
        stored = self._engine.ask(lambda store: _stored_decisions(store, tool))
        found = {decision.id: decision for decision in stored or ()}
        for channel in self._own(tool, unsaved=stored is not None):
            found.update(channel.live.incident_log.decisions.copy())
        return tuple(sorted(found.values(), key=lambda decision: decision.time))

    def accept(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Accept an incident by its id, or all that are open of a tool by its name; ``paths`` picks changes of one.

        What was held for it teaches now. Gives the decisions taken, none where they were taken before. Raises
        ConfigurationError for a target or a path that is not there.
        """
        return self._engine.decide("accept", target, paths, reason, who)

    def reject(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Keep an incident out of the baseline for good: it is a break. As ``accept`` otherwise."""
        return self._engine.decide("reject", target, paths, reason, who)

    def ignore(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Mute an incident: it is counted, does not teach, and is told of no more. As ``accept`` otherwise."""
        return self._engine.decide("ignore", target, paths, reason, who)

    def flush(self, timeout: float = PATIENCE) -> bool:
        """Judge what waits in this thread, save it, and have it sent; gives up after ``timeout`` seconds.

        False where something still waits: the store or a sink failed, or was too slow.
        """
        return self._engine.flush(timeout)

    def close(self, timeout: float = PATIENCE) -> None:
        """Flush, end the worker, close sinks and store; leaves behind what does not come back in ``timeout`` seconds.

        What is observed later is counted, and waits for a flush.
        """
        deadline = time.monotonic() + timeout
        self._engine.flush(timeout)
        self._engine.close(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def health(self) -> Health:
        """How everything is doing, by tool and by sink."""
        channels = sorted(self._channels.copy().items())
        by_tool: dict[str, list[ToolChannel]] = {}
        for (tool, _), channel in channels:
            by_tool.setdefault(tool, []).append(channel)
        if self._engine.beyond is not None:
            by_tool.setdefault(OTHER_TOOLS, []).append(self._engine.beyond)
        swallowed = self._guard.swallowed
        return Health(
            tools={tool: tool_health(of_tool) for tool, of_tool in by_tool.items()},
            swallowed=sum(swallowed.values()),
            swallowed_by=swallowed,
            store=self._engine.store_state,
            waiting=sum(channel.waiting for _, channel in channels),
            sinks={outbox.name: outbox.state for outbox in self._engine.dispatcher.senders},
        )

    def settings_for(self, options: Mapping[str, Any], function: Any = None) -> Settings:
        """The settings that options of ``watch`` give. Raises ConfigurationError naming the option."""
        return _settings.settings_of(options, function, self._limits, self._on_drift, self._consumers)

    def channel(self, tool: str, key: str, settings: Settings) -> ToolChannel:
        """Where the calls of a tool (and key) are counted; the settings of the first call are the tool's."""
        channel = self._channels.get((tool, key))
        return channel if channel is not None else self._new_channel(tool, key, settings)

    def _new_channel(self, tool: str, key: str, settings: Settings) -> ToolChannel:
        with self._engine.making:
            keys = self._keys.get(tool, ())
            if key and key not in keys and len(keys) >= MOST_KEYS:
                key = OTHER_KEY
            channel = self._channels.get((tool, key))
            if channel is not None:
                return channel
            if len(self._channels) >= MOST_CHANNELS:
                return self._engine.beyond or self._begin_beyond(settings)
            made = self._made_track(tool, key, settings)
            # a signal handler or a finalizer that called the tool meanwhile has made the one that counts
            channel = self._channels.setdefault((tool, key), made)
            if key:
                self._keys.setdefault(tool, set()).add(key)
            return channel

    def _made_track(self, tool: str, key: str, settings: Settings) -> ToolChannel:
        sealed = self._baselines.get(tool)
        readers = settings.consumers or self._readers(tool, settings.function)
        readers = readers or (sealed.consumers if sealed else ()) or (DEFAULT,)
        # a walk of its own: what it remembers of keys goes when they are found to be data
        walker = settings.walker.with_maps(frozenset(), frozenset())
        how = sealed.unwrap if sealed else settings.unwrap
        live = ToolState(tool, key, walker, readers, sealed, self._confirm, how)
        callback = self._callback(tool, settings.on_drift)
        return ToolChannel(live, sealed.unwrap if sealed else None, callback.put if callback else None)

    def _begin_beyond(self, settings: Settings) -> ToolChannel:
        """Where calls beyond the bound are counted, from the first of them on; it is told of once."""
        walker = settings.walker.with_maps(frozenset(), frozenset())
        made = ToolChannel(ToolState(OTHER_TOOLS, "", walker, ()))
        made.beyond = True
        if self._engine.beyond is not None:  # made meanwhile by a signal handler
            return self._engine.beyond
        self._engine.beyond = made
        with self._guard("warning of too many tools"):
            _log.warning(
                "toolpulse: more than %d tools and keys; calls of further ones are counted as %s, and not judged",
                MOST_CHANNELS,
                OTHER_TOOLS,
            )
        return made

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
        # a bound method is another object each time it is looked up
        identity = (id(getattr(on_drift, "__self__", None)), id(getattr(on_drift, "__func__", on_drift)))
        outbox = self._engine.callbacks.get(identity)
        if outbox is None:
            name = "on_drift" if on_drift is self._on_drift else f"on_drift of {tool}"
            # one attempt an event: it is the application's code, and an error in it will not go away
            outbox = Outbox(name, _Callback(on_drift), self._guard, retries=False)
            outbox = self._engine.callbacks.setdefault(identity, outbox)
            if self._engine.worker is not None:
                outbox.start()
        return outbox

    def take(self, channel: ToolChannel, settings: Settings, response: object) -> None:
        """Reduce and count one response. Swallows whatever goes wrong; DriftError where it was asked for."""
        broken: tuple[str, ...] = ()
        try:
            walker = channel.live.walker
            mode = channel.unwrap or settings.unwrap
            if channel.asserts:
                payload = unwrap(response, mode, text=walker.limits.text)
                seen = walker.reduce(payload)
                if seen.outcome != "error" and not any(cut.limit == "text" for cut in seen.truncations):
                    value = payload.value
                    broken = tuple(name for consumer in channel.live.consumers for name in consumer.broken(value))
            else:
                seen = walker.observe(response, mode)
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            channel.record_unseen()
            self._guard.failed("observing a response", error)
            return
        self.finish(channel, settings, seen, broken)

    def finish(self, channel: ToolChannel, settings: Settings, seen: Observation, broken: tuple[str, ...] = ()) -> None:
        """Count what was seen, and judge it now where that was asked for."""
        if seen.outcome == "error":
            self.count_error(channel, "result")
            return
        if channel.beyond:
            channel.record_unseen()
            return
        hurry = channel.record(seen, broken)
        drift = None
        if settings.on_drift == "raise":
            key = TallyKey(seen.shape, seen.encoding, cuts_of(seen.truncations), broken)
            drift = self._engine.drift(channel, key, seen.truncations)
        self._engine.wake(channel, hurry=hurry or drift is not None)
        if drift is not None:
            raise drift

    def stream(self, channel: ToolChannel, settings: Settings) -> StreamRecord:
        """The record of one stream; give it to ``end_stream``."""
        return StreamRecord(channel.live.walker, channel.unwrap or settings.unwrap)

    def end_stream(
        self,
        channel: ToolChannel,
        settings: Settings,
        record: StreamRecord,
        outcome: Outcome,
        error: BaseException | None,
    ) -> None:
        """Count a stream that ended: as a response, as an error, or as unjudged where it was not seen."""
        if outcome == "raised":
            self.count_error(channel, qualname(type(error)))
            return
        seen = record.observation(complete=outcome == "complete")
        if seen is None:
            channel.record_unseen()
            return
        self.finish(channel, settings, seen)

    def count_error(self, channel: ToolChannel, kind: str) -> None:
        """Count a call that failed, by the type of its exception; one that was given up by its caller did not."""
        if kind in _GIVEN_UP:
            channel.record_unseen()
            return
        channel.record_error(kind)
        self._engine.wake(channel)

    def failed(self, place: str, error: Exception) -> None:
        """Count something that went wrong while observing, and log the first of its kind."""
        self._guard.failed(place, error)


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


def _by_time(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    return tuple(sorted(incidents, key=lambda incident: (incident.first_time, incident.opened, incident.id)))


def _stored_decisions(store: Store, tool: str | None) -> list[Decision]:
    known = [store.load(name, key) for name, key in store.tools() if tool in (None, name)]
    return [decision for snapshot in known if snapshot is not None for decision in snapshot.decisions.values()]


def _default_sinks() -> tuple[Sink, ...]:
    from toolpulse.sinks.logs import LogSink

    return (LogSink(),)
