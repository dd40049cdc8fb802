"""The background worker: one daemon thread that flushes at an interval while there is something to flush."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_PATIENCE: Final = 2.0
"""Seconds a process that ends waits for its last flush."""


# How often an idle worker looks whether its monitor is still there, in seconds.
_LOOK_UP: Final = 30.0


class _Flushes(Protocol):
    def flush(self, timeout: float) -> bool: ...

    def after_fork(self) -> None: ...


class Worker:
    """Calls ``flush`` at most every ``interval`` seconds after ``wake``, and rests until then.

    ``flush`` is held weakly: the thread ends with what it works for.
    """

    def __init__(self, flush: weakref.WeakMethod[Callable[..., Any]], interval: float) -> None:
        self._flush = flush
        self._interval = interval
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._reset()

    def _reset(self) -> None:
        self._wanted = threading.Event()
        self._hurry = threading.Event()
        self._stopped = False

    def wake(self, *, hurry: bool = False) -> None:
        """There is something to flush; ``hurry``: do not wait for the interval to pass."""
        if self._thread is None:
            self._launch()
        if hurry:
            self._hurry.set()
        if not self._wanted.is_set():
            self._wanted.set()

    def _launch(self) -> None:
        with self._start:
            if self._thread is not None or self._stopped:
                return
            _finalize_child()
            self._thread = threading.Thread(target=self._run, name="toolpulse", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._wanted.wait(_LOOK_UP)
            if self._stopped or self._flush() is None:
                return
            if not self._wanted.is_set():
                continue
            self._hurry.wait(self._interval)
            self._hurry.clear()
            self._wanted.clear()
            flush = self._flush()
            if flush is None:
                return
            flush()
            del flush

    def stop(self) -> None:
        """End the thread once it is idle; a later ``wake`` starts none."""
        self._stopped = True
        self._wanted.set()
        self._hurry.set()

    def after_fork(self) -> None:
        """In a child the thread is gone and a lock may be held by nobody."""
        stopped = self._stopped
        self._start = threading.Lock()
        self._thread = None
        self._reset()
        self._stopped = stopped


_known: weakref.WeakSet[_Flushes] = weakref.WeakSet()
_finalized_pid = 0


def look_after(monitor: _Flushes) -> None:
    """Flush ``monitor`` when the process ends, also a multiprocessing child; tell it when it wakes up in a fork."""
    _known.add(monitor)
    _finalize_child()


def _finalize_child() -> None:
    """Children of multiprocessing skip ``atexit``; they run finalizers that were registered in them."""
    global _finalized_pid  # noqa: PLW0603 - one registration a process
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is None or multiprocessing.parent_process() is None or _finalized_pid == os.getpid():
        return
    from multiprocessing.util import Finalize

    _finalized_pid = os.getpid()
    Finalize(None, _flush_all, exitpriority=0)


def _flush_all() -> None:
    for monitor in list(_known):
        monitor.flush(timeout=EXIT_PATIENCE)


def _after_fork() -> None:
    for monitor in list(_known):
        monitor.after_fork()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
