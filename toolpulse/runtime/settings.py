"""Settings: how one tool is watched, and the checks of what a monitor is given. Each names the key that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from toolpulse._base.paths import glob
from toolpulse.errors import ConfigurationError
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import Consumer
from toolpulse.shape import Limits, Walker
from toolpulse.shape.envelopes import MODES
from toolpulse.sinks.base import Sink
from toolpulse.state.baseline import Baseline
from toolpulse.stores.base import Store, missing_methods

OnDrift: TypeAlias = Literal["log", "raise"] | Callable[[DriftEvent], object]
"""What happens on drift beside the sinks: nothing more, DriftError in the caller's thread, or a call."""


class Settings(msgspec.Struct, frozen=True):
    """How one tool is watched."""

    consumers: tuple[Consumer, ...]
    """Named for this tool; the monitor's that fit it are asked where there are none."""
    walker: Walker
    unwrap: str
    on_drift: OnDrift
    function: Any = None
    """The watched function, where there is one, for consumers that expect its annotation."""


def check_tool(tool: Any) -> None:
    """A tool's name: text that is not empty."""
    if not isinstance(tool, str) or not tool:
        raise ConfigurationError(f"tool must be a string that is not empty, not {tool!r}")
    if not tool.isascii() and tool.encode("utf-8", "replace").decode() != tool:
        raise ConfigurationError(f"tool must be text that can be written as UTF-8, not {tool!r}")


def check_store(store: Any) -> str | Store:
    """A URL, or an object with a store's methods."""
    if isinstance(store, type):
        raise ConfigurationError(f"store must be a URL or an object; {store.__name__} is a class")
    lacking = [] if isinstance(store, str) else missing_methods(store)
    if lacking:
        names = ", ".join(f"{name}()" for name in lacking)
        raise ConfigurationError(
            f"store: {type(store).__name__} is no URL and lacks the method{'s' if lacking[1:] else ''} {names}; "
            "see toolpulse.stores.base.Store"
        )
    checked: str | Store = store
    return checked


def check_sinks(sinks: Any) -> tuple[Sink, ...]:
    """Objects with ``emit``."""
    if callable(getattr(sinks, "emit", None)):
        raise ConfigurationError("sinks takes a list of sinks, not one")
    found = _listed("sinks", sinks)
    for index, sink in enumerate(found):
        if isinstance(sink, type):
            raise ConfigurationError(f"sinks[{index}] must be an object with emit(event); {sink.__name__} is a class")
        if not callable(getattr(sink, "emit", None)):
            kind = type(sink).__name__
            raise ConfigurationError(
                f"sinks[{index}]: {kind} lacks the method emit(event); see toolpulse.sinks.base.Sink"
            )
    return found


def check_consumers(consumers: Any) -> tuple[Consumer, ...]:
    """Consumers of different names."""
    if isinstance(consumers, Consumer):
        raise ConfigurationError("consumers takes a list of consumers, not one")
    found = _listed("consumers", consumers)
    names: set[str] = set()
    for index, consumer in enumerate(found):
        if not isinstance(consumer, Consumer):
            raise ConfigurationError(f"consumers[{index}] must be a Consumer, not {type(consumer).__name__}")
        if consumer.name in names:
            raise ConfigurationError(f"consumers: two are named {consumer.name}")
        names.add(consumer.name)
    return found


