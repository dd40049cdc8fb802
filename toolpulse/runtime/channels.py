"""The channels of a monitor: where the calls of each tool, and each variant of its calls, are counted.

They are made at a tool's first call, with the settings of that call, and bounded in number. Callers ask for theirs at
each call; the background reads them all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from toolpulse._base.guard import Guard
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.checks import OnDrift
from toolpulse.runtime.keys import MOST_CHANNELS, MOST_KEYS, OTHER_KEY, OTHER_TOOLS
from toolpulse.runtime.settings import MonitorSettings, ToolSettings
from toolpulse.sinks.queue import Outbox
from toolpulse.state.incidents import ACTIVE
from toolpulse.state.tool_state import ToolState

_log = logging.getLogger("toolpulse")


class Channels:
    """The channels of one monitor, by tool and key, and the queues of its ``on_drift`` callables."""

    def __init__(self, settings: MonitorSettings, guard: Guard) -> None:
        self.by_name: dict[tuple[str, str], ToolChannel] = {}
        """By the tool's name and the key of the variant, which is empty for a tool without."""
        self.overflow: ToolChannel | None = None
        """Counts the calls of tools and keys beyond those that are learned."""
        self.callbacks: dict[tuple[int, int], Outbox] = {}
        """The queues of ``on_drift`` callables, by the callable's identity."""
        self._settings = settings
        self._guard = guard
        self._keys: dict[str, set[str]] = {}
        self._making = threading.RLock()

    def now(self) -> list[ToolChannel]:
        """The channels there are now, but for the one of calls beyond the bound."""
        return list(self.by_name.copy().values())

    @property
    def has_unsaved(self) -> bool:
        """Whether there is something that the store is to have."""
        return any(channel.due and not channel.memory_only for channel in self.now())

    @property
    def has_active_incidents(self) -> bool:
        """Whether there is something that anybody may decide about meanwhile."""
        logs = [channel.state.incident_log for channel in self.now()]
        return any(incident.status in ACTIVE for log in logs for incident in log.incidents.copy().values())

    def of_tool(self, tool: str | None) -> list[ToolChannel]:
        """The channels of a tool, or of all tools."""
        return [channel for (name, _), channel in self.by_name.copy().items() if tool in (None, name)]

    def channel(self, tool: str, key: str, settings: ToolSettings) -> ToolChannel:
        """Where the calls of a tool (and key) are counted; the settings of the first call are the tool's."""
        channel = self.by_name.get((tool, key))
        return channel if channel is not None else self._new_channel(tool, key, settings)

    def _new_channel(self, tool: str, key: str, settings: ToolSettings) -> ToolChannel:
        with self._making:
            keys = self._keys.get(tool, ())
            if key and key not in keys and len(keys) >= MOST_KEYS:
                key = OTHER_KEY
            channel = self.by_name.get((tool, key))
            if channel is not None:
                return channel
            if len(self.by_name) >= MOST_CHANNELS:
                return self.overflow or self._begin_overflow(settings)
            made = self._made_channel(tool, key, settings)
            # a signal handler or a finalizer that called the tool meanwhile has made the one that counts
            channel = self.by_name.setdefault((tool, key), made)
            if key:
                self._keys.setdefault(tool, set()).add(key)
            return channel

    def _made_channel(self, tool: str, key: str, settings: ToolSettings) -> ToolChannel:
        sealed = (self._settings.baselines or {}).get(tool)
        readers = settings.consumers or self._readers(tool, settings.function)
        readers = readers or (sealed.consumers if sealed else ()) or (DEFAULT,)
        # a walk of its own: what it remembers of keys goes when they are found to be data
        walker = settings.walker.with_maps(frozenset(), frozenset())
        unwrap = sealed.unwrap if sealed else settings.unwrap
        state = ToolState(tool, key, walker, readers, sealed, self._settings.confirm, unwrap)
        callback = self._callback(tool, settings.on_drift)
        return ToolChannel(state, sealed.unwrap if sealed else None, callback.put if callback else None)

    def _begin_overflow(self, settings: ToolSettings) -> ToolChannel:
        """Where calls beyond the bound are counted, from the first of them on; one warning says so."""
        walker = settings.walker.with_maps(frozenset(), frozenset())
        made = ToolChannel(ToolState(OTHER_TOOLS, "", walker, ()))
        made.overflow = True
        if self.overflow is not None:  # made meanwhile by a signal handler
            return self.overflow
        self.overflow = made
        with self._guard("warning of too many tools"):
            _log.warning(
                "toolpulse: more than %d tools and keys; calls of further ones are counted as %s, and not judged",
                MOST_CHANNELS,
                OTHER_TOOLS,
            )
        return made

    def _readers(self, tool: str, function: Any) -> tuple[Consumer, ...]:
        """The monitor's consumers that read a tool; one whose annotation cannot be read is used as it is."""
        readers = []
        for consumer in self._settings.consumers:
            if consumer.reads(tool):
                readers.append(consumer)
                with self._guard(f"reading the annotation of {tool}"):
                    readers[-1] = consumer.for_function(function)
        return tuple(readers)

    def _callback(self, tool: str, on_drift: OnDrift) -> Outbox | None:
        """The queue of an ``on_drift`` callable, one for each callable; None for a word."""
        if isinstance(on_drift, str):
            return None
        # a bound method is another object each time it is looked up
        identity = (id(getattr(on_drift, "__self__", None)), id(getattr(on_drift, "__func__", on_drift)))
        outbox = self.callbacks.get(identity)
        if outbox is None:
            name = "on_drift" if on_drift is self._settings.on_drift else f"on_drift of {tool}"
            # one attempt an event: it is the application's code, and an error in it will not go away
            outbox = Outbox(name, _CallbackSink(on_drift), self._guard, retries=False)
            outbox = self.callbacks.setdefault(identity, outbox)
            if self._settings.background:
                outbox.start()
        return outbox

    def after_fork(self) -> None:
        """In a child what was counted is the parent's, and the lock may be held by nobody."""
        self._making = threading.RLock()
        for channel in (*self.by_name.values(), *filter(None, [self.overflow])):
            channel.after_fork()


class _CallbackSink:
    """A callable of ``on_drift`` as a sink."""

    def __init__(self, function: Callable[[DriftEvent], object]) -> None:
        self._function = function

    def emit(self, event: DriftEvent) -> None:
        self._function(event)
