"""The incidents of one tool, which change belongs to which, and what was decided about them.

Changes that first appear together are one incident. A later observation that shows any of them counts to it; only a
change nobody has seen opens another. An incident is reported once it is confirmed, resolves when it stays away
improbably long under its own share, and a return joins it again. Values in, values out; ``tool_state`` calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.canonical import ascii_json, digest
from toolpulse._base.paths import Path, parse_path
from toolpulse.errors import ConfigurationError
from toolpulse.events import Status, names_key
from toolpulse.evidence.chance import improbable
from toolpulse.judgement.rules import worst
from toolpulse.state.incidents import (
    ACTIVE,
    DECIDED,
    EMPTINESS,
    Action,
    ChangeKey,
    Decision,
    Incident,
    change_key,
    incident_id,
    reported_as,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.judgement.findings import Finding

AWAY: Final = 20
"""Observations an incident must at least stay away to resolve."""

LAPSES: Final = frozenset({"field-removed", "field-absent-in-some", "null-first-seen"})
"""Changes that, unconfirmed, are taken for ordinary variation: a field or a value that is not there at times."""

LOUDER: Final = 4
"""A return is reported when the count has grown by this factor since the last event."""

MOST_INCIDENTS: Final = 1000
"""Incidents kept of a tool and key."""

_RULE_ONCE_LEARNED: Final = {
    "field-removed": "field-vanished",
    "field-absent-in-some": "field-vanished",
    "null-first-seen": "value-vanished",
    "container-null": "value-vanished",
}
"""The rule that finds a change again once it is part of the baseline: it comes and goes, and stays away for long."""


class IncidentLog:
    """The incidents of one (tool, key). ``confirm`` is how many observations must show one before it is reported.

    What is to be reported comes back as the incident that the event will speak of. It counts as reported only once
    ``mark_reported`` was called with it, so that an event that cannot be made is not lost.
    """

    def __init__(self, tool: str, key: str, confirm: int = 1) -> None:
        self.tool = tool
        self.key = key
        self.confirm = confirm
        self.incidents: dict[str, Incident] = {}
        """By id."""
        self.decisions: dict[str, Decision] = {}
        """The audit trail: by id, in the order they were taken."""
        self.accepted: set[ChangeKey] = set()
        self.emptied: set[str] = set()
        """The ids of incidents about emptiness, which responses that are learned from may show again."""
        self._incident_of: dict[ChangeKey, str] = {}
        self._last_action: dict[ChangeKey, Action] = {}

    def restore(self, incidents: Iterable[Incident], decisions: Iterable[Decision]) -> None:
        """Go on from what another log knew, decisions in the order they were taken: the last about a change stands."""
        for incident in incidents:
            self._add(incident)
        for decision in decisions:
            self._record(decision)

    def ids_of(self, findings: Iterable[Finding]) -> frozenset[str]:
        """The ids of the incidents that the findings' changes belong to."""
        known = self._incident_of
        return frozenset(known[key] for key in map(change_key, findings) if key in known)

    def not_accepted(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings without those whose change was accepted."""
        return tuple(f for f in findings if change_key(f) not in self.accepted) if self.accepted else findings

    def open(self, findings: tuple[Finding, ...], ordinal: int, time: str) -> frozenset[str]:
        """Start an incident from the changes nobody has seen, if any. The ids of all that the findings belong to.

        An addition that was noted, and that somebody finds worse than that now, starts again as an incident. Nothing is
        counted here: see ``count``.
        """
        for name in self.ids_of(findings):
            self._start_again_if_worse(name, findings, ordinal, time)
        unseen = tuple(finding for finding in findings if change_key(finding) not in self._incident_of)
        if unseen:
            if len(self.incidents) >= MOST_INCIDENTS:
                self._forget_one()
            name = incident_id(self.tool, self.key, frozenset(map(change_key, unseen)))
            self._add(Incident(name, self.tool, self.key, unseen, "pending", 0, ordinal, ordinal, time, time))
        return self.ids_of(findings)

    def _start_again_if_worse(self, name: str, findings: tuple[Finding, ...], ordinal: int, time: str) -> None:
        noted = self.incidents[name]
        now = tuple(f for f in findings if self._incident_of.get(change_key(f)) == name)
        if noted.status != "noted" or not worst(finding.risk for finding in now).is_news:
            return
        seen = frozenset(map(change_key, now))
        both = (*now, *(f for f in noted.findings if change_key(f) not in seen))
        self.incidents[name] = Incident(
            name, self.tool, self.key, both, "pending", 0, ordinal, ordinal, time, time, report_count=noted.report_count
        )

    def _add(self, incident: Incident) -> None:
        self.incidents[incident.id] = incident
        self._incident_of.update((key, incident.id) for key in incident.keys)
        if any(finding.rule_id in EMPTINESS for finding in incident.findings):
            self.emptied.add(incident.id)

    def count(self, name: str, count: int, last: int, time: str) -> Incident | None:
        """Count ``count`` observations up to the ordinal ``last`` to an incident, seen first at ``time``.

        Where that is to be reported, the incident as the event will show it; else None, as for an unknown id.
        """
        before = self.incidents.get(name)
        if before is None:
            return None
        now = msgspec.structs.replace(before, count=before.count + count, last=max(before.last, last), last_time=time)
        if before.status == "resolved":
            now = msgspec.structs.replace(now, status="reopened", silent=True)
        self.incidents[name] = now
        if now.status == "pending":
            return self._confirmed(now)
        if now.status in ACTIVE and now.silent:
            louder = now.count >= LOUDER * now.reported_at_count or now.risk > now.reported_risk
            return reported_as(now, "reopened") if louder else None
        return None

    def _confirmed(self, incident: Incident) -> Incident | None:
        if incident.count < self.confirm:
            return None
        return reported_as(incident, "open" if incident.risk.is_news else "noted")

    def mark_reported(self, incident: Incident) -> None:
        """The event was made that reports what ``count``, ``unreported`` or ``resolve`` gave."""
        self.incidents[incident.id] = incident

    def unreported(self) -> list[Incident]:
        """What was confirmed and not reported, because no event could be made of it then."""
        confirmed = [self._confirmed(i) for i in self.incidents.values() if i.status == "pending"]
        return [incident for incident in confirmed if incident is not None]

    def resolve(self, ordinal: int) -> list[Incident]:
        """Resolve what stayed away improbably long up to ``ordinal``; those whose end is to be reported."""
        ended = []
        for incident in list(self.incidents.values()):
            away = ordinal - incident.last
            if incident.status not in ACTIVE | {"rejected"} or away < AWAY:
                continue
            # errors come between two observations, so there may be more of them than these
            span = max(incident.last - incident.opened + 1, incident.count)
            if not improbable(incident.count, span, away):
                continue
            # a return that was not reported ends without a word, too
            if incident.silent:
                self.incidents[incident.id] = msgspec.structs.replace(incident, status="resolved", silent=False)
            else:
                ended.append(reported_as(incident, "resolved"))
        return ended

    def drop_unconfirmed(self, ordinal: int) -> frozenset[str]:
        """Forget what was not confirmed and stayed away, where a rule about rates would find it if it stayed.

        The ids of what was forgotten.
        """
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

        None where just that was decided before. Raises ConfigurationError for a path the incident has no change at,
        KeyError for an id that is not known.
        """
        incident = self.incidents[name]
        changes = _changes_at(incident, paths)
        if all(self._last_action.get(key) == action for key in changes):
            return None
        # whoever comes back to an earlier decision takes another one
        earlier = sum(decision.incident == name for decision in self.decisions.values())
        identity = digest(ascii_json([action, name, sorted(changes), earlier]))[:12]
        decision = Decision(identity, time, action, self.tool, self.key, name, changes, reason, who)
        self._record(decision)
        self.incidents[name] = msgspec.structs.replace(
            incident, status=self._decided_status(incident), report_count=incident.report_count + 1
        )
        return decision

    def _decided_status(self, incident: Incident) -> Status:
        """The status by the strictest of the decisions about its changes, or the present one while one is undecided."""
        actions = {self._last_action.get(key) for key in incident.keys}
        if None in actions:
            return incident.status
        strictest: tuple[Action, ...] = ("reject", "ignore", "accept")
        return DECIDED[next(one for one in strictest if one in actions)]

    def _record(self, decision: Decision) -> None:
        self.decisions[decision.id] = decision
        learned = [(path, _RULE_ONCE_LEARNED.get(rule), after) for path, rule, after in decision.changes]
        changes = (*decision.changes, *((path, rule, after) for path, rule, after in learned if rule))
        self._last_action.update(dict.fromkeys(changes, decision.action))
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

    def forget_keys_of(self, maps: frozenset[Path]) -> None:
        """Forget what is about keys of the maps at these paths: they passed for fields, and keys are not kept."""
        for incident in list(self.incidents.values()):
            if any(names_key(parse_path(finding.path), maps) for finding in incident.findings):
                self._forget(incident.id)
        for decision in list(self.decisions.values()):
            left = tuple(key for key in decision.changes if not names_key(parse_path(key[0]), maps))
            if left != decision.changes:
                self.decisions[decision.id] = msgspec.structs.replace(decision, changes=left)
        self._last_action = {
            key: action for key, action in self._last_action.items() if not names_key(parse_path(key[0]), maps)
        }
        self.accepted &= self._last_action.keys()

    def _forget(self, name: str) -> None:
        del self.incidents[name]
        self.emptied.discard(name)
        self._incident_of = {key: known for key, known in self._incident_of.items() if known != name}


def _changes_at(incident: Incident, paths: tuple[str, ...]) -> tuple[ChangeKey, ...]:
    """Those of the incident's changes that are at these paths, all without any."""
    changes = tuple(sorted(key for key in incident.keys if not paths or key[0] in paths))
    missing = sorted(set(paths) - {key[0] for key in changes})
    if missing:
        known = ", ".join(sorted({key[0] for key in incident.keys}))
        raise ConfigurationError(f"incident {incident.id} has no change at {missing[0]}; it has {known}")
    return changes
