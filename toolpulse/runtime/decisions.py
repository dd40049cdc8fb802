"""Decisions about incidents, taken in a store: by a monitor, or by anybody else who can reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.errors import ConfigurationError
from toolpulse.judgement.consumer import DEFAULT
from toolpulse.shape import Walker
from toolpulse.state.incidents import ACTIVE, Action, Decision, Incident
from toolpulse.state.tool_state import ToolState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolpulse.stores.base import Store


def decide(
    store: Store, action: Action, target: str, paths: Sequence[str] = (), *, reason: str = "", who: str = "", time: str
) -> tuple[Decision, ...]:
    """Take a decision on an incident by its id, or on all that stand of a tool by its name.

    ``paths`` picks changes of one incident. Gives the decisions taken, none where they were taken before; each is an
    event, too. Raises ConfigurationError for a target or a path that is not there, and then nothing is decided; else
    what the store raises.
    """
    found = targets(store, target)
    if paths and len(found) > 1:
        raise ConfigurationError(f"{target} has {len(found)} incidents; paths pick changes of one, by its id")
    taken: list[Decision] = []
    for tool, key in dict.fromkeys((incident.tool, incident.key) for incident in found):
        names = [incident.id for incident in found if (incident.tool, incident.key) == (tool, key)]
        taken += _decide(store, (tool, key), names, action, tuple(paths), reason=reason, who=who, time=time)
    return tuple(taken)


def targets(store: Store, target: str) -> list[Incident]:
    """The incident of that id, or those of a tool that stand. Raises ConfigurationError where it is neither."""
    named = [incident for incident in store.incidents() if incident.id == target]
    if named:
        return named
    if not any(tool == target for tool, _ in store.tools()):
        raise ConfigurationError(f"{target!r} is neither an incident nor a tool that was watched")
    return [
        incident
        for incident in store.incidents(target)
        if incident.status in ACTIVE | {"resolved"} and incident.risk.is_news
    ]


def _decide(
    store: Store,
    place: tuple[str, str],
    names: list[str],
    action: Action,
    paths: tuple[str, ...],
    *,
    reason: str,
    who: str,
    time: str,
) -> list[Decision]:
    with store.transaction(*place) as transaction:
        known = transaction.now
        live = ToolState(*place, Walker(), (DEFAULT,))
        live.follow(known)
        told = [
            live.decide(action, name, paths, reason=reason, who=who, time=time)
            for name in names
            if name in known.incidents
        ]
        events = [event for event in told if event is not None]
        if events:
            after = msgspec.structs.replace(live.snapshot(), reading=known.reading)
            transaction.save(after, events)
        return [decision for name, decision in live.incident_log.decisions.items() if name not in known.decisions]