def check_named(consumers: Any, known: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """Consumers, or names of ``known`` ones."""
    if isinstance(consumers, str | Consumer):
        raise ConfigurationError("consumers takes a list of consumers or their names")
    by_name = {consumer.name: consumer for consumer in known}
    found = []
    for consumer in _listed("consumers", consumers):
        if not isinstance(consumer, Consumer) and (not isinstance(consumer, str) or consumer not in by_name):
            raise ConfigurationError(
                f"consumers: {consumer!r} is not one of the monitor's ({', '.join(by_name) or 'none'})"
            )
        found.append(consumer if isinstance(consumer, Consumer) else by_name[consumer])
    return check_consumers(found)


def check_baselines(baselines: Any) -> dict[str, Baseline]:
    """Baselines by tool name."""
    if not isinstance(baselines, Mapping):
        raise ConfigurationError(f"baselines takes a dict of tool names to baselines, not {type(baselines).__name__}")
    for tool, baseline in baselines.items():
        if not isinstance(tool, str):
            raise ConfigurationError(f"baselines takes tool names, not {tool!r}")
        if not isinstance(baseline, Baseline):
            raise ConfigurationError(f"baselines[{tool!r}] must be a Baseline, not {type(baseline).__name__}")
    return dict(baselines)


def check_confirm(confirm: Any) -> int:
    """A number of observations."""
    if type(confirm) is not int or confirm < 1:
        raise ConfigurationError(f"confirm must be a whole number of at least 1, not {confirm!r}")
    return confirm


def check_interval(seconds: Any) -> float:
    """A number of seconds."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not math.isfinite(seconds) or seconds <= 0:
        raise ConfigurationError(f"flush_interval must be a number of seconds above 0, not {seconds!r}")
    return float(seconds)


def check_switch(name: str, on: Any) -> bool:
    """True or False."""
    if not isinstance(on, bool):
        raise ConfigurationError(f"{name} must be True or False, not {on!r}")
    return on


def check_on_drift(value: Any) -> OnDrift:
    """One of the two words, or a callable."""
    if callable(value) or (isinstance(value, str) and value in {"log", "raise"}):
        checked: OnDrift = value
        return checked
    raise ConfigurationError(f"on_drift must be 'log', 'raise' or callable, not {value!r}")


def check_unwrap(unwrap: Any) -> str:
    """One of the modes."""
    if not isinstance(unwrap, str) or unwrap not in MODES:
        raise ConfigurationError(f"unwrap must be one of {', '.join(MODES)}, not {unwrap!r}")
    return unwrap


def check_walk(limits: Any, maps: Any, records: Any) -> Walker:
    """Limits, and globs of paths."""
    if not isinstance(limits, Limits):
        raise ConfigurationError(f"limits must be Limits(...), not {type(limits).__name__}")
    return Walker(limits, _globs("maps", maps), _globs("records", records))


def _globs(name: str, paths: Any) -> tuple[str, ...]:
    if isinstance(paths, str):
        raise ConfigurationError(f"{name} takes a list of paths, not a bare string")
    found = _listed(name, paths)
    for path in found:
        if not isinstance(path, str):
            raise ConfigurationError(f"{name} takes paths as text, not {path!r}")
        try:
            glob(path)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from None
    return found


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise ConfigurationError(f"{name} takes a list, not {type(given).__name__}") from None


def with_unwrap(settings: Settings, unwrap: str) -> Settings:
    """The same with another way to read responses."""
    return settings if unwrap == settings.unwrap else msgspec.structs.replace(settings, unwrap=check_unwrap(unwrap))


def settings_of(
    options: Mapping[str, Any], function: Any, limits: Limits, on_drift: OnDrift, known: Sequence[Consumer]
) -> Settings:
    """The settings that options of ``watch`` give; what they leave out is the monitor's. Raises ConfigurationError."""
    chosen, own = options.get("limits"), options.get("on_drift")
    return Settings(
        tuple(consumer.for_function(function) for consumer in check_named(options.get("consumers", ()), known)),
        check_walk(limits if chosen is None else chosen, options.get("maps", ()), options.get("records", ())),
        check_unwrap(options.get("unwrap", "auto")),
        on_drift if own is None else check_on_drift(own),
        function,
    )


def check_options(options: Mapping[str, Any]) -> None:
    """Options of ``watch`` before there is a monitor: consumers may be named that it will have."""
    given = options.get("consumers", ())
    named = () if isinstance(given, str | Consumer) else _listed("consumers", given)
    names = {name for name in named if isinstance(name, str)}
    settings_of(options, None, Limits(), "log", [Consumer(name) for name in names if name])
