"""The store as a monitor sees it: who uses it now, whether it answers, and when it is asked again.

Only one thread at a time talks to the store (``acquire`` and ``release``). The store may fail, hang, or turn out to be
unusable; none of it reaches a watched tool. The flusher, its transactions and questions of the user go through here.
"""

from __future__ import annotations

import secrets
import time
from typing import Final, Literal

from toolpulse._base.guard import Guard
from toolpulse._base.locks import NonReentrantLock
from toolpulse.sinks.queue import Pause
from toolpulse.stores.base import Store

_HANGS: Final = 10.0
"""Seconds after which a store that was asked and did not answer is judged without."""

_LONG_GONE: Final = 30.0
"""Seconds of failed attempts after which tools never loaded from the store are judged from this process's own
observations."""

_SHORTEST_PAUSE: Final = 1.0
"""Seconds between two attempts at a store that fails, where flushes come faster than that."""

_PAUSE_IN_CALLS: Final = 10.0
"""Seconds between two attempts at a store that fails, at most, where each attempt is made in somebody's call."""


class StoreLink:
    """A store, the lock under which it is used, and how it is doing.

    ``interval``: seconds between flushes in the background; None where each call flushes itself.
    """

    def __init__(self, store: Store, guard: Guard, interval: float | None) -> None:
        self.store = store
        self.in_memory = False
        """Whether memory took the place of a store that cannot be used."""
        self._guard = guard
        self._interval = interval
        self._begin()

    def _begin(self) -> None:
        self.lock = NonReentrantLock()
        """Held by whoever uses the store. Taken before the judging lock, never while that is held."""
        # no longer than the flushes are apart: an attempt is no more than each flush asks of a store that works
        longest = _PAUSE_IN_CALLS if self._interval is None else max(_SHORTEST_PAUSE, self._interval)
        self.pause = Pause(longest)
        """How long a store that failed is left alone."""
        self.writer = secrets.token_hex(8)
        """The name under which this process saves: a fork has one of its own."""
        self.asked = 0.0
        """When the store was asked what it has not answered yet (monotonic clock); 0 for nothing."""

    @property
    def state(self) -> Literal["ok", "retrying", "memory"]:
        """``ok``, ``retrying`` since the store failed or hangs, or ``memory`` where it cannot be used."""
        return "retrying" if self.pause.failures or self.hangs else "memory" if self.in_memory else "ok"

    @property
    def long_gone(self) -> bool:
        """Whether attempts have failed for so long that nobody waits any more for what the store knows."""
        return self.pause.lasting >= _LONG_GONE

    @property
    def hangs(self) -> bool:
        """Whether the store was asked long ago and has not answered."""
        asked = self.asked
        return asked > 0 and time.monotonic() - asked > _HANGS

    @property
    def reachable(self) -> bool:
        """Whether it is time to ask the store, as far as it is known."""
        return self.pause.left <= 0

    def failed(self, error: Exception) -> None:
        """Count a failure of the store, and leave it alone for a while."""
        self.pause.failed()
        self._guard.failed("using the store", error)

    def replace(self, memory: Store) -> None:
        """Go on in ``memory`` from now on; the store that cannot be used is closed."""
        before, self.store, self.in_memory = self.store, memory, True
        self.pause.worked()
        with self._guard("closing the store"):
            before.close()

    def close(self, timeout: float) -> None:
        """Close the store, unless somebody else still uses it after ``timeout`` seconds."""
        if self.lock.acquire(timeout):
            try:
                with self._guard("closing the store"):
                    self.store.close()
            finally:
                self.lock.release()

    def after_fork(self) -> None:
        """In a child a lock may be held by nobody, and connections are the parent's."""
        self._begin()
        with self._guard("using the store"):
            self.store.after_fork()
