"""Between the decorator and a monitor: what one watched tool's calls are reported to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolpulse._base.classes import qualname
from toolpulse.decorator.decorate import Outcome, Stream, decorate
from toolpulse.errors import ConfigurationError, DecorationError, DriftError
from toolpulse.runtime.keys import KeyOf, check_key, key_of
from toolpulse.runtime.settings import check_tool
from toolpulse.runtime.switch import switch

if TYPE_CHECKING:
    from toolpulse.runtime.counters import ToolChannel
    from toolpulse.runtime.settings import Settings
    from toolpulse.shape.stream import StreamRecord

OPTIONS: Final = ("tool", "key", "consumers", "maps", "records", "limits", "unwrap", "on_drift")

NO_KEY: Final = "(no key)"
"""Of calls whose key could not be told."""


class Recorder(Protocol):
    """What a probe needs of a monitor."""

    def settings_for(self, options: dict[str, Any], function: Any = None) -> Settings: ...

    def channel(self, tool: str, key: str, settings: Settings) -> ToolChannel: ...

    def take(self, channel: ToolChannel, settings: Settings, response: object) -> None: ...

    def count_error(self, channel: ToolChannel, kind: str) -> None: ...

    def stream(self, channel: ToolChannel, settings: Settings) -> StreamRecord: ...

    def end_stream(
        self,
        channel: ToolChannel,
        settings: Settings,
        record: StreamRecord,
        outcome: Outcome,
        error: BaseException | None,
    ) -> None: ...

    def failed(self, place: str, error: Exception) -> None: ...


class Source(Protocol):
    """Where a probe finds its monitor."""

    def monitor(self) -> Recorder:
        """The monitor to report to now."""

    def check(self, options: dict[str, Any]) -> None:
        """Raise ConfigurationError for options that no monitor, or not the present one, can follow."""


def decorator(target: Any, options: dict[str, Any], source: Source, owner: object) -> Any:
    """The watched target, or a decorator where no target is given. Raises at once for what is wrong."""
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise TypeError(f"watch() has no option {unknown[0]!r}; it has {', '.join(OPTIONS)}")
    if isinstance(target, str):
        raise DecorationError(f"watch({target!r}): a name is given as watch(tool={target!r})")
    if target is not None and options:
        raise DecorationError("watch() takes a target or options: write watch(...)(target)")
    name = options.get("tool")
    if name is not None:
        check_tool(name)
    check_key(options.get("key"))
    source.check(options)

    def decorated(inner: Any) -> Any:
        return decorate(inner, lambda function, found: ToolProbe(source, name or found, options, function), owner)

    return decorated if target is None else decorated(target)


class ToolProbe:
    """Takes what a watched tool's calls give, and hands it to the monitor of the moment."""

    __slots__ = ("_bound", "_function", "_key_of", "_options", "_source", "_tool")

    def __init__(self, source: Source, tool: str, options: dict[str, Any], function: Any) -> None:
        self._source = source
        self._tool = tool
        self._options = options
        self._function = function
        self._key_of: KeyOf | None = key_of(options.get("key"), function)
        self._bound: tuple[Recorder | None, Settings | None] = (None, None)

    def _bind(self) -> tuple[Recorder, Settings]:
        monitor = self._source.monitor()
        bound, settings = self._bound
        if bound is not monitor or settings is None:
            try:
                settings = monitor.settings_for(self._options, self._function)
            except ConfigurationError as error:
                # a monitor configured after decoration may not have a consumer of that name: its own are asked then
                monitor.failed(f"setting up {self._tool}", error)
                settings = monitor.settings_for({**self._options, "consumers": ()}, self._function)
            self._bound = (monitor, settings)
        return monitor, settings

    def _at(self, monitor: Recorder, settings: Settings, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolChannel:
        if self._key_of is None:
            return monitor.channel(self._tool, "", settings)
        try:
            key = self._key_of(args, kwargs)
        except Exception as error:  # noqa: BLE001 - the caller's own key function, or arguments that do not fit
            monitor.failed("telling the key of a call", error)
            key = NO_KEY
        return monitor.channel(self._tool, key, settings)

    def _failed(self, place: str, error: Exception) -> None:
        # the tool may stand so deep in the stack that even this fails
        with suppress(Exception):
            self._source.monitor().failed(place, error)

    def returned(self, response: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count the response of a call that ended. Raises DriftError where that was asked for."""
        if not switch.on:
            return
        try:
            monitor, settings = self._bind()
            monitor.take(self._at(monitor, settings, args, kwargs), settings, response)
        except DriftError:
            raise
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            self._failed("reporting a response", error)

    def raised(self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count a call that failed, by the type of its exception only."""
        if not switch.on:
            return
        try:
            monitor, settings = self._bind()
            monitor.count_error(self._at(monitor, settings, args, kwargs), qualname(type(error)))
        except Exception as failure:  # noqa: BLE001 - the tool must not notice
            self._failed("reporting an error", failure)

    def stream(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stream:
        """Open the record of a stream."""
        if not switch.on:
            return UNWATCHED
        try:
            monitor, settings = self._bind()
            channel = self._at(monitor, settings, args, kwargs)
            return ToolStream(monitor, settings, channel)
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            self._failed("opening a stream", error)
            return UNWATCHED


class _Unwatched:
    def item(self, value: object) -> None:
        pass

    def end(self, outcome: Outcome, error: BaseException | None = None) -> None:
        pass


UNWATCHED: Final = _Unwatched()
"""A stream of which nothing is taken."""


class ToolStream:
    """One stream of a watched tool."""

    __slots__ = ("_channel", "_monitor", "_record", "_settings")

    def __init__(self, monitor: Recorder, settings: Settings, channel: ToolChannel) -> None:
        self._monitor = monitor
        self._settings = settings
        self._channel = channel
        self._record = monitor.stream(channel, settings)

    def item(self, value: object) -> None:
        """Reduce an item as it passes."""
        if switch.on:
            try:
                self._record.add(value)
            except Exception as error:  # noqa: BLE001 - the tool must not notice
                with suppress(Exception):
                    self._monitor.failed("observing an item", error)

    def end(self, outcome: Outcome, error: BaseException | None = None) -> None:
        """Count the stream. Raises DriftError where that was asked for."""
        if not switch.on:
            return
        try:
            self._monitor.end_stream(self._channel, self._settings, self._record, outcome, error)
        except DriftError:
            raise
        except Exception as failure:  # noqa: BLE001 - the tool must not notice
            with suppress(Exception):
                self._monitor.failed("ending a stream", failure)
