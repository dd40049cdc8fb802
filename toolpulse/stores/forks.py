"""SQLite and fork: its locks are those of a process, and a child that inherits a connection would have none.

So whatever is idle is closed before a process forks, and opened again in either where it is next used. (What
``subprocess`` starts is no such fork.)
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Final, Protocol

PATIENCE: Final = 2.0
"""Seconds for which a fork waits for a transaction of another thread."""


class Forking(Protocol):
    """An engine with connections that must not be inherited."""

    lock: threading.RLock
    """Held by whoever uses the connection."""

    def rest(self) -> None:
        """Close what is idle."""

    def after_fork(self) -> None:
        """In a child: leave what was inherited alone."""


_engines: weakref.WeakSet[Forking] = weakref.WeakSet()
_stopped: dict[int, list[Forking]] = {}
"""By the thread that forks; two may do so at once."""


def watch(engine: Forking) -> None:
    """Look after an engine as long as it lives."""
    _engines.add(engine)


def _before() -> None:
    stopped = _stopped[threading.get_ident()] = []
    for engine in list(_engines):
        if engine.lock.acquire(timeout=PATIENCE):
            stopped.append(engine)
            engine.rest()


def _after_in_parent() -> None:
    for engine in _stopped.pop(threading.get_ident(), ()):
        engine.lock.release()


def _after_in_child() -> None:
    _stopped.clear()
    for engine in list(_engines):
        engine.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
