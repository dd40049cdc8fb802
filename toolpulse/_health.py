"""How a monitor is doing, as a value."""

from __future__ import annotations

from collections import Counter

import msgspec

from toolpulse._track import Track
from toolpulse.incident import ACTIVE


class ToolHealth(msgspec.Struct, frozen=True):
    """How one tool is doing."""

    calls: int
    """Calls that ended, failed ones included."""
    errors: int
    """Calls that raised, or whose result said it is an error."""
    state: str
    """``learning`` until ten observations taught, then ``watching``."""
    shapes: int
    """Distinct shapes known."""
    incidents: int
    """Incidents told of and open."""
    keys: int = 1
    """Variants of its calls."""
    error_types: dict[str, int] = {}
    unjudged: int = 0
    """Calls whose response could not be looked at, or came while too many shapes waited."""


class Health(msgspec.Struct, frozen=True):
    """How a monitor is doing. Reading it waits for nothing."""

    tools: dict[str, ToolHealth]
    swallowed: int
    """Errors that were kept from the watched tools."""
    swallowed_by: dict[str, int]
    """The same by place and type."""
    store: str
    """``ok``; ``retrying`` since it failed; ``memory`` where it cannot be used (it is not ours, damaged, deleted, or of
    a later version), and what is learned ends with the process."""
    waiting: int
    """Observations that the store does not have yet."""
    sinks: dict[str, str]
    """By sink ``ok``, ``failing`` or ``busy``, and how many events were dropped."""


def tool_health(tracks: list[Track]) -> ToolHealth:
    types: Counter[str] = Counter()
    for track in tracks:
        types.update(track.errors.copy())
    lives = [track.live for track in tracks]
    return ToolHealth(
        calls=sum(track.calls for track in tracks),
        errors=types.total(),
        state="learning" if any(live.learning for live in lives) else "watching",
        shapes=sum(live.shapes for live in lives),
        incidents=sum(
            i.status in ACTIVE and i.risk.is_news for live in lives for i in live.book.incidents.copy().values()
        ),
        keys=len(tracks),
        error_types=dict(sorted(types.items())),
        unjudged=sum(track.unjudged for track in tracks),
    )
