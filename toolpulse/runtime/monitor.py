"""Monitor: what a user holds to watch tools, to ask what is known, to decide, and to flush and close.

In the caller's thread a response is unwrapped, walked and counted (``recording.py``). Judging and the store are the
worker's, and each sink has a thread of its own (``background/``). What goes wrong while observing is swallowed,
counted, and shown by ``health``.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar, Unpack, overload

from toolpulse._base.guard import Guard
from toolpulse.errors import DriftError
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.background.degraded import PATIENCE
from toolpulse.runtime.background.flush import Flusher
from toolpulse.runtime.background.lifetime import look_after
from toolpulse.runtime.channels import Channels
from toolpulse.runtime.checks import check_tool
from toolpulse.runtime.health import Health, tool_health
from toolpulse.runtime.keys import OTHER_TOOLS, as_text
from toolpulse.runtime.observer import decorator
from toolpulse.runtime.recording import Recorder
from toolpulse.runtime.settings import (
    MonitorSettings,
    WatchKeywords,
    WatchOptions,
    checked,
    takes,
    watch_signature,
    with_unwrap,
)
from toolpulse.runtime.switch import switch
from toolpulse.sinks.base import Sink
from toolpulse.sinks.queue import Outbox
from toolpulse.state.incidents import Decision, Incident
from toolpulse.stores import open_store
from toolpulse.stores.base import Store
from toolpulse.stores.default import default_store

T = TypeVar("T")


class Monitor:
    """Watches tools, learns their responses' shapes, and reports to sinks what changed.

    ``store``: a URL (``sqlite:///path``, ``postgresql://...``, ``memory:``) or a Store; without one it is the URL in
    ``$TOOLPULSE_DB``, else a SQLite file at ``.toolpulse/toolpulse.db``. It is opened when it is first needed.
    ``sinks``: objects with ``emit(event)``; structlog without any named. ``consumers``: who reads the tools.
    ``baselines``: sealed baselines by tool name; what they know is fixed, and responses are read as they say.
    ``confirm``: number of observations that must show an incident before it is reported. For a missing field or value
    they must be fewer than 20 observations apart; otherwise the incident is dropped as ordinary variation.
    ``limits``: how much of a response is looked at. ``background=False`` judges, saves and sends inside ``observe``,
    for tests and for processes that freeze between calls; else a worker does, at most every ``flush_interval`` seconds.
    ``on_drift``: ``"log"``, a callable that takes the event as well (of all but ``learned``), or ``"raise"``: judged in
    the caller's thread, DriftError at ``high``. ``save_on_signals``: whether SIGTERM and SIGHUP, where the application
    left them their default, wait for a last flush (two seconds at most) before they end the process.

    Raises ConfigurationError naming the setting that is wrong. ``observe`` and watched calls raise nothing of ours but
    that DriftError::

        with Monitor("memory:", background=False) as monitor:
            monitor.observe("search_docs", {"results": [], "total": 0})
    """

    @takes(MonitorSettings)
    def __init__(self, settings: MonitorSettings) -> None:
        settings = checked(settings)
        store = default_store() if settings.store is None else settings.store
        opened = open_store(store) if isinstance(store, str) else store
        self._guard = Guard()
        channels = Channels(settings, self._guard)
        self._channels = channels.by_name
        interval = settings.flush_interval if settings.background else None
        self._flusher = Flusher(opened, self._guard, _queues(settings.sinks, self._guard), channels, interval)
        self._recorder = Recorder(settings, self._flusher, self._guard)
        self._defaults = self._recorder.settings_for(WatchOptions())
        weakref.finalize(self, self._flusher.retire).atexit = False
        look_after(self._flusher, save_on_signals=settings.save_on_signals)

    @overload
    def watch(self, target: T, /) -> T: ...

    @overload
    def watch(self, /, **options: Unpack[WatchKeywords]) -> Callable[[T], T]: ...

    @watch_signature
    def watch(self, target: Any = None, /, **options: Unpack[WatchKeywords]) -> Any:
        """Watch a tool; use it as ``@monitor.watch`` or ``@monitor.watch(...)``. See ``toolpulse.watch``."""
        return decorator(target, options, _OneMonitor(self), self)

    def observe(self, tool: str, response: object, *, key: str | None = None, unwrap: str = "auto") -> None:
        """Take one response of a tool that is not decorated. ``key`` names the variant of the call.

        Raises ConfigurationError for a bad ``tool`` or ``unwrap``; nothing for any response, unless
        ``on_drift="raise"``.
        """
        check_tool(tool)
        settings = with_unwrap(self._defaults, unwrap)
        if not switch.on:
            return
        try:
            channel = self._recorder.channel(tool, "" if key is None else as_text(key), settings)
            self._recorder.record(channel, settings, response)
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
        stored = self._flusher.ask(lambda store: store.incidents(tool))
        incidents = {incident.id: incident for incident in stored or ()}
        for channel in self._own(tool, unsaved=stored is not None):
            incidents.update(channel.state.incident_log.incidents.copy())
        return _by_time(incidents.values())

    def _own(self, tool: str | None, *, unsaved: bool) -> list[ToolChannel]:
        """The channels of a tool, or of all; with ``unsaved`` those that know what the store does not."""
        channels = self._flusher.channels.of_tool(tool)
        return [channel for channel in channels if channel.ahead or channel.memory_only or not unsaved]

    def decisions(self, tool: str | None = None) -> tuple[Decision, ...]:
        """The audit trail of a tool, or of all: every decision in the order it was taken.

        What the store has, or what this process knows, as for ``incidents``.
        """
        stored = self._flusher.ask(lambda store: _stored_decisions(store, tool))
        decisions = {decision.id: decision for decision in stored or ()}
        for channel in self._own(tool, unsaved=stored is not None):
            decisions.update(channel.state.incident_log.decisions.copy())
        return tuple(sorted(decisions.values(), key=lambda decision: decision.time))

    def accept(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Accept an incident by its id, or all that are open of a tool by its name; ``paths`` picks changes of one.

        What was quarantined for it becomes part of the baseline. Gives the decisions taken, none where they were taken
        before. Raises ConfigurationError for a target or a path that is not there.
        """
        return self._flusher.decide("accept", target, paths, reason, who)

    def reject(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Keep an incident out of the baseline for good: it is a break. As ``accept`` otherwise."""
        return self._flusher.decide("reject", target, paths, reason, who)

    def ignore(self, target: str, *paths: str, reason: str = "", who: str = "") -> tuple[Decision, ...]:
        """Mute an incident: it is counted, is not learned from, and is reported no more. As ``accept`` otherwise."""
        return self._flusher.decide("ignore", target, paths, reason, who)

    def flush(self, timeout: float = PATIENCE) -> bool:
        """Block until pending observations are judged, saved and sent, ``timeout`` seconds at most.

        With ``background=True`` the worker does it while this call waits. False where something still waits: the store
        or a sink failed, or was too slow; or at once where the call comes from a sink or a signal handler in the middle
        of it.
        """
        return self._flusher.flush(timeout)

    def close(self, timeout: float = PATIENCE) -> None:
        """Flush, end the worker, close sinks and store; leaves behind what does not come back in ``timeout`` seconds.

        What is observed later is counted, and waits for a flush.
        """
        deadline = time.monotonic() + timeout
        self._flusher.flush(timeout)
        self._flusher.close(deadline)

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
        overflow = self._flusher.channels.overflow
        if overflow is not None:
            by_tool.setdefault(OTHER_TOOLS, []).append(overflow)
        swallowed = self._guard.swallowed
        return Health(
            tools={tool: tool_health(of_tool) for tool, of_tool in by_tool.items()},
            swallowed=sum(swallowed.values()),
            swallowed_by=swallowed,
            store=self._flusher.link.state,
            waiting=sum(channel.waiting for _, channel in channels),
            sinks={outbox.name: outbox.state for outbox in self._flusher.dispatcher.senders},
        )

    @property
    def recorder(self) -> Recorder:
        """What observers report to; not for users."""
        return self._recorder


class _OneMonitor:
    """Where observers that report to one monitor find it. The monitor lives as long as a tool that it watches."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def recorder(self) -> Recorder:
        return self._monitor.recorder

    def check(self, options: WatchOptions) -> None:
        self._monitor.recorder.settings_for(options)


def _queues(sinks: Sequence[Sink] | None, guard: Guard) -> tuple[Outbox, ...]:
    """A queue for each sink, named after its class, and numbered from the second of a class on."""
    sinks = _default_sinks() if sinks is None else sinks
    kinds = [type(sink).__name__ for sink in sinks]
    names = [kind if kind not in kinds[:index] else f"{kind} {index + 1}" for index, kind in enumerate(kinds)]
    return tuple(Outbox(name, sink, guard) for name, sink in zip(names, sinks, strict=True))


def _by_time(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    return tuple(sorted(incidents, key=lambda incident: (incident.first_time, incident.opened, incident.id)))


def _stored_decisions(store: Store, tool: str | None) -> list[Decision]:
    known = [store.load(name, key) for name, key in store.tools() if tool in (None, name)]
    return [decision for snapshot in known if snapshot is not None for decision in snapshot.decisions.values()]


def _default_sinks() -> tuple[Sink, ...]:
    from toolpulse.sinks.logs import LogSink

    return (LogSink(),)
