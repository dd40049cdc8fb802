"""The checks of settings: each takes what the user gave, and returns it as it is used from then on.

Each raises ConfigurationError, and the message names the setting that is wrong, and where it stands in a list. The
tables in ``settings.py`` say which setting has which check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from toolpulse._base.paths import glob
from toolpulse.errors import ConfigurationError
from toolpulse.events import DriftEvent
from toolpulse.judgement.consumer import Consumer
from toolpulse.shape import Limits
from toolpulse.shape.envelopes import MODES
from toolpulse.sinks.base import Sink
from toolpulse.state.baseline import Baseline
from toolpulse.stores.base import Store, missing_methods

T = TypeVar("T")

OnDrift: TypeAlias = Literal["log", "raise"] | Callable[[DriftEvent], object]
"""What happens on drift beside the sinks: nothing more, DriftError in the caller's thread, or a call."""


def optional(check: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """The check of a setting that may be left open with None."""
    return lambda value: None if value is None else check(value)


def check_tool(tool: Any) -> None:
    """A tool's name: text that is not empty, and that every store can keep."""
    if not isinstance(tool, str) or not tool:
        raise ConfigurationError(f"tool must be a string that is not empty, not {tool!r}")
    if not tool.isascii() and tool.encode("utf-8", "replace").decode() != tool:
        raise ConfigurationError(f"tool must be text that can be written as UTF-8, not {tool!r}")


def check_store(store: Any) -> str | Store:
    """A URL, or an object with the methods of ``toolpulse.stores.base.Store``."""
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
    """A list of objects with a method ``emit``, no classes."""
    if callable(getattr(sinks, "emit", None)):
        raise ConfigurationError("sinks takes a list of sinks, not one")
    listed = _listed("sinks", sinks)
    for index, sink in enumerate(listed):
        if isinstance(sink, type):
            raise ConfigurationError(f"sinks[{index}] must be an object with emit(event); {sink.__name__} is a class")
        if not callable(getattr(sink, "emit", None)):
            kind = type(sink).__name__
            raise ConfigurationError(
                f"sinks[{index}]: {kind} lacks the method emit(event); see toolpulse.sinks.base.Sink"
            )
    return listed


def check_consumers(consumers: Any) -> tuple[Consumer, ...]:
    """A list of consumers of different names."""
    if isinstance(consumers, Consumer):
        raise ConfigurationError("consumers takes a list of consumers, not one")
    listed = _listed("consumers", consumers)
    names: set[str] = set()
    for index, consumer in enumerate(listed):
        if not isinstance(consumer, Consumer):
            raise ConfigurationError(f"consumers[{index}] must be a Consumer, not {type(consumer).__name__}")
        if consumer.name in names:
            raise ConfigurationError(f"consumers: two are named {consumer.name}")
        names.add(consumer.name)
    return listed


def listed_consumers(consumers: Any) -> tuple[Any, ...]:
    """A list, of whatever it is; not one consumer or one name, which is a list forgotten."""
    if isinstance(consumers, str | Consumer):
        raise ConfigurationError("consumers takes a list of consumers or their names")
    return _listed("consumers", consumers)


def check_named(consumers: Any, known: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """A list of consumers, or of names of ``known`` ones, which are looked up."""
    listed = listed_consumers(consumers)
    by_name = {consumer.name: consumer for consumer in known}
    chosen = []
    for consumer in listed:
        if not isinstance(consumer, Consumer) and (not isinstance(consumer, str) or consumer not in by_name):
            raise ConfigurationError(
                f"consumers: {consumer!r} is not one of the monitor's ({', '.join(by_name) or 'none'})"
            )
        chosen.append(consumer if isinstance(consumer, Consumer) else by_name[consumer])
    return check_consumers(chosen)


def check_baselines(baselines: Any) -> dict[str, Baseline]:
    """A mapping of tool names to baselines; copied."""
    if not isinstance(baselines, Mapping):
        raise ConfigurationError(f"baselines takes a dict of tool names to baselines, not {type(baselines).__name__}")
    for tool, baseline in baselines.items():
        if not isinstance(tool, str):
            raise ConfigurationError(f"baselines takes tool names, not {tool!r}")
        if not isinstance(baseline, Baseline):
            raise ConfigurationError(f"baselines[{tool!r}] must be a Baseline, not {type(baseline).__name__}")
    return dict(baselines)


def check_confirm(confirm: Any) -> int:
    """A whole number of observations, at least 1."""
    if type(confirm) is not int or confirm < 1:
        raise ConfigurationError(f"confirm must be a whole number of at least 1, not {confirm!r}")
    return confirm


def check_interval(seconds: Any) -> float:
    """A finite number of seconds above 0."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not math.isfinite(seconds) or seconds <= 0:
        raise ConfigurationError(f"flush_interval must be a number of seconds above 0, not {seconds!r}")
    return float(seconds)


def check_switch(name: str) -> Callable[[Any], bool]:
    """The check of a setting that is True or False, and no other value that counts as either."""

    def check(on: Any) -> bool:
        if not isinstance(on, bool):
            raise ConfigurationError(f"{name} must be True or False, not {on!r}")
        return on

    return check


def check_on_drift(value: Any) -> OnDrift:
    """``log``, ``raise``, or a callable that takes an event."""
    if callable(value) or (isinstance(value, str) and value in {"log", "raise"}):
        checked: OnDrift = value
        return checked
    raise ConfigurationError(f"on_drift must be 'log', 'raise' or callable, not {value!r}")


def check_unwrap(unwrap: Any) -> str:
    """``auto`` or ``none``."""
    if not isinstance(unwrap, str) or unwrap not in MODES:
        raise ConfigurationError(f"unwrap must be one of {', '.join(MODES)}, not {unwrap!r}")
    return unwrap


def check_limits(limits: Any) -> Limits:
    """Limits."""
    if not isinstance(limits, Limits):
        raise ConfigurationError(f"limits must be Limits(...), not {type(limits).__name__}")
    return limits


def check_globs(name: str) -> Callable[[Any], tuple[str, ...]]:
    """The check of a setting that takes globs of paths."""
    return lambda paths: _globs(name, paths)


def _globs(name: str, paths: Any) -> tuple[str, ...]:
    if isinstance(paths, str):
        raise ConfigurationError(f"{name} takes a list of paths, not a bare string")
    listed = _listed(name, paths)
    for path in listed:
        if not isinstance(path, str):
            raise ConfigurationError(f"{name} takes paths as text, not {path!r}")
        try:
            glob(path)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from None
    return listed


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise ConfigurationError(f"{name} takes a list, not {type(given).__name__}") from None
