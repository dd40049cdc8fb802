"""Events on their way to one sink: one that raises gets them again later, one that hangs holds up nobody else.

``runtime`` makes an ``Outbox`` for each sink and learns by ``ended`` what became of an event. Whether it was sent is
the store's to remember; here it only waits. Threads and the clock are used, and a lock under which no sink is called.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpulse._base.guard import Guard
    from toolpulse.events import DriftEvent
    from toolpulse.sinks.base import Sink

MOST_EVENTS: Final = 1000
"""Events kept for a sink that fails; the oldest goes first, and is counted."""

_LONGEST_PAUSE: Final = 60.0


class Pause:
    """How long to wait after failures in a row: about a second after the first, doubled up to ``longest`` seconds."""

    def __init__(self, longest: float = _LONGEST_PAUSE) -> None:
        self.failures = 0
        self._longest = longest
        self._since = 0.0
        self._until = 0.0

    @property
    def lasting(self) -> float:
        """Seconds since the first of the failures in a row; 0 without any."""
        return time.monotonic() - self._since if self.failures else 0.0

    @property
    def left(self) -> float:
        """Seconds until the next attempt is due; zero or less when it is."""
        return self._until - time.monotonic()

    def failed(self) -> None:
        """Note a failure."""
        now = time.monotonic()
        self._since = self._since if self.failures else now
        self.failures += 1
        # drawn a little apart, so that a fleet does not come back all at once
        pause = 2.0 ** min(self.failures - 1, 10) * random.uniform(0.75, 1.25)  # noqa: S311
        self._until = now + min(pause, self._longest * random.uniform(0.75, 1.0))  # noqa: S311

    def over(self) -> None:
        """Make the next attempt due now."""
        self._until = 0.0

    def worked(self) -> None:
        """Note a success."""
        self.failures = 0
        self._until = 0.0


class Outbox:
    """The queue of one sink. A thread of its own sends once ``start`` was called, else whoever calls ``send``."""

    def __init__(
        self,
        name: str,
        sink: Sink,
        guard: Guard,
        *,
        retries: bool = True,
        ended: Callable[[str, bool], object] = lambda _event, _sent: None,
    ) -> None:
        self.name = name
        self.sink = sink
        self.dropped = 0
        self._guard = guard
        self._retries = retries
        self.ended = ended
        """Told the id of each event that leaves the queue, and whether it was sent."""
        self._pause = Pause()
        self._queue: deque[DriftEvent] = deque()
        self._reset()

    def _reset(self) -> None:
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._starting = False
        self._sender: int | None = None
        self._tried = 0
        self._failed = 0
        self._ending = ""

    def put(self, event: DriftEvent) -> None:
        """Add an event."""
        lost = None
        with self._change:
            if len(self._queue) >= MOST_EVENTS:
                lost = self._queue.popleft()
                self.dropped += 1
            self._queue.append(event)
            self._change.notify_all()
        if lost is not None:
            self.ended(lost.id, False)

    def start(self) -> None:
        """Send in a thread from now on; where none can be started any more, ``send`` goes on doing it."""
        with self._change:
            if self._thread is not None or self._starting or self._ending:
                return
            self._starting = True  # for a signal handler that comes back in
            try:
                thread = threading.Thread(target=self._run, name=f"toolpulse {self.name}", daemon=True)
                with suppress(RuntimeError):
                    thread.start()
                    self._thread = thread
            finally:
                self._starting = False

    def send(self, timeout: float) -> bool:
        """Have what waits sent now, however recent the last failure.

        False where some is left after ``timeout`` seconds, the sink failed, or it is the sink that asks.
        """
        with self._change:
            self._pause.over()
            if self._sender == threading.get_ident():
                return False
            if self._thread is None and self._sender is None:
                threaded = False
            else:
                threaded = True
                attempt = self._tried + 1
                self._change.notify_all()
                self._change.wait_for(lambda: not self.waiting or self._failed >= attempt, max(timeout, 0.0))
        if not threaded:
            while self._send_one():
                pass
        return not self.waiting

    def _run(self) -> None:
        try:
            while self._wait():
                self._send_one()
            if self._ending == "close":
                self._close_sink()
        finally:
            with self._change:
                self._thread = None
                self._change.notify_all()

    def _wait(self) -> bool:
        """Wait until there is something to send; False at the end."""
        with self._change:
            while True:
                left = self._pause.left if self._queue else None
                if left is not None and left <= 0:
                    return True
                if self._ending:
                    return False
                self._change.wait(left)

    def _send_one(self) -> bool:
        with self._change:
            if self._sender is not None or not self._queue or self._pause.left > 0:
                return False
            event = self._queue.popleft()
            self._sender = threading.get_ident()
            self._tried += 1
        sent = False
        try:
            self.sink.emit(event)
            sent = True
        except Exception as error:  # noqa: BLE001 - whatever a sink raises, the tool must not notice
            self._guard.failed(f"emitting to {self.name}", error)
        finally:
            self._finish(event, sent)
        return sent or not self._retries

    def _finish(self, event: DriftEvent, sent: bool) -> None:
        ended = self._put_back(event, sent)
        if ended:
            self.ended(event.id, sent)
        with self._change:
            # whoever waits for the queue to be empty waits for this word, too
            self._sender = None
            self._change.notify_all()

    def _put_back(self, event: DriftEvent, sent: bool) -> bool:
        """Whether the event left the queue for good."""
        with self._change:
            if sent:
                self._pause.worked()
            else:
                self._failed = self._tried
                self._pause.failed()
                if self._retries and len(self._queue) < MOST_EVENTS:
                    self._queue.appendleft(event)
                    return False
                self.dropped += 1
                if not self._retries:
                    self._pause.over()
            return True

    def stop(self, *, close: bool = False) -> None:
        """End the thread when the queue is empty or the sink fails; with ``close`` it closes the sink then."""
        with self._change:
            self._ending = "close" if close else self._ending or "stop"
            self._change.notify_all()

    def close(self) -> None:
        """Stop, and close the sink once it has what waits for it: at once, or in the thread."""
        self.stop(close=True)
        if self._thread is None:
            self._close_sink()

    def join(self, timeout: float) -> None:
        """Wait for the thread to end, ``timeout`` seconds at most."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(timeout, 0.0))

    def _close_sink(self) -> None:
        close = getattr(self.sink, "close", None)
        if callable(close):
            with self._guard(f"closing {self.name}"):
                close()

    @property
    def threaded(self) -> bool:
        """Whether a thread sends."""
        return self._thread is not None

    @property
    def waiting(self) -> int:
        """Events not yet sent."""
        return len(self._queue) + (self._sender is not None)

    @property
    def state(self) -> str:
        """``ok``, ``failing``, ``busy`` (it was given an event and has not come back), and what was dropped."""
        state = "busy" if self._sender is not None else "failing" if self._pause.failures else "ok"
        return f"{state}, {self.dropped} dropped" if self.dropped else state

    def after_fork(self) -> None:
        """In a child: the thread is gone, a lock may be held by nobody, and what waits is the parent's to send."""
        ending = self._ending
        self._queue = deque()
        self._pause = Pause()
        self._reset()
        self._ending = ending
