"""The protocol of a sink: one method, and one argument that is a frozen record.

Whoever writes a sink needs this file and ``toolpulse.events``. ``queue`` calls sinks on behalf of the monitor; what a
sink does with an event (files, sockets, loggers) is its own affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from toolpulse.events import DriftEvent


@runtime_checkable
class Sink(Protocol):
    """Takes drift events, one at a time: the next call begins when the last one has come back.

    The calls may come from different threads, so nothing may be kept in thread-locals. With ``background=False`` they
    come from the thread of the watched tool, which waits for them; else from a thread of the monitor's, and nothing
    waits.

    An event whose ``emit`` raised is delivered again, before any later one, after a pause that grows from one second
    to a minute. It may also come twice where a process died before it had noted that the event was sent: ``event.id``
    tells. What was raised is counted, and logged once by its type.

    Where a sink has a method ``close()``, it is called once, after the last event, when the monitor closes. Names of
    tools, keys and fields in an event are any text that UTF-8 can write, line breaks and NUL included: a sink quotes
    them as its format asks.
    """

    def emit(self, event: DriftEvent) -> None:
        """Deliver one event, and return when it is safe to forget it.

        It should not wait for longer than a few seconds: a monitor that closes waits no longer than its ``timeout``. It
        may call watched tools and the monitor; ``Monitor.flush`` returns False there at once.
        """
