"""Judging beside the store: while it is away or hangs, and in the caller's thread where a call has to raise.

What is judged here is judged in memory and reported at once; the store gets it later. Only one thread at a time judges,
and nobody does I/O while judging. The flusher and its transactions call it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from toolpulse._base.guard import Guard
from toolpulse._base.locks import NonReentrantLock
from toolpulse.errors import DriftError
from toolpulse.events import DriftEvent
from toolpulse.judgement.rules import Risk
from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.runtime.background.delivery import Dispatcher
from toolpulse.shape import Truncation
from toolpulse.state.pending import TallyKey

PATIENCE: Final = 10.0
"""Seconds that whoever has to judge waits for a judgement that is under way, and ``flush`` and ``close`` for all."""

_FORK_PATIENCE: Final = 1.0
"""Seconds a fork waits for a judgement that is under way; it takes no I/O."""


class Judge:
    """Judges what channels counted, one thread at a time; the events that come of it go to ``dispatcher``."""

    def __init__(
        self,
        channels: Mapping[tuple[str, str], ToolChannel],
        dispatcher: Dispatcher,
        guard: Guard,
    ) -> None:
        self._channels = channels
        self._dispatcher = dispatcher
        self._guard = guard
        self._begin()

    def _begin(self) -> None:
        self.lock = NonReentrantLock()
        """Held by whoever judges, or changes what is known of a tool."""
        self._forking: set[int] = set()
        """The threads that fork, and hold the lock meanwhile."""
        self._aside = 0.0

    def judge(self, channel: ToolChannel, timeout: float) -> None:
        """Judge what a channel counted; it is left for later where the lock is not had in ``timeout`` seconds."""
        if channel.counting or not self.lock.acquire(timeout):
            return
        events: list[DriftEvent] = []
        try:
            with self._guard("judging"):
                events = channel.judge_ahead()
            self.count_faults(channel)
        finally:
            self.lock.release()
        self._dispatcher.dispatch_all(events, channel.callback)

    def count_faults(self, channel: ToolChannel) -> None:
        """Count what went wrong in judging a channel."""
        for error in channel.take_faults():
            self._guard.failed("judging", error)

    def judge_aside(self) -> None:
        """Judge in a thread of its own, while the worker waits for a store that hangs; at most once a second."""
        if time.monotonic() - self._aside > 1:
            self._aside = time.monotonic()
            with suppress(RuntimeError):  # the interpreter is ending
                threading.Thread(target=self._judge_loaded, name="toolpulse aside", daemon=True).start()

    def _judge_loaded(self) -> None:
        for channel in dict(self._channels).values():
            if channel.loaded and channel.awaiting_judgement:
                self.judge(channel, PATIENCE)

    def drift_error(
        self, channel: ToolChannel, key: TallyKey, truncations: tuple[Truncation, ...]
    ) -> DriftError | None:
        """What to raise in the caller's thread for an observation that was just counted; None for nothing.

        That is a finding at risk ``high`` which is reported, or would be once this observation is judged.
        """
        if channel.state.learning:
            # what waits may end the warm-up, and this one come after it
            self.judge(channel, PATIENCE)
        if not self.lock.acquire(PATIENCE):
            return None
        try:
            tally, alike = channel.counted(key, truncations)
            high = [finding for finding in channel.state.preview(tally) if finding.risk is Risk.HIGH]
            reported = tuple(finding for finding in high if channel.state.would_report(finding, alike))
        finally:
            self.lock.release()
        return DriftError(channel.state.tool, reported) if reported else None

    def before_fork(self) -> None:
        """Let no child be born in the middle of a judgement."""
        if self.lock.acquire(_FORK_PATIENCE):
            self._forking.add(threading.get_ident())

    def after_fork_in_parent(self) -> None:
        """Go on judging."""
        if threading.get_ident() in self._forking:
            self._forking.discard(threading.get_ident())
            self.lock.release()

    def after_fork(self) -> None:
        """In a child the lock may be held by nobody."""
        self._begin()
