"""How a monitor is doing, as a value."""

from __future__ import annotations

from collections import Counter

import msgspec

from toolpulse.runtime.background.channel import ToolChannel
from toolpulse.state.incidents import ACTIVE


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


def tool_health(channels: list[ToolChannel]) -> ToolHealth:
    """How one tool is doing; its channels, one for each key."""
    types: Counter[str] = Counter()
    for channel in channels:
        types.update(channel.errors.copy())
    states = [channel.state for channel in channels]
    return ToolHealth(
        calls=sum(channel.calls for channel in channels),
        errors=types.total(),
        state="learning" if any(state.learning for state in states) else "watching",
        shapes=sum(state.shapes for state in states),
        incidents=sum(
            i.status in ACTIVE and i.risk.is_news
            for state in states
            for i in state.incident_log.incidents.copy().values()
        ),
        keys=len(channels),
        error_types=dict(sorted(types.items())),
        unjudged=sum(channel.unjudged for channel in channels),
    )
