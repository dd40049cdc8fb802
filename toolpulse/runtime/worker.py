"""The background worker: one daemon thread that flushes at an interval while there is something to flush."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolpulse.shape import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_PATIENCE: Final = 2.0
"""Seconds a process that ends waits for the last flush of its monitors, all together."""


class Worker:
    """Calls ``flush`` at most every ``interval`` seconds after ``wake``, and rests until then.

    ``flush`` is held weakly, so that the thread does not keep what it works for; ``started`` is called as well when the
    thread starts, again in a fork.
    """

    def __init__(
        self, flush: Callable[[], object], interval: float, started: Callable[[], object] = lambda: None
    ) -> None:
        self._flush = _weak(flush)
        self._started = _weak(started)
        self._interval = interval
        self._stopped = False
        self._reset()

    def _reset(self) -> None:
        self._change = threading.Condition()
        self._launching = threading.Lock()
        """Nobody waits for it: whoever finds it taken leaves the start of the thread to its holder."""
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._hurry = False
        self._begun = 0
        self._ended = 0

    def wake(self, *, hurry: bool = False) -> None:
        """There is something to flush; ``hurry``: do not wait for the interval to pass."""
        if self._wanted and (self._hurry or not hurry) and self._thread is not None:
            return
        with self._change:
            if self._stopped:
                return
            self._wanted = True
            self._hurry = self._hurry or hurry
            self._change.notify_all()
            if self._thread is not None or not self._launching.acquire(blocking=False):
                return
        try:
            self._launch()
        finally:
            self._launching.release()

    def _launch(self) -> None:
        _finalize_child()
        # known before it runs, for it says itself when it ends
        self._thread = thread = threading.Thread(target=self._run, name="toolpulse", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, and the flush at exit is still to come
            self._thread = None
            return
        started = self._started()
        if started is not None:
            started()

    def flush(self, timeout: float) -> bool | None:
        """Have the thread flush now. False where it has not ended after ``timeout`` seconds, None without a thread."""
        with self._change:
            thread = self._thread
            # one that is just being started may be so by the caller, further up in its stack
            if thread is None or thread is threading.current_thread() or self._stopped or not thread.is_alive():
                return None
            self._wanted = self._hurry = True
            wanted = self._begun + 1
            self._change.notify_all()
            return self._change.wait_for(lambda: self._ended >= wanted, max(timeout, 0.0))

    def _run(self) -> None:
        try:
            while self._rest():
                flush = self._flush()
                if flush is None:
                    return
                flush()
                del flush
                with self._change:
                    self._ended = self._begun
                    self._change.notify_all()
        finally:
            # whatever ended it, the next wake starts another
            self._thread = None

    def _rest(self) -> bool:
        """Wait for something to flush, then for the interval or a hurry; False at the end."""
        with self._change:
            self._change.wait_for(lambda: self._wanted or self._stopped)
            self._change.wait_for(lambda: self._hurry or self._stopped, self._interval)
            self._wanted = self._hurry = False
            self._begun += 1
            return not self._stopped

    def stop(self) -> None:
        """End the thread once it is idle; a later ``wake`` starts none."""
        with self._change:
            self._stopped = True
            self._change.notify_all()

    def after_fork(self) -> None:
        """In a child the thread is gone and a lock may be held by nobody."""
        self._reset()


def _weak(call: Callable[[], object]) -> Callable[[], Callable[[], object] | None]:
    return weakref.WeakMethod(call) if hasattr(call, "__self__") else lambda: call


class Monitored(Protocol):
    """What is looked after."""

    def flush_at_exit(self, timeout: float) -> object:
        """Flush within ``timeout`` seconds."""

    def before_fork(self) -> None:
        """A thread is about to fork."""

    def after_fork_in_parent(self) -> None:
        """It has."""

    def after_fork(self) -> None:
        """This is the child."""


_known: weakref.WeakSet[Any] = weakref.WeakSet()
_forking: dict[int, list[Monitored]] = {}
"""What was told of a fork, by the thread that forks; two may do so at once."""
_finalized_pid = 0


def look_after(monitor: Monitored) -> None:
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
    deadline = time.monotonic() + EXIT_PATIENCE
    for monitor in list(_known):
        monitor.flush_at_exit(deadline - time.monotonic())


def _before_fork() -> None:
    told = _forking[threading.get_ident()] = list(_known)
    for monitor in told:
        monitor.before_fork()


def _after_fork_in_parent() -> None:
    for monitor in _forking.pop(threading.get_ident(), ()):
        monitor.after_fork_in_parent()


def _after_fork() -> None:
    nodes.after_fork()
    for monitor in list(_known):
        monitor.after_fork()
    _forking.clear()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)
