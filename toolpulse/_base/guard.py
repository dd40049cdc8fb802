"""The edge where observation may fail and the watched tool must not notice.

What goes wrong while observing is swallowed, counted by place and kind, and logged once per kind with the
type and the place only: an exception's text, arguments and locals can hold values of a response. The type is read
past its metaclass, which may be the response's, too.
``BaseException`` (cancellation, ``KeyboardInterrupt``, ``SystemExit``) always passes.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

from toolpulse._base.classes import qualname
from toolpulse.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger("toolpulse")


class Guard:
    """Swallows, counts and logs once. One per monitor, so that health is told per monitor."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.RLock()  # a signal handler may come back in

    @property
    def swallowed(self) -> dict[str, int]:
        """How often something was swallowed, by ``"place: ExceptionType"``."""
        with self._lock:
            return {f"{place}: {kind}": n for (place, kind), n in sorted(self._counts.items())}

    def failed(self, place: str, error: Exception) -> None:
        """Count ``error`` at ``place``; the first of its kind there is logged."""
        key = (place, qualname(type(error)))
        with self._lock:
            # the place is there before it is counted up: no other code runs between reading a number and writing it
            self._counts.setdefault(key, 0)
            self._counts[key] += 1
            first = self._counts[key] == 1
        report(place, error, first)

    def after_fork(self) -> None:
        """In a child the lock may be held by nobody."""
        self._lock = threading.RLock()

    @contextmanager
    def __call__(self, place: str) -> Iterator[None]:
        """Run a block whose exceptions must not reach the watched tool."""
        try:
            yield
        except Exception as error:
            self.failed(place, error)


def _log_once(place: str, error: Exception, first: bool) -> None:
    if first:
        with suppress(Exception):  # a filter that raises, or a stack that is full
            if issubclass(type(error), StoreError):  # what a store says is written by us, and holds no value
                outcome = cast("StoreError", error).outcome
                _log.warning("toolpulse: %s (while %s, counted from now on)%s", error, place, outcome)
            else:
                _log.warning("toolpulse: %s while %s (counted from now on)", qualname(type(error)), place)


report: Callable[[str, Exception, bool], None] = _log_once
"""What happens with a swallowed error. The test suite replaces it with one that collects and re-raises."""
