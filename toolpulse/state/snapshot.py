"""What is known of one (tool, key), as a value: stores keep it, and any process goes on from it. Pure.

Rows, incidents and the rest are frozen and replaced where they change, so what differs between two snapshots is what
is not the same object; nothing has to be compared in depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from toolpulse._base.paths import Path
from toolpulse.evidence.maps import LearnedMap
from toolpulse.evidence.profile import Profile
from toolpulse.evidence.rows import Row, RowKey
from toolpulse.judgement.findings import Finding
from toolpulse.shape import DEFAULT_LIMITS, Limits
from toolpulse.state.incidents import Decision, Incident
from toolpulse.state.pending import NO_CALLS, Calls, TallyKey

K = TypeVar("K")


class Quarantined(msgspec.Struct, frozen=True):
    """A shape that is not learned: its row, its findings, and the ids of the incidents its sightings count to."""

    row: Row
    findings: tuple[Finding, ...]
    incidents: frozenset[str]


class ReadSettings(msgspec.Struct, frozen=True):
    """How a tool's responses are read. A baseline exported for the command line has to say so, too."""

    limits: Limits = DEFAULT_LIMITS
    maps: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    unwrap: str = "auto"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one (tool, key): enough to go on where any other process stopped."""

    observations: int = 0
    """How many responses there were; the ordinals up to it are taken."""
    rows: Mapping[RowKey, Row] = {}
    """The distinct shapes that were learned."""
    quarantined: Mapping[TallyKey, Quarantined] = {}
    """The distinct shapes that are not learned while an incident about them stands."""
    incidents: Mapping[str, Incident] = {}
    decisions: Mapping[str, Decision] = {}
    """The audit trail, in the order the decisions were taken."""
    maps_learned: tuple[LearnedMap, ...] = ()
    merged: Profile | None = None
    """The evidence of shapes that were let go."""
    calls: Calls = NO_CALLS
    """How calls ended, failed ones included."""
    cuts: frozenset[tuple[str, str]] = frozenset()
    """Path and limit of every cut that was seen."""
    reading: ReadSettings | None = None
    generation: int = 0
    """How often tools had been forgotten in the store before this was known; events of each generation have own ids."""


EMPTY: Final = Snapshot()
"""Nothing is known."""


def empty(generation: int) -> Snapshot:
    """A snapshot that knows nothing, in a store where so many tools were forgotten before."""
    return Snapshot(generation=generation) if generation else EMPTY


def new_maps(before: Snapshot, after: Snapshot) -> frozenset[Path]:
    """The paths that were learned to be maps between two snapshots: what was kept of their keys has to go."""
    return frozenset(decision.path for decision in after.maps_learned) - {d.path for d in before.maps_learned}


def only_grew(before: Snapshot, now: Snapshot) -> bool:
    """Whether the profile of ``now`` is that of ``before`` and more."""
    if before.maps_learned != now.maps_learned or before.merged is not now.merged:
        return False
    return all(_is_later(row, now.rows.get(key)) for key, row in before.rows.items())


def _is_later(row: Row, now: Row | None) -> bool:
    """Whether ``now`` is the row after more sightings; what is seen later was not seen before its first time."""
    if now is None or now is row:
        return now is row
    return now.first == row.first and now.count >= row.count and now.last >= row.last


def more_rows(before: Mapping[K, Row | Quarantined], now: Mapping[K, Row | Quarantined]) -> list[Row]:
    """What was seen between two snapshots, as rows."""
    grown = []
    for key, entry in now.items():
        known = before.get(key)
        if known is entry:
            continue
        row, seen = row_of(entry), row_of(known).count if known is not None else 0
        if row.count > seen:
            grown.append(msgspec.structs.replace(row, count=row.count - seen) if seen else row)
    return grown


def row_of(entry: Row | Quarantined) -> Row:
    """The row of a shape, whether it was learned or is quarantined."""
    return entry.row if isinstance(entry, Quarantined) else entry
