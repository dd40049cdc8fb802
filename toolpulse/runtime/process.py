"""The monitor of this process: what ``toolpulse.watch`` reports to, and ``toolpulse.configure`` sets."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, Unpack, overload

from toolpulse.errors import ConfigurationError
from toolpulse.runtime.background.lifetime import signals
from toolpulse.runtime.monitor import Monitor
from toolpulse.runtime.observer import decorator
from toolpulse.runtime.recording import Recorder
from toolpulse.runtime.settings import WatchKeywords, WatchOptions, signature_of, watch_signature
from toolpulse.runtime.switch import switch

T = TypeVar("T")

_log = logging.getLogger("toolpulse")


class _Process:
    """Holds the monitor; it is made at the first call of a watched tool unless one was configured before."""

    def __init__(self) -> None:
        self._monitor: Monitor | None = None
        self._making = threading.RLock()

    def recorder(self) -> Recorder:
        """The recorder of the monitor, which is made where there is none."""
        return (self._monitor or self._make()).recorder

    def _make(self) -> Monitor:
        with self._making:
            if self._monitor is not None:
                return self._monitor
            made = _default_monitor()
            # a signal handler that called a watched tool meanwhile has made the one that counts
            if self._monitor is None:
                self._monitor = made
            return self._monitor

    def expect_calls(self) -> None:
        """A tool is watched. Its first call, which makes the monitor, may come in a thread that may set no handler."""
        if self._monitor is None and switch.on:
            signals.want()

    def check(self, options: WatchOptions) -> None:
        """Raise ConfigurationError for options that the monitor cannot follow; one to come may have any consumers."""
        if self._monitor is not None:
            self._monitor.recorder.settings_for(options)

    def set(self, monitor: Monitor | None) -> Monitor | None:
        """Put a monitor in place, or none, so that the next call makes one; the one before."""
        with self._making:
            before, self._monitor = self._monitor, monitor
            return before

    def after_fork(self) -> None:
        """In a child the lock may be held by nobody."""
        self._making = threading.RLock()


def _default_monitor() -> Monitor:
    """The monitor of whoever configured none. A call of a tool is no place to raise what is wrong with a variable."""
    try:
        return Monitor()
    except ConfigurationError as error:
        _log.warning("toolpulse: %s; what is learned stays in memory", error)
        return Monitor("memory:")


process: Final = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.after_fork)


@signature_of(Monitor)
def configure(*args: Any, **settings: Any) -> Monitor:
    """Set this process's monitor and return it; watched tools report to it from their next call on.

    The settings are those of ``Monitor``. The monitor before it is flushed and closed; ``save_on_signals=False`` gives
    SIGTERM and SIGHUP back their default where a decorator or another monitor had them save first. Raises
    ConfigurationError naming the setting that is wrong, and then nothing is changed.
    """
    monitor = Monitor(*args, **settings)
    if not settings.get("save_on_signals", True):
        signals.leave()
    before = process.set(monitor)
    if before is not None:
        before.close()
    return monitor


@overload
def watch(target: T, /) -> T: ...


@overload
def watch(**options: Unpack[WatchKeywords]) -> Callable[[T], T]: ...


@watch_signature
def watch(target: Any = None, /, **options: Unpack[WatchKeywords]) -> Any:
    """Watch a tool's responses: ``@watch`` or ``@watch(...)`` over a function, a method, a callable or a tool object.

    ``tool``: its name; ``module.qualname`` without one. ``key``: an argument's name, or a callable of the arguments,
    that names the variant of a call; variants have baselines of their own, and the key's value is stored.
    ``consumers``: who reads it, as Consumer or by name. ``maps`` and ``records``: globs of paths whose objects are (are
    not) maps. ``limits``: how much of a response is looked at. ``unwrap``: ``"auto"`` looks through JSON text, MCP
    results and framework messages, ``"none"`` does not. ``on_drift``: ``"log"``, ``"raise"`` or a callable.

    The tool behaves as before: same kind, same result object, same exceptions, same laziness. Raises DecorationError (a
    TypeError) for what cannot be watched and ConfigurationError (a ValueError) for a bad option, both at decoration.
    """
    watched = decorator(target, options, process, process)
    process.expect_calls()
    return watched
