"""One tool (and key) while it is watched: batches of observations go in, events come out.

The first ten observations are learned. Afterwards an observation that fits is learned, and so is one in which nobody
finds more than an addition or a rate; any other is quarantined and counted. Once a batch the newest observation is
asked what has been away for too long. Pure: ordinals and times come with the batch. ``runtime`` calls it, one thread at
a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.evidence.silence import shows_silence
from toolpulse.judgement.changes import WARM_UP, Change
from toolpulse.state.judging import absences, cut_changes, failures, judge_tally, map_change, shows_emptiness_of
from toolpulse.state.known import KnownState
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.state.learning.summary import HINT, describe, is_variant
from toolpulse.state.pending import NO_CALLS, Calls, Tally
from toolpulse.state.reports import UNSEEN, Reports, Sighting, Source, incident_event, notice
from toolpulse.state.snapshot import Quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.events import DriftEvent
    from toolpulse.evidence.maps import LearnedMap
    from toolpulse.judgement.consumer import Consumer
    from toolpulse.judgement.findings import Finding
    from toolpulse.judgement.judge import Judgement
    from toolpulse.shape import Walker
    from toolpulse.state.baseline import Baseline
    from toolpulse.state.incidents import Action, Incident


class ToolState(KnownState):
    """The state of one (tool, key): what is known, and what each batch adds to it."""

    def __init__(
        self,
        tool: str,
        key: str,
        walker: Walker,
        consumers: tuple[Consumer, ...],
        sealed: Baseline | None = None,
        confirm: int = 1,
        unwrap: str = "auto",
    ) -> None:
        super().__init__(tool, key, walker, consumers, sealed, confirm, unwrap)
        self.reports = Reports()
        self._newest: Tally | None = None
        """The newest tally of this batch that was learned."""
        self._emptiness_counted: set[str] = set()
        """The incidents to which responses of this batch that were learned are counted already."""

    def preview(self, tally: Tally) -> tuple[Finding, ...]:
        """What would be found in one more observation, but for what was accepted; nothing is learned or counted."""
        quarantined = self.quarantine.get(tally.key)
        if quarantined is not None:
            return self.incident_log.not_accepted(quarantined.findings)
        if self.learning:
            return ()
        return self.incident_log.not_accepted(self._judge(self.reread(tally)).findings)

    def would_report(self, finding: Finding, more: int) -> bool:
        """Whether ``more`` observations with this finding make an incident that is reported, and not ignored."""
        for name in self.incident_log.ids_of((finding,)):
            incident = self.incident_log.incidents[name]
            if incident.status == "pending":
                return incident.count + more >= self.incident_log.confirm
            if incident.status != "noted":
                return incident.status != "ignored"
        return more >= self.incident_log.confirm

    def apply(self, tallies: Iterable[Tally], calls: Calls = NO_CALLS) -> list[DriftEvent]:
        """Judge a batch: tallies in order of their first ordinal, then what is away and how calls fail.

        The events to hand over come back. An incident whose event cannot be made is reported later, and the error is
        among ``reports.faults``. Where this raises, ``take_events`` gives the events made until then.
        """
        self._unchanged = False
        ordered = sorted(tallies, key=lambda tally: tally.first)
        if ordered:
            self._apply_tallies(ordered)
        self.calls = self.calls.followed_by(calls)
        if calls.errors:
            self._report_failures(calls)
        return self.take_events()

    def take_events(self) -> list[DriftEvent]:
        """The events that were made since this was called last."""
        return self.reports.take_events()

    def decide(
        self, action: Action, name: str, paths: tuple[str, ...], *, reason: str, who: str, time: str
    ) -> DriftEvent | None:
        """Decide about an incident, as ``IncidentLog.decide`` says; None where just that was decided before.

        What is accepted lets the quarantined shapes be learned.
        """
        self._unchanged = False
        decision = self.incident_log.decide(action, name, paths, reason=reason, who=who, time=time)
        if decision is None:
            return None
        if action == "accept":
            self.release()
        event = self._event(self.incident_log.incidents[name], time=time)
        return msgspec.structs.replace(event, decision=f"{action}: {reason}" if reason else action)

    def _apply_tallies(self, ordered: list[Tally]) -> None:
        self._report_owed(ordered[0].time)
        for tally in ordered:
            if not self.announced and tally.first > WARM_UP:
                self._report_learned(tally.time)
            self.observations += tally.count
            self._apply_tally(tally)
            self._report_new_cuts(tally)
        if not self.announced and self.observations >= WARM_UP:
            self._report_learned(ordered[-1].time)
        self._report_absences(ordered)
        self._newest = None
        self._emptiness_counted.clear()
        newest = max(ordered, key=lambda tally: tally.last)
        for ended in self.incident_log.resolve(self.observations):
            self._report(ended, newest)
        self.release(only=self.incident_log.drop_unconfirmed(self.observations))

    def _apply_tally(self, tally: Tally) -> None:
        quarantined = self.quarantine.get(tally.key)
        if quarantined is not None:
            self.quarantine.seen_again(quarantined, tally)
            self._count_quarantined(quarantined, tally)
            return
        known = None if tally.broken else self.baseline.get(tally.row.key)
        # what a known shape lacks may be required by now if it was gone for as long as that takes
        if known is not None and tally.first - known.last <= WARM_UP:
            self._learn(tally)
            self._count_emptiness(tally)
        elif self.sealed is None and tally.first <= WARM_UP and not tally.broken:
            self._learn(self.reread(tally))
        else:
            self._apply_new(tally)

    def _apply_new(self, tally: Tally) -> None:
        reread = self.reread(tally)
        if reread is not tally:
            self._apply_tally(reread)
            return
        judged = self._judge(tally)
        if self.sealed is None and any(change.fact in {"added", "missing"} for change in judged.changes):
            new_maps = self.learn_maps(tally.row)
            if new_maps is not None:
                self._note_maps(new_maps, tally.time)
                tally = self.reread(tally)
                judged = self._judge(tally)
        findings = self.incident_log.not_accepted(judged.findings)
        entry = Quarantined(tally.row, findings, self.incident_log.open(findings, tally.first, tally.time))
        if self.sealed is None and judged.is_learned_despite(findings):
            self._learn(msgspec.structs.replace(tally, shape=judged.shape))
            self._count(entry.incidents, tally.count, tally)
        else:
            self.quarantine.add(tally.key, entry)
            self._count_quarantined(entry, tally)

    def _judge(self, tally: Tally) -> Judgement:
        sealed, member_shapes = self.sealed is not None, self.walker.limits.shapes
        return judge_tally(self.profile, tally, self.consumers, sealed=sealed, member_shapes=member_shapes)

    def _learn(self, tally: Tally) -> None:
        self.baseline.learn(tally.row)
        if self._newest is None or tally.last > self._newest.last:
            self._newest = tally

    def _count_quarantined(self, entry: Quarantined, tally: Tally) -> None:
        self.quarantine.note(tally, self.profile)
        self._count(entry.incidents, tally.count, tally)

    def _count(self, names: Iterable[str], count: int, tally: Tally) -> None:
        """Count observations to incidents, and report what is to be reported then."""
        for name in sorted(names):
            incident = self.incident_log.count(name, count, tally.last, tally.time)
            if incident is not None:
                self._report(incident, tally)

    def _count_emptiness(self, tally: Tally) -> None:
        """Count a response that is learned to the incidents whose emptiness it shows again."""
        incidents = self.incident_log.incidents
        names = [n for n in self.incident_log.emptied if shows_emptiness_of(incidents[n], tally, self.profile)]
        self._emptiness_counted.update(names)
        self._count(names, tally.count, tally)

    def _report_absences(self, tallies: list[Tally]) -> None:
        """What has been away improbably long: one incident for what nobody knows of, a count for the rest."""
        newest = self._newest
        if self.sealed is not None or self.learning or newest is None:
            return
        away = absences(self.baseline, newest, self.quarantine.unlearned, self.consumers)
        found = [(change, self.incident_log.not_accepted(findings)) for change, findings in away]
        unseen = [(change, f) for change, f in found if f and not self.incident_log.ids_of(f)]
        known = [(change, f) for change, f in found if self.incident_log.ids_of(f)]
        if unseen:
            longest = max(change.shown_by for change, _ in unseen)
            findings = tuple(finding for _, group in unseen for finding in group)
            self._count(self.incident_log.open(findings, newest.last - longest + 1, newest.time), longest, newest)
        for name, count in sorted(self._counts(known, tallies, newest).items()):
            self._count((name,), count, newest)

    def _counts(
        self, known: list[tuple[Change, tuple[Finding, ...]]], tallies: list[Tally], newest: Tally
    ) -> dict[str, int]:
        """How many observations of this batch show incidents that are known, by id."""
        counts: dict[str, int] = {}
        for change, findings in known:
            names = self.incident_log.open(findings, newest.last - change.shown_by + 1, newest.time)
            for name in names - self._emptiness_counted:
                is_new = self.incident_log.incidents[name].count == 0
                shown = (t.count for t in tallies if shows_silence(t.shape, change.path, change.fact))
                count = change.shown_by if is_new else sum(shown)
                counts[name] = max(counts.get(name, 0), count)
        return counts

    def _report_failures(self, block: Calls) -> None:
        """Whether calls fail improbably often; ``block`` holds those that are new."""
        findings = self.incident_log.not_accepted(failures(self.calls, self.consumers))
        if not findings:
            return
        for name in sorted(self.incident_log.open(findings, self.observations, block.time)):
            incident = self.incident_log.count(name, block.errors, self.observations, block.time)
            if incident is not None:
                self._report(incident, time=block.time)

    def _report(self, incident: Incident, tally: Tally | None = None, time: str = "") -> None:
        """Make the event of an incident; only then it counts as reported."""
        if self.reports.make(lambda: self._event(incident, tally, time)):
            self.incident_log.mark_reported(incident)

    def _report_owed(self, time: str) -> None:
        for incident in self.incident_log.unreported():
            self._report(incident, time=time)
        if self.reports.unnoted:
            self.reports.note_again(self._source, self.consumers)

    def _event(self, incident: Incident, tally: Tally | None = None, time: str = "") -> DriftEvent:
        event = incident_event(
            incident,
            time=tally.time if tally else time,
            ordinal=max(tally.last if tally else 0, self.observations),
            before=self.commonest,
            sighting=self._sighting(tally) if tally else UNSEEN,
            generation=self.generation,
        )
        if tally and incident.status == "open" and self.sealed is None and is_variant(self.baseline, tally.shape):
            return msgspec.structs.replace(event, summary=f"{event.summary}; {HINT}")
        return event

    def _sighting(self, tally: Tally) -> Sighting:
        return Sighting(tally.shape.fingerprint, tally.encoding, tuple(map(str, self.cuts_of(tally))))

    @property
    def _source(self) -> Source:
        return Source(self.tool, self.key, self.observations, self.commonest, self.generation)

    def _report_learned(self, time: str) -> None:
        new_maps = self.learn_maps() or ()
        coverage = sorted({f"{path}: {limit}" for path, limit in self.cuts})
        self.announced = self.reports.make(
            lambda: notice(
                self._source,
                "learned",
                time,
                describe(self.baseline, self.observations, self.consumers),
                coverage=coverage,
            )
        )
        self._note_maps(new_maps, time)

    def _note_maps(self, decisions: Iterable[LearnedMap], time: str) -> None:
        for decision in decisions:
            self._note((map_change(decision),), time)

    def _report_new_cuts(self, tally: Tally) -> None:
        """Report each place once that is cut for the first time after the warm-up."""
        new = [cut for cut in self.cuts_of(tally) if (cut.path, cut.limit) not in self.cuts]
        if not new or len(self.cuts) > MOST_SHAPES:
            return
        self.cuts.update((cut.path, cut.limit) for cut in new)
        if self.sealed is None and tally.first > WARM_UP:
            self._note(cut_changes(new), tally.time)

    def _note(self, changes: tuple[Change, ...], time: str) -> None:
        self.reports.note(changes, time, self._source, self.consumers)
