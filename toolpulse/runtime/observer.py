"""Between the decorator and a monitor: an observer for each watched tool, which hands on what the calls give.

The wrappers in ``decorator/`` call it (it is their ``Probe``), in the caller's thread and at each call. It finds the
monitor of the moment, the key of the call and its channel, and lets nothing of ours reach the tool but a DriftError.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import structs

from toolpulse._base.classes import qualname
from toolpulse.decorator.decorate import Outcome, Stream, decorate
from toolpulse.errors import ConfigurationError, DecorationError, DriftError
from toolpulse.runtime.keys import KeyOf, key_of
from toolpulse.runtime.settings import WATCH_CHECKS, WatchOptions, check_options
from toolpulse.runtime.switch import switch

if TYPE_CHECKING:
    from toolpulse.runtime.background.channel import ToolChannel
    from toolpulse.runtime.recording import Recorder
    from toolpulse.runtime.settings import ToolSettings, WatchKeywords

NO_KEY: Final = "(no key)"
"""The key of calls whose own could not be found out."""


class MonitorSource(Protocol):
    """Where an observer finds the monitor to report to: one and the same, or that of the process."""

    def recorder(self) -> Recorder:
        """The recorder of the monitor to report to now."""

    def check(self, options: WatchOptions) -> None:
        """Raise ConfigurationError for options that no monitor, or not the present one, can follow."""


def decorator(target: Any, keywords: WatchKeywords, source: MonitorSource, owner: object) -> Any:
    """The watched target, or a decorator where no target is given. Raises at once for what is wrong.

    ``keywords`` are the options of ``watch`` that were given; ``owner`` tells the monitors apart, so that each watches
    a function once.
    """
    unknown = sorted(keywords.keys() - set(WATCH_CHECKS))
    if unknown:
        raise TypeError(f"watch() has no option {unknown[0]!r}; it has {', '.join(WATCH_CHECKS)}")
    if isinstance(target, str):
        raise DecorationError(f"watch({target!r}): a name is given as watch(tool={target!r})")
    if target is not None and keywords:
        raise DecorationError("watch() takes a target or options: write watch(...)(target)")
    options = WatchOptions(**keywords)
    check_options(options)
    source.check(options)

    def decorated(inner: Any) -> Any:
        return decorate(inner, lambda function, name: ToolObserver(source, name, options, function), owner)

    return decorated if target is None else decorated(target)


class ToolObserver:
    """Takes what a watched tool's calls give, and hands it to the monitor of the moment.

    ``name`` is the tool's where the options give none. Raises ConfigurationError for a ``key`` that ``function`` has no
    argument for.
    """

    __slots__ = ("_bound", "_function", "_key_of", "_options", "_source", "_tool")

    def __init__(self, source: MonitorSource, name: str, options: WatchOptions, function: Any) -> None:
        self._source = source
        self._tool = options.tool or name
        self._options = options
        self._function = function
        self._key_of: KeyOf | None = key_of(options.key, function)
        self._bound: tuple[Recorder | None, ToolSettings | None] = (None, None)

    def _bind(self) -> tuple[Recorder, ToolSettings]:
        recorder = self._source.recorder()
        bound, settings = self._bound
        if bound is not recorder or settings is None:
            try:
                settings = recorder.settings_for(self._options, self._function)
            except ConfigurationError as error:
                # a monitor configured after decoration may not have a consumer of that name: its own are asked then
                recorder.failed(f"setting up {self._tool}", error)
                settings = recorder.settings_for(structs.replace(self._options, consumers=()), self._function)
            self._bound = (recorder, settings)
        return recorder, settings

    def _channel(
        self, recorder: Recorder, settings: ToolSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ToolChannel:
        if self._key_of is None:
            return recorder.channel(self._tool, "", settings)
        try:
            key = self._key_of(args, kwargs)
        except Exception as error:  # noqa: BLE001 - the caller's own key function, or arguments that do not fit
            recorder.failed("telling the key of a call", error)
            key = NO_KEY
        return recorder.channel(self._tool, key, settings)

    def _failed(self, place: str, error: Exception) -> None:
        # the tool may stand so deep in the stack that even this fails
        with suppress(Exception):
            self._source.recorder().failed(place, error)

    def returned(self, response: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count the response of a call that ended. Raises DriftError where that was asked for."""
        if not switch.on:
            return
        try:
            recorder, settings = self._bind()
            recorder.record(self._channel(recorder, settings, args, kwargs), settings, response)
        except DriftError:
            raise
        except Exception as error:  # noqa: BLE001 - the tool must not notice
            self._failed("reporting a response", error)

    def raised(self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count a call that failed, by the type of its exception only."""
        if not switch.on:
            return
        try:
            recorder, settings = self._bind()
            recorder.record_error(self._channel(recorder, settings, args, kwargs), qualname(type(error)))
        except Exception as failure:  # noqa: BLE001 - the tool must not notice
            self._failed("reporting an error", failure)

    def stream(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stream:
        """Open the record of a stream."""
        if not switch.on:
            return UNWATCHED
        try:
            recorder, settings = self._bind()
            return ToolStream(recorder, settings, self._channel(recorder, settings, args, kwargs))
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

    __slots__ = ("_channel", "_record", "_recorder", "_settings")

    def __init__(self, recorder: Recorder, settings: ToolSettings, channel: ToolChannel) -> None:
        self._recorder = recorder
        self._settings = settings
        self._channel = channel
        self._record = recorder.open_stream(channel, settings)

    def item(self, value: object) -> None:
        """Reduce an item as it passes."""
        if switch.on:
            try:
                self._record.add(value)
            except Exception as error:  # noqa: BLE001 - the tool must not notice
                with suppress(Exception):
                    self._recorder.failed("observing an item", error)

    def end(self, outcome: Outcome, error: BaseException | None = None) -> None:
        """Count the stream. Raises DriftError where that was asked for."""
        if not switch.on:
            return
        try:
            self._recorder.end_stream(self._channel, self._settings, self._record, outcome, error)
        except DriftError:
            raise
        except Exception as failure:  # noqa: BLE001 - the tool must not notice
            with suppress(Exception):
                self._recorder.failed("ending a stream", failure)
