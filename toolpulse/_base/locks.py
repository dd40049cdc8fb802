"""A lock for what a thread may come back into: signal handlers, finalizers and sinks run in the middle of anything."""

from __future__ import annotations

import threading


class NonReentrantLock:
    """A lock that its holder gets no second time: a signal handler or a sink that comes back in is turned away."""

    def __init__(self) -> None:
        # its own thread never waits for it, so there is no moment in which it is held and its holder not known
        self._lock = threading.RLock()
        self._acquired = False

    def acquire(self, timeout: float = threading.TIMEOUT_MAX) -> bool:
        """Wait up to ``timeout`` seconds for it; True means that ``release`` has to follow."""
        if not self._lock.acquire(timeout=min(max(timeout, 0.0), threading.TIMEOUT_MAX)):
            return False
        if self._acquired:
            self._lock.release()
            return False
        self._acquired = True
        return True

    def release(self) -> None:
        """Let the next one in."""
        self._acquired = False
        self._lock.release()

    @property
    def mine(self) -> bool:
        """Whether the thread that asks has it."""
        # a try to acquire it would say so as well, but an exception out of a signal handler could keep it taken
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001 - as Condition asks it
