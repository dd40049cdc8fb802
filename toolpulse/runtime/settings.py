"""The settings of a monitor and the options of ``watch``: every one is a field here, with its type and default.

Signatures follow from the fields, and each field has a check in the table below its struct. So a new setting is one
field and one line of a table (and one line in the docs; ``tests/runtime/test_settings.py`` holds all of them together).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypedDict, TypeVar

import msgspec

from toolpulse.judgement.consumer import Consumer
from toolpulse.runtime import checks
from toolpulse.runtime.checks import OnDrift
from toolpulse.runtime.keys import check_key
from toolpulse.shape import DEFAULT_LIMITS, Limits, Walker
from toolpulse.sinks.base import Sink
from toolpulse.state.baseline import Baseline
from toolpulse.stores.base import Store

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])
SettingsT = TypeVar("SettingsT", bound="MonitorSettings")


class StoreSetting(msgspec.Struct, frozen=True):
    """The one setting that may be given without its name."""

    store: str | Store | None = None


class MonitorSettings(StoreSetting, frozen=True, kw_only=True):
    """What ``Monitor`` and ``configure`` take; what each means is told by ``Monitor``."""

    sinks: Sequence[Sink] | None = None
    consumers: Sequence[Consumer] = ()
    baselines: Mapping[str, Baseline] | None = None
    confirm: int = 1
    limits: Limits = DEFAULT_LIMITS
    background: bool = True
    flush_interval: float = 1.0
    on_drift: OnDrift = "log"
    save_on_signals: bool = True


MONITOR_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "store": checks.optional(checks.check_store),
    "sinks": checks.optional(checks.check_sinks),
    "consumers": checks.check_consumers,
    "baselines": checks.optional(checks.check_baselines),
    "confirm": checks.check_confirm,
    "limits": checks.check_limits,
    "background": checks.check_switch("background"),
    "flush_interval": checks.check_interval,
    "on_drift": checks.check_on_drift,
    "save_on_signals": checks.check_switch("save_on_signals"),
}


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What ``watch`` takes; what each means is told by ``toolpulse.watch``. None leaves it to the monitor."""

    tool: str | None = None
    key: str | Callable[..., object] | None = None
    consumers: Sequence[Consumer | str] = ()
    maps: Sequence[str] = ()
    records: Sequence[str] = ()
    limits: Limits | None = None
    unwrap: str = "auto"
    on_drift: OnDrift | None = None


class WatchKeywords(TypedDict, total=False):
    """The fields of ``WatchOptions`` as keywords, which is how a type checker reads ``watch``."""

    tool: str | None
    key: str | Callable[..., object] | None
    consumers: Sequence[Consumer | str]
    maps: Sequence[str]
    records: Sequence[str]
    limits: Limits | None
    unwrap: str
    on_drift: OnDrift | None


def _any_consumers(consumers: Any) -> tuple[Consumer, ...]:
    """Before there is a monitor: consumers may be named that it will have."""
    listed = checks.listed_consumers(consumers)
    names = dict.fromkeys(name for name in listed if isinstance(name, str) and name)
    return checks.check_named(listed, [Consumer(name) for name in names])


WATCH_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "tool": checks.optional(checks.check_tool),
    "key": check_key,
    "consumers": _any_consumers,
    "maps": checks.check_globs("maps"),
    "records": checks.check_globs("records"),
    "limits": checks.optional(checks.check_limits),
    "unwrap": checks.check_unwrap,
    "on_drift": checks.optional(checks.check_on_drift),
}


class ToolSettings(msgspec.Struct, frozen=True):
    """How one tool is watched: its options, and the monitor's settings where they leave something open."""

    consumers: tuple[Consumer, ...]
    """Named for this tool; the monitor's that fit it are asked where there are none."""
    walker: Walker
    unwrap: str
    on_drift: OnDrift
    function: Any = None
    """The watched function, where there is one, for consumers that expect its annotation."""


def checked(settings: SettingsT) -> SettingsT:
    """The same settings, each passed through its check. Raises ConfigurationError naming the first that is wrong."""
    return msgspec.structs.replace(
        settings, **{name: check(getattr(settings, name)) for name, check in MONITOR_CHECKS.items()}
    )


def check_options(options: WatchOptions) -> None:
    """Raise ConfigurationError for options that no monitor can follow, naming the option."""
    for name, check in WATCH_CHECKS.items():
        check(getattr(options, name))
    Walker(maps=options.maps, records=options.records)  # refuses a path that both name


def tool_settings(
    options: WatchOptions, function: Callable[..., object] | None, settings: MonitorSettings
) -> ToolSettings:
    """How one monitor watches a tool. Raises ConfigurationError naming the option that is wrong.

    ``settings`` are those of the monitor, checked; ``function`` is the watched one, None for a response without.
    """
    named = checks.check_named(options.consumers, settings.consumers)
    limits = settings.limits if options.limits is None else checks.check_limits(options.limits)
    maps, records = (WATCH_CHECKS[name](getattr(options, name)) for name in ("maps", "records"))
    return ToolSettings(
        tuple(consumer.for_function(function) for consumer in named),
        Walker(limits, maps, records),
        checks.check_unwrap(options.unwrap),
        settings.on_drift if options.on_drift is None else checks.check_on_drift(options.on_drift),
        function,
    )


def with_unwrap(settings: ToolSettings, unwrap: str) -> ToolSettings:
    """The same with another way to read responses. Raises ConfigurationError for a way that there is none of."""
    if unwrap == settings.unwrap:
        return settings
    return msgspec.structs.replace(settings, unwrap=checks.check_unwrap(unwrap))


def signature_of(model: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the parameters of ``model``, for type checkers and for ``inspect.signature`` alike."""

    def decorated(function: Callable[..., R]) -> Callable[P, R]:
        own, parameters = inspect.signature(function), inspect.signature(model).parameters
        function.__signature__ = own.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
        return function

    return decorated


def watch_signature(function: F) -> F:
    """Let ``inspect.signature`` show the options of ``watch`` where the code says ``**options``."""
    *positional, _ = inspect.signature(function).parameters.values()
    options = inspect.signature(WatchOptions).parameters.values()
    function.__signature__ = inspect.Signature([*positional, *options])  # type: ignore[attr-defined]
    return function


def takes(struct: Callable[P, S]) -> Callable[[Callable[[Any, S], None]], Callable[Concatenate[Any, P], None]]:
    """Let an ``__init__`` that is written for one struct take the struct's fields as its parameters."""

    def decorated(init: Callable[[Any, S], None]) -> Callable[Concatenate[Any, P], None]:
        me, _ = inspect.signature(init).parameters.values()
        fields = inspect.signature(struct)
        signature = fields.replace(parameters=[me, *fields.parameters.values()], return_annotation=None)

        @functools.wraps(init)
        def initialize(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
            signature.bind(self, *args, **kwargs)  # its TypeError names the parameter that there is none of
            init(self, struct(*args, **kwargs))

        initialize.__signature__ = signature  # type: ignore[attr-defined]
        return initialize

    return decorated
