"""The protocol of a sink: one method, and one argument that is a frozen record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from toolpulse.events import DriftEvent


@runtime_checkable
class Sink(Protocol):
    """Takes drift events, one at a time, from one thread.

    It may raise: the monitor swallows that, counts it and goes on with the next sink. It may be slow: the watched
    tool does not wait for it. A ``close()`` is called, where there is one, when the monitor closes.
    """

    def emit(self, event: DriftEvent) -> None:
        """Tell of one event."""
