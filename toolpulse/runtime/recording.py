"""What happens in the caller's thread: one response is looked at, counted, and judged at once only where asked for.

The observers of watched tools and ``Monitor.observe`` call it. What goes wrong here is swallowed and counted; the
watched tool must not notice. No I/O, and no lock but the counters' own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolpulse._base.classes import qualname
from toolpulse._base.guard import Guard
from toolpulse.decorator.probe import Outcome
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.background.counters import tally_key
from toolpulse.runtime.background.flush import Flusher
from toolpulse.runtime.settings import MonitorSettings, ToolSettings, WatchOptions, tool_settings
from toolpulse.shape import Observation
from toolpulse.shape.envelopes import unwrap
from toolpulse.shape.stream import StreamRecord

_GIVEN_UP: Final = frozenset({"CancelledError", "GeneratorExit"})
"""Exceptions that say that the caller gave up, not that the tool failed."""


class Recorder:
    """Takes what calls give, for one monitor, and counts it in the channel of its tool."""

    def __init__(self, settings: MonitorSettings, flusher: Flusher, guard: Guard) -> None:
        self._settings = settings
        self._flusher = flusher
        self._guard = guard
        self.channel = flusher.channels.channel

    def settings_for(self, options: WatchOptions, function: Callable[..., object] | None = None) -> ToolSettings:
        """The settings that options of ``watch`` give. Raises ConfigurationError naming the option."""
        return tool_settings(options, function, self._settings)

    def record(self, channel: ToolChannel, settings: ToolSettings, response: object) -> None:
        """Reduce and count one response. Swallows whatever goes wrong; DriftError where it was asked for."""
        broken: tuple[str, ...] = ()
        try:
            walker = channel.state.walker
            mode = channel.unwrap or settings.unwrap
            if channel.has_assertions:
                payload = unwrap(response, mode, text=walker.limits.text)
                seen = walker.reduce(payload)
                if seen.outcome != "error" and not any(cut.limit == "text" for cut in seen.truncations):
                    value = payload.value
                    broken = tuple(name for consumer in channel.state.consumers for name in consumer.broken(value))
            else:
                seen = walker.observe(response, mode)
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            channel.record_unseen()
            self._guard.failed("observing a response", error)
            return
        self._count(channel, settings, seen, broken)

    def _count(
        self, channel: ToolChannel, settings: ToolSettings, seen: Observation, broken: tuple[str, ...] = ()
    ) -> None:
        """Count what was seen, and judge it now where that was asked for."""
        if seen.outcome == "error":
            self.record_error(channel, "result")
            return
        if channel.overflow:
            channel.record_unseen()
            return
        hurry = channel.record(seen, broken)
        drift = None
        if settings.on_drift == "raise":
            drift = self._flusher.drift_error(channel, tally_key(seen, broken), seen.truncations)
        self._flusher.wake(channel, hurry=hurry or drift is not None)
        if drift is not None:
            raise drift

    def record_error(self, channel: ToolChannel, kind: str) -> None:
        """Count a call that failed, by the type of its exception; one that was given up by its caller did not."""
        if kind in _GIVEN_UP:
            channel.record_unseen()
            return
        channel.record_error(kind)
        self._flusher.wake(channel)

    def open_stream(self, channel: ToolChannel, settings: ToolSettings) -> StreamRecord:
        """The record of one stream, to be given to ``end_stream``."""
        return StreamRecord(channel.state.walker, channel.unwrap or settings.unwrap)

    def end_stream(
        self,
        channel: ToolChannel,
        settings: ToolSettings,
        record: StreamRecord,
        outcome: Outcome,
        error: BaseException | None,
    ) -> None:
        """Count a stream that ended: as a response, as an error, or as unjudged where it was not seen."""
        if outcome == "raised":
            self.record_error(channel, qualname(type(error)))
            return
        seen = record.observation(complete=outcome == "complete")
        if seen is None:
            channel.record_unseen()
            return
        self._count(channel, settings, seen)

    def failed(self, place: str, error: Exception) -> None:
        """Count something that went wrong while observing, and log the first of its kind."""
        self._guard.failed(place, error)
