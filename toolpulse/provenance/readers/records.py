"""What a trace is read into, whatever its format: calls to models with their fingerprints, and calls of tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from toolpulse.provenance.manifest import Manifest

TRUNCATED: Final = "truncated"
"""A remark: content was cut before it was written."""
PARTIAL: Final = "partial_input"
"""A remark: part of the input is kept by the provider, and the trace does not have it."""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One call to a model, as far as its trace shows it. No text of a prompt or of a response is kept."""

    location: str
    """Where it was read: ``file:line``."""
    fingerprint: dict[str, Any]
    """Attributes of ``model_calls.attributes``: checked ones of the span, or computed from its content."""
    params: dict[str, Any] | None = None
    """The sampling parameters that the span shows beside the temperature; None where it shows none."""
    generation_id: str | None = None
    manifest_id: str | None = None
    returned_model: str | None = None
    """Which model answered, according to the provider; None where that is not known for sure."""
    remarks: tuple[str, ...] = ()
    """Why its content is not complete: ``truncated``, ``partial_input``."""
    unverified: tuple[str, ...] = ()
    """Fields that may hold something else than their name says."""
    started: int = 0
    """Nanoseconds since 1970; 0 where the format has no times."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool. ``arguments`` and ``result`` are UNSET where they were not captured, and never printed."""

    location: str
    name: str
    arguments: Any = msgspec.UNSET
    result: Any = msgspec.UNSET
    failed: bool = False
    generation_id: str | None = None
    manifest_id: str | None = None
    started: int = 0

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {self.location!r})"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it was read: ordered by starting times where the format has them, else as in the file."""

    file: str
    format: str
    manifest: Manifest | None = None
    generations: tuple[Generation, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    returned_models: tuple[str, ...] = ()
    """The models that are known to have answered; more than one means that calls were routed differently."""
    sampled: bool = False
    """Whether it says that only a sample of what happened is in it."""


class _Started(Protocol):
    @property
    def started(self) -> int: ...


T = TypeVar("T", bound=_Started)


def in_order(items: Iterable[T]) -> list[T]:
    """By starting time, those of the same time as they came; none is moved where the time of any is not known."""
    items = list(items)
    return sorted(items, key=lambda one: one.started) if all(one.started for one in items) else items
