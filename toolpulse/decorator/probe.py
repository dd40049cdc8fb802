"""What a watched tool reports to: the interface between the wrapping and the monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

Call: TypeAlias = Callable[..., Any]
Outcome: TypeAlias = Literal["complete", "closed", "raised"]


class Probe(Protocol):
    """What one watched tool reports to.

    ``args`` and ``kwargs`` are those of the call, as the tool received them; a method's hold its instance first.
    No method raises, but for a ``DriftError`` from ``returned``, which reaches the caller once the tool has returned.
    """

    def returned(self, response: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take the finished response of one call: never a coroutine, a generator or a future."""

    def raised(self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take the exception that ended a call, cancellation included."""

    def stream(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stream:
        """Open the record of one stream, when its first item is asked for."""
        raise NotImplementedError


class Stream(Protocol):
    """What one generator or async generator reports to."""

    def item(self, value: object) -> None:
        """Take an item as it passes."""

    def end(self, outcome: Outcome, error: BaseException | None = None) -> None:
        """Close the record, exactly once. ``closed``: the caller stopped early, or dropped the generator.

        A ``DriftError`` reaches the caller from ``complete`` only: nobody may wait for a closed stream, and a tool's
        own exception is not replaced.
        """
