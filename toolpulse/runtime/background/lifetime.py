"""The life of a process: monitors are flushed when it ends, or is ended by a signal, and are told when it forks."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import Any, Final, Protocol

from toolpulse.runtime.background.signals import Signals
from toolpulse.shape import nodes

EXIT_PATIENCE: Final = 2.0
"""Seconds a process that ends waits for the last flush of its monitors, all together."""


class Monitored(Protocol):
    """What is looked after."""

    @property
    def has_work(self) -> bool:
        """Whether there is anything to save or to send. Takes no lock: a signal handler asks."""

    def flush_at_exit(self, timeout: float) -> object:
        """Flush within ``timeout`` seconds."""

    def process_ends(self) -> None:
        """The last flush of this process begins: what is counted from now on has to save itself."""

    def before_fork(self) -> None:
        """A thread is about to fork."""

    def after_fork_in_parent(self) -> None:
        """It has."""

    def after_fork(self) -> None:
        """This is the child."""


_known: weakref.WeakSet[Any] = weakref.WeakSet()
_forking: dict[int, list[Monitored]] = {}
"""The monitors that were prepared for a fork, by the thread that forks; two may do so at once."""
_finalized_pid = 0
_ended_pid = 0


def look_after(monitor: Monitored, *, save_on_signals: bool = False) -> None:
    """Flush ``monitor`` when the process ends, also a multiprocessing child; tell it when it wakes up in a fork.

    ``save_on_signals``: also when SIGTERM or SIGHUP ends the process, where the application left that to the default.
    """
    _known.add(monitor)
    if _ended_pid == os.getpid():
        monitor.process_ends()
    if save_on_signals:
        signals.want()
    _finalize_child()


def process_begins() -> None:
    """A process, perhaps a forked one, begins to have something to save."""
    _finalize_child()
    signals.again()


def _finalize_child() -> None:
    """Children of multiprocessing skip ``atexit``; they run finalizers that were registered in them."""
    global _finalized_pid  # noqa: PLW0603 - one registration a process
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is None or multiprocessing.parent_process() is None or _finalized_pid == os.getpid():
        return
    from multiprocessing.util import Finalize

    _finalized_pid = os.getpid()
    Finalize(None, _end, exitpriority=0)


def _end() -> None:
    """The interpreter is ending."""
    global _ended_pid  # noqa: PLW0603 - told to the monitors that are made later
    _ended_pid = os.getpid()
    signals.exits = True
    for monitor in list(_known):
        monitor.process_ends()
    _flush_all()
    signals.exits = False
    signals.finish()


def _flush_all() -> None:
    deadline = time.monotonic() + EXIT_PATIENCE
    for monitor in list(_known):
        monitor.flush_at_exit(deadline - time.monotonic())


def _any_has_work() -> bool:
    return any(monitor.has_work for monitor in list(_known))


signals: Final = Signals(_any_has_work, _flush_all, EXIT_PATIENCE)
"""The signals of this process."""


def _before_fork() -> None:
    prepared = _forking[threading.get_ident()] = list(_known)
    for monitor in prepared:
        monitor.before_fork()


def _after_fork_in_parent() -> None:
    for monitor in _forking.pop(threading.get_ident(), ()):
        monitor.after_fork_in_parent()


def _after_fork() -> None:
    nodes.after_fork()
    signals.after_fork()
    for monitor in list(_known):
        monitor.after_fork()
    _forking.clear()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)
