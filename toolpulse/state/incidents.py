"""Incidents and decisions as values: what is stored of them, shown of them, and counted by the incident log.

A change is identified by its path, its rule and what is there now; an incident by the changes it opened with. Pure.
Stores keep these records, the command line shows them, and ``incident_log`` alone makes new ones.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from toolpulse._base.canonical import ascii_json, digest
from toolpulse.events import Status
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk, worst

ChangeKey: TypeAlias = tuple[str, str, str]
"""Path, rule id and what is there now."""

Action: TypeAlias = Literal["accept", "reject", "ignore"]

ACTIVE: Final[frozenset[Status]] = frozenset(("open", "reopened"))
"""The statuses of an incident that somebody has to look at."""

DECIDED: Final[dict[Action, Status]] = {"accept": "accepted", "reject": "rejected", "ignore": "ignored"}
"""The status that a decision about all of an incident's changes gives it."""

EMPTINESS: Final = frozenset({"emptied", "response-empty"})
"""The rules about something that is empty now."""

_STORED_NAMES: Final = {"reported_at_count": "told", "reported_risk": "told_risk", "report_count": "tellings"}
"""Fields that databases know by an older name."""


class Incident(msgspec.Struct, frozen=True, rename=_STORED_NAMES):
    """One break of one tool: its changes as each consumer judged them, and how often it was seen."""

    id: str
    tool: str
    key: str
    findings: tuple[Finding, ...]
    status: Status
    count: int
    """Observations that showed any of its changes."""
    opened: int
    """The ordinal of the first of them."""
    last: int
    """The ordinal of the last of them."""
    first_time: str
    """ISO 8601, UTC."""
    last_time: str
    reported_at_count: int = 0
    """The count at the last event."""
    reported_risk: Risk = Risk.QUIET
    """The risk at the last event."""
    report_count: int = 0
    """How many events there were."""
    silent: bool = False
    """It returned, and that was not reported."""

    @property
    def keys(self) -> frozenset[ChangeKey]:
        """The changes it stands for."""
        return frozenset(map(change_key, self.findings))

    @property
    def risks(self) -> dict[str, Risk]:
        """The worst risk for each consumer that has a finding."""
        return {
            name: worst(f.risk for f in self.findings if f.consumer == name)
            for name in sorted({f.consumer for f in self.findings})
        }

    @property
    def risk(self) -> Risk:
        """The worst risk of all."""
        return worst(finding.risk for finding in self.findings)

    def share(self, ordinal: int) -> float:
        """Its part of the tool's observations since it opened, up to ``ordinal``; between 0 and 1."""
        return min(1.0, self.count / max(1, ordinal - self.opened + 1))


class Decision(msgspec.Struct, frozen=True):
    """What somebody decided about an incident; a line of the audit trail, which only grows."""

    id: str
    """Stable: the same decision taken twice has the same."""
    time: str
    """ISO 8601, UTC."""
    action: Action
    tool: str
    key: str
    incident: str
    changes: tuple[ChangeKey, ...]
    """The changes it speaks of; all of the incident's where none were named."""
    reason: str
    who: str


def change_key(finding: Finding) -> ChangeKey:
    """What identifies a finding's change, for whatever consumer."""
    return (finding.path, finding.rule_id, finding.after)


def incident_id(tool: str, key: str, changes: frozenset[ChangeKey]) -> str:
    """The incident's stable id: 12 hex digits that every process computes alike."""
    return digest(ascii_json([tool, key, sorted(changes)]))[:12]


def reported_as(incident: Incident, status: Status) -> Incident:
    """The incident once an event says that it has this status."""
    return msgspec.structs.replace(
        incident,
        status=status,
        reported_at_count=incident.count,
        reported_risk=incident.risk,
        report_count=incident.report_count + 1,
        silent=False,
    )
