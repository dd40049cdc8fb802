"""Changes that first appear together are one incident. Values in, values out.

A change is identified by path, rule and what is there now; an incident by the changes it opened with. A later
observation that shows any of them counts to it; only a change nobody has seen opens another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from toolpulse.canonical import ascii_json, digest
from toolpulse.consumer import Finding
from toolpulse.risk import Risk, worst

ChangeKey: TypeAlias = tuple[str, str, str]
"""Path, rule id and what is there now."""


class Incident(msgspec.Struct, frozen=True):
    """One break of one tool: its changes as each consumer judged them, and how often it was seen."""

    id: str
    tool: str
    key: str
    findings: tuple[Finding, ...]
    status: str
    """``pending`` until it was seen often enough to be told of, then ``open``."""
    count: int
    """Observations that showed any of its changes."""
    opened: int
    """The ordinal of the first of them."""
    last: int
    first_time: str
    """ISO 8601, UTC."""
    last_time: str

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


def change_key(finding: Finding) -> ChangeKey:
    """What identifies a finding's change, for whatever consumer."""
    return (finding.path, finding.rule_id, finding.after)


def incident_id(tool: str, key: str, changes: frozenset[ChangeKey]) -> str:
    """The incident's stable id: 12 hex digits that every process computes alike."""
    return digest(ascii_json([tool, key, sorted(changes)]))[:12]


def unseen(findings: tuple[Finding, ...], known: Mapping[ChangeKey, str]) -> tuple[Finding, ...]:
    """The findings whose change belongs to no incident yet."""
    return tuple(finding for finding in findings if change_key(finding) not in known)


def opened(tool: str, key: str, findings: tuple[Finding, ...], ordinal: int, time: str) -> Incident:
    """The incident that these findings start, still without a count: ``pending`` until it is confirmed."""
    changes = frozenset(map(change_key, findings))
    return Incident(incident_id(tool, key, changes), tool, key, findings, "pending", 0, ordinal, ordinal, time, time)


def seen_again(incident: Incident, count: int, last: int, time: str) -> Incident:
    """The incident after ``count`` more observations of it, the last at ordinal ``last``."""
    return msgspec.structs.replace(
        incident, count=incident.count + count, last=max(incident.last, last), last_time=time
    )
