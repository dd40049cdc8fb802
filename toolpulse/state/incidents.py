"""Changes that first appear together are one incident. Values in, values out: the book of one tool's incidents.

A change is identified by path, rule and what is there now; an incident by the changes it opened with. A later
observation that shows any of them counts to it; only a change nobody has seen opens another. It is told of once it is
confirmed, resolves when it stays away improbably long under its own share, and a return joins it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from toolpulse._base.canonical import ascii_json, digest
from toolpulse._base.paths import Path, parse_path
from toolpulse.errors import ConfigurationError
from toolpulse.evidence.chance import improbable
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk, worst

ChangeKey: TypeAlias = tuple[str, str, str]
"""Path, rule id and what is there now."""

Action: TypeAlias = Literal["accept", "reject", "ignore"]

AWAY: Final = 20
"""Observations an incident must at least stay away to resolve."""

LAPSES: Final = frozenset({"field-removed", "field-absent-in-some", "null-first-seen"})
"""Changes that, unconfirmed, are taken for ordinary variation: a field or a value that is not there at times."""

EMPTINESS: Final = frozenset({"emptied", "response-empty"})

_RATE_OF: Final = {
    "field-removed": "field-vanished",
    "field-absent-in-some": "field-vanished",
    "null-first-seen": "value-vanished",
    "container-null": "value-vanished",
}

LOUDER: Final = 4
"""A return is told of when the count has grown by this factor since the last event."""

MOST_INCIDENTS: Final = 1000
"""Incidents kept of a tool and key."""

_STORED_NAMES: Final = {"reported_at_count": "told", "reported_risk": "told_risk", "report_count": "tellings"}
"""Fields that databases know by an older name."""

ACTIVE: Final = frozenset({"open", "reopened"})
DECIDED: Final[dict[str, str]] = {"accept": "accepted", "reject": "rejected", "ignore": "ignored"}


class Incident(msgspec.Struct, frozen=True, rename=_STORED_NAMES):
    """One break of one tool: its changes as each consumer judged them, and how often it was seen."""

    id: str
    tool: str
    key: str
    findings: tuple[Finding, ...]
    status: str
    """``pending`` until confirmed, ``open``, ``resolved``, ``reopened``; ``accepted``, ``rejected``, ``ignored``.
    ``noted`` where nobody finds more than an addition in it."""
    count: int
    """Observations that showed any of its changes."""
    opened: int
    """The ordinal of the first of them."""
    last: int
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
    """It returned, and nobody was told."""

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


def names_key(path: Path, maps: frozenset[Path]) -> bool:
    """Whether a path goes through a key of one of these maps."""
    return any(path[:end] in maps and isinstance(path[end], str) for end in range(len(path)))


def _as_rates(changes: Iterable[ChangeKey]) -> Iterable[ChangeKey]:
    """The same changes as a rule about rates would tell of them once they have taught."""
    return [(path, _RATE_OF[rule], after) for path, rule, after in changes if rule in _RATE_OF]


def _to_tell(incident: Incident, status: str) -> Incident:
    return msgspec.structs.replace(
        incident,
        status=status,
        reported_at_count=incident.count,
        reported_risk=incident.risk,
        report_count=incident.report_count + 1,
        silent=False,
    )


class IncidentLog:
    """The incidents of one (tool, key), which change belongs to which, and what was decided."""

    def __init__(self, tool: str, key: str, confirm: int = 1) -> None:
        self.tool = tool
        self.key = key
        self.confirm = confirm
        self.incidents: dict[str, Incident] = {}
        self.decisions: dict[str, Decision] = {}
        self.accepted: set[ChangeKey] = set()
        self.emptied: set[str] = set()
        """The incidents about emptiness, which responses that teach may show again."""
        self._known: dict[ChangeKey, str] = {}
        self._stands: dict[ChangeKey, Action] = {}
        """What was decided last about a change."""

    def restore(self, incidents: Iterable[Incident], decisions: Iterable[Decision]) -> None:
        """Go on from what another book knew, decisions in the order they were taken: the last about a change stands."""
        for incident in incidents:
            self._add(incident)
        for decision in decisions:
            self._note(decision)

    def of(self, findings: Iterable[Finding]) -> frozenset[str]:
        """The incidents that the findings' changes belong to."""
        return frozenset(self._known[key] for key in map(change_key, findings) if key in self._known)

    def news(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings without what was accepted."""
        return tuple(f for f in findings if change_key(f) not in self.accepted) if self.accepted else findings

    def open(self, findings: tuple[Finding, ...], ordinal: int, time: str) -> frozenset[str]:
        """Start an incident from the changes nobody has seen, if any; the incidents all of the findings belong to.

        An addition that was noted, and that somebody finds worse than that now, starts again as an incident.
        """
        for name in self.of(findings):
            self._worsened(name, findings, ordinal, time)
        fresh = tuple(finding for finding in findings if change_key(finding) not in self._known)
        if fresh:
            if len(self.incidents) >= MOST_INCIDENTS:
                self._forget_one()
            name = incident_id(self.tool, self.key, frozenset(map(change_key, fresh)))
            self._add(Incident(name, self.tool, self.key, fresh, "pending", 0, ordinal, ordinal, time, time))
        return self.of(findings)

    def _worsened(self, name: str, findings: tuple[Finding, ...], ordinal: int, time: str) -> None:
        noted = self.incidents[name]
        now = tuple(f for f in findings if self._known.get(change_key(f)) == name)
        if noted.status != "noted" or not worst(finding.risk for finding in now).is_news:
            return
        seen = frozenset(map(change_key, now))
        before = tuple(f for f in noted.findings if change_key(f) not in seen)
        told = noted.report_count
        self.incidents[name] = Incident(
            name, self.tool, self.key, (*now, *before), "pending", 0, ordinal, ordinal, time, time, report_count=told
        )

    def _add(self, incident: Incident) -> None:
        self.incidents[incident.id] = incident
        self._known.update((key, incident.id) for key in incident.keys)
        if any(finding.rule_id in EMPTINESS for finding in incident.findings):
            self.emptied.add(incident.id)

    def seen(self, name: str, count: int, last: int, time: str) -> Incident | None:
        """Count observations to an incident; where that is to be told the incident as it stands then, else None.

        It counts as told once ``told`` was called with it.
        """
        before = self.incidents.get(name)
        if before is None:
            return None
        now = msgspec.structs.replace(before, count=before.count + count, last=max(before.last, last), last_time=time)
        if before.status == "pending":
            if now.count < self.confirm:
                self.incidents[name] = now
                return None
            self.incidents[name] = now
            return _to_tell(now, "open" if now.risk.is_news else "noted")
        if before.status == "resolved":
            now = msgspec.structs.replace(now, status="reopened", silent=True)
        if (
            now.status in ACTIVE
            and now.silent
            and (now.count >= LOUDER * now.reported_at_count or now.risk > now.reported_risk)
        ):
            self.incidents[name] = now
            return _to_tell(now, "reopened")
        self.incidents[name] = now
        return None

    def mark_reported(self, incident: Incident) -> None:
        """The event was made that tells of what ``seen``, ``resolve`` or ``owed`` gave."""
        self.incidents[incident.id] = incident

    def owed(self) -> list[Incident]:
        """What was confirmed and not told of, because no event could be made of it then."""
        return [
            _to_tell(incident, "open" if incident.risk.is_news else "noted")
            for incident in self.incidents.values()
            if incident.status == "pending" and incident.count >= self.confirm
        ]

    def resolve(self, ordinal: int) -> list[Incident]:
        """Resolve what stayed away improbably long up to ``ordinal``; those whose end is to be told, as in ``seen``."""
        told = []
        for incident in list(self.incidents.values()):
            away = ordinal - incident.last
            if incident.status not in ACTIVE | {"rejected"} or away < AWAY:
                continue
            # errors come between two observations, so there may be more of them than these
            span = max(incident.last - incident.opened + 1, incident.count)
            if improbable(incident.count, span, away):
                # a return that nobody was told of ends without a word, too
                if incident.silent:
                    self.incidents[incident.id] = msgspec.structs.replace(incident, status="resolved", silent=False)
                else:
                    told.append(_to_tell(incident, "resolved"))
        return told

    def lapse(self, ordinal: int) -> frozenset[str]:
        """Forget what was not confirmed and stayed away, where a rule about rates would tell of it if it stayed."""
        gone = frozenset(
            incident.id
            for incident in self.incidents.values()
            if incident.status == "pending"
            and incident.count < self.confirm
            and ordinal - incident.last >= AWAY
            and all(f.rule_id in LAPSES for f in incident.findings if f.risk.is_news)
        )
        for name in gone:
            self._forget(name)
        return gone

    def decide(
        self, action: Action, name: str, paths: tuple[str, ...], *, reason: str, who: str, time: str
    ) -> Decision | None:
        """Decide about an incident, or about those of its changes that are at ``paths``.

        None where just that was decided before. Raises ConfigurationError for a path the incident has no change at.
        """
        incident = self.incidents[name]
        changes = tuple(sorted(key for key in incident.keys if not paths or key[0] in paths))
        missing = sorted(set(paths) - {key[0] for key in changes})
        if missing:
            known = ", ".join(sorted({key[0] for key in incident.keys}))
            raise ConfigurationError(f"incident {name} has no change at {missing[0]}; it has {known}")
        if all(self._stands.get(key) == action for key in changes):
            return None
        # whoever comes back to an earlier decision takes another one
        earlier = sum(decision.incident == name for decision in self.decisions.values())
        identity = digest(ascii_json([action, name, sorted(changes), earlier]))[:12]
        decision = Decision(identity, time, action, self.tool, self.key, name, changes, reason, who)
        self._note(decision)
        stands = {self._stands.get(key) for key in incident.keys}
        if None not in stands:
            strictest = next(one for one in ("reject", "ignore", "accept") if one in stands)
            incident = msgspec.structs.replace(incident, status=DECIDED[strictest])
        self.incidents[name] = msgspec.structs.replace(incident, report_count=incident.report_count + 1)
        return decision

    def _note(self, decision: Decision) -> None:
        self.decisions[decision.id] = decision
        changes = (*decision.changes, *_as_rates(decision.changes))
        self._stands.update(dict.fromkeys(changes, decision.action))
        if decision.action == "accept":
            self.accepted.update(changes)
        else:
            self.accepted.difference_update(changes)

    def _forget_one(self) -> None:
        """Additions go first, then what is over, what is open, what was decided; the longest unseen of equals."""
        decided = frozenset(DECIDED.values())
        gone = min(
            self.incidents.values(),
            key=lambda i: (i.status != "noted", i.status in decided, i.status in ACTIVE, i.last),
        )
        self._forget(gone.id)

    def forget_below(self, paths: frozenset[Path]) -> None:
        """Forget what is about fields right below these paths: they were keys of maps, which are not kept."""
        for incident in list(self.incidents.values()):
            if any(names_key(parse_path(finding.path), paths) for finding in incident.findings):
                self._forget(incident.id)
        for decision in list(self.decisions.values()):
            kept = tuple(key for key in decision.changes if not names_key(parse_path(key[0]), paths))
            if kept != decision.changes:
                self.decisions[decision.id] = msgspec.structs.replace(decision, changes=kept)
        self._stands = {key: done for key, done in self._stands.items() if not names_key(parse_path(key[0]), paths)}
        self.accepted &= self._stands.keys()

    def _forget(self, name: str) -> None:
        del self.incidents[name]
        self.emptied.discard(name)
        self._known = {key: known for key, known in self._known.items() if known != name}
