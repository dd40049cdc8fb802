"""The background worker: one daemon thread that flushes at an interval while there is something to flush."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from toolpulse.runtime.background.lifetime import process_begins

if TYPE_CHECKING:
    from collections.abc import Callable


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
        process_begins()
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

    @property
    def is_current(self) -> bool:
        """Whether it is the thread that asks."""
        return self._thread is threading.current_thread()

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
