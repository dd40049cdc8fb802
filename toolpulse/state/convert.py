"""What was learned in production as a baseline to commit, and back. Pure; ``toolpulse baseline`` calls it.

A baseline is what was learned: the distinct shapes with counts and ordinals, the evidence of those let go, the maps,
and how responses are read. What is quarantined, incidents and decisions stay in the store where they arose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row, RowKey, join_rows
from toolpulse.state.baseline import Baseline
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.state.snapshot import EMPTY, ReadSettings, Snapshot

if TYPE_CHECKING:
    from toolpulse.state.incidents import Incident

MOST_OBSERVATIONS: Final = 2**53
"""Counts up to here are kept by any database, and read from JSON by any program."""


def has_baseline(known: Snapshot) -> bool:
    """Whether anything was learned, or waits in quarantine to be."""
    return bool(known.rows or known.quarantined or known.merged is not None)


def baseline_of(known: Snapshot) -> Baseline:
    """What was learned of a tool (and key), as a baseline. Raises InputError where nothing was."""
    if not known.rows and known.merged is None:
        raise InputError("nothing was learned yet")
    reading = known.reading or ReadSettings()
    return Baseline(
        known.rows.values(),
        maps_learned=known.maps_learned,
        limits=reading.limits,
        maps=reading.maps,
        records=reading.records,
        unwrap=reading.unwrap,
        merged=known.merged,
    )


def snapshot_of(baseline: Baseline, before: Snapshot = EMPTY) -> Snapshot:
    """What is known once a baseline takes the place of what ``before`` has learned.

    Counts go on from the baseline's last ordinal. Incidents and decisions stay; nothing is quarantined. Of more shapes
    than a store keeps, the rarest are kept as evidence only. The baseline's consumers are no part of it; those are
    a monitor's.

    Raises InputError for a baseline without shapes, and for counts that no store takes.
    """
    rows, merged = _bounded(baseline)
    last = max((row.last for row in rows.values()), default=0)
    observations = max(last, merged.observations.last if merged else 0, baseline.observations)
    if observations < 1:
        raise InputError("cannot import this baseline: it is empty")
    if observations > MOST_OBSERVATIONS:
        raise InputError("cannot import this baseline: it counts more than 2**53 observations")
    walker = baseline.walker
    return Snapshot(
        observations=observations,
        rows=rows,
        incidents={name: _within(incident, observations) for name, incident in before.incidents.items()},
        decisions=before.decisions,
        maps_learned=baseline.maps_learned,
        merged=merged,
        calls=before.calls,
        cuts=before.cuts,
        reading=ReadSettings(walker.limits, walker.maps, walker.records, baseline.unwrap),
        generation=before.generation,
    )


def _bounded(baseline: Baseline) -> tuple[dict[RowKey, Row], Profile | None]:
    """The rows that are kept, and the evidence of the others."""
    rows: dict[RowKey, Row] = {}
    for row in baseline.rows:
        rows[row.key] = join_rows(rows[row.key], row) if row.key in rows else row
    rarest = sorted(rows.values(), key=lambda row: (row.count, row.shape.fingerprint))
    gone = rarest[: max(0, len(rows) - MOST_SHAPES)]
    if not gone:
        return rows, baseline.merged
    for row in gone:
        del rows[row.key]
    evidence = fold((row.shape, row.sightings, row.encoding, row.cuts) for row in gone)
    return rows, merge(baseline.merged or Profile(), evidence)


def _within(incident: Incident, observations: int) -> Incident:
    """An incident of the sequence before, as one of the sequence that goes on from ``observations``."""
    last = min(incident.last, observations)
    if last == incident.last:
        return incident
    return msgspec.structs.replace(incident, opened=min(incident.opened, last), last=last)
