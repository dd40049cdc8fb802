"""The events of one tool: made here from what became known of it, and kept until somebody takes them.

Pure: times come in as text. ``tool_state`` calls it while it judges; the command line asks for the event of an incident
as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolpulse._base.canonical import ascii_json, digest
from toolpulse.events import DriftEvent, EventChange, Status, summarise
from toolpulse.judgement.findings import findings
from toolpulse.judgement.rules import Risk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolpulse.judgement.changes import Change
    from toolpulse.judgement.consumer import Consumer
    from toolpulse.judgement.findings import Finding
    from toolpulse.state.incidents import Incident


class Sighting(NamedTuple):
    """The response in which something was seen that is to be reported, as far as an event speaks of it."""

    fingerprint: str | None = None
    """Of its shape."""
    encoding: str = "native"
    coverage: tuple[str, ...] = ()
    """What was not looked at in full, a sentence each."""


UNSEEN = Sighting()
"""No response: a call failed, or somebody decided."""


def incident_event(
    incident: Incident,
    *,
    time: str,
    ordinal: int,
    before: str | None = None,
    sighting: Sighting = UNSEEN,
    generation: int = 0,
) -> DriftEvent:
    """The event that reports an incident as it stands at ``ordinal``, the tool's newest observation.

    ``before`` is the fingerprint of the commonest shape known. ``generation`` is how often the tool was forgotten: the
    same incident after that has other ids.
    """
    changes = _changes(incident.findings)
    patterns = {change.pattern for change in changes if change.pattern}
    return DriftEvent(
        id=event_id(generation, incident.id, incident.status, incident.report_count),
        time=time,
        tool=incident.tool,
        key=incident.key,
        incident=incident.id,
        status=incident.status,
        risk=incident.risk,
        risks=incident.risks,
        summary=summarise(changes),
        pattern=patterns.pop() if len(patterns) == 1 else None,
        changes=changes,
        fingerprint_before=before,
        fingerprint_after=sighting.fingerprint,
        encoding=sighting.encoding,
        count=incident.count,
        share=round(incident.share(ordinal), 4),
        coverage=sighting.coverage,
    )


class Source(NamedTuple):
    """Whose events they are, and what is known of it at the moment: what every event of a tool says."""

    tool: str
    key: str
    observations: int
    """How many there were."""
    commonest: str | None
    """The fingerprint of the commonest shape known."""
    generation: int = 0


def notice(
    source: Source,
    status: Status,
    time: str,
    summary: str = "",
    *,
    findings: tuple[Finding, ...] = (),
    coverage: Iterable[str] = (),
) -> DriftEvent:
    """An event about no incident: what was learned, or what was noted in passing.

    Without a ``summary`` the findings are summarised; one of both has to be there.
    """
    changes = _changes(findings)
    summary = summary or summarise(changes)
    # reported again, the same is the same event, however many observations that took
    about = digest(ascii_json([source.tool, source.key, "" if status == "learned" else summary]))[:12]
    return DriftEvent(
        id=event_id(source.generation, about, status, 0),
        time=time,
        tool=source.tool,
        key=source.key,
        incident=None,
        status=status,
        risk=Risk.INFO,
        risks={},
        summary=summary,
        pattern=None,
        changes=changes,
        fingerprint_before=None,
        fingerprint_after=source.commonest,
        encoding="native",
        count=source.observations,
        share=1.0,
        coverage=tuple(coverage),
    )


def event_id(generation: int, about: str, status: str, number: int) -> str:
    """A stable id, 16 hex digits: an event that is delivered twice has the same both times.

    ``about`` is an incident's id, ``number`` how many events there were of it.
    """
    return digest(f"{generation} {about} {status} {number}".encode())[:16]


def _changes(judged: tuple[Finding, ...]) -> tuple[EventChange, ...]:
    """One entry a change, with the worst risk of all consumers; worst first."""
    changes: dict[tuple[str, str, str, str], EventChange] = {}
    for f in sorted(judged, key=lambda f: (f.risk.rank, f.path, f.rule_id, f.after)):
        change = EventChange(f.path, f.rule_id, f.before, f.after, f.risk, f.evidence, f.pattern, f.counterpart)
        changes.setdefault((f.path, f.rule_id, f.before, f.after), change)
    return tuple(changes.values())


class Reports:
    """The events of one tool that were made and not taken yet, and what no event could be made of so far.

    An error while an event is made is kept in ``faults``; nothing else is lost with it.
    """

    def __init__(self) -> None:
        self.faults: list[Exception] = []
        """What went wrong; whoever reads it empties it."""
        self._made: list[DriftEvent] = []
        self.unnoted: list[tuple[tuple[Change, ...], str]] = []
        """Changes to note in passing, with the time they were seen."""

    def take_events(self) -> list[DriftEvent]:
        """The events made since this was called last, in order."""
        made, self._made = self._made, []
        return made

    def make(self, event: Callable[[], DriftEvent]) -> bool:
        """Make an event and keep it. False where that failed."""
        try:
            self._made.append(event())
        except Exception as error:  # noqa: BLE001 - nothing else may be lost with it
            self.faults.append(error)
            return False
        return True

    def note(self, changes: tuple[Change, ...], time: str, source: Source, consumers: tuple[Consumer, ...]) -> None:
        """Report changes that are no incident, where a consumer finds anything in them."""
        self.unnoted.append((changes, time))
        self.note_again(source, consumers)

    def note_again(self, source: Source, consumers: tuple[Consumer, ...]) -> None:
        """Report what was to be noted and could not be."""
        waiting, self.unnoted = self.unnoted, []
        for changes, time in waiting:
            try:
                judged = findings(changes, consumers)
                if judged:
                    self._made.append(notice(source, "noted", time, findings=judged))
            except Exception as error:  # noqa: BLE001 - nothing else may be lost with it
                self.faults.append(error)
                self.unnoted.append((changes, time))
