"""One tool (and key) while it is watched: what it learned, what is held, which incidents are open.

Tallies come in with their ordinals, events go out; time is an argument. The first ten observations teach. Afterwards
an observation that fits teaches, so does one in which nobody finds more than an addition or a rate; any other is held
and counted. Once a flush the newest observation is asked what has been away for too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse._base.paths import Path, format_path, parse_path
from toolpulse.events import DriftEvent, drift_event, note
from toolpulse.evidence.maps import LearnedMap
from toolpulse.evidence.profile import Profile
from toolpulse.evidence.quarantine import QuarantineLog
from toolpulse.evidence.rows import Row, join_rows, truncated_paths
from toolpulse.evidence.shape_paths import as_map_values
from toolpulse.evidence.silence import shows_silence
from toolpulse.judgement.changes import WARM_UP, Change
from toolpulse.judgement.consumer import Consumer
from toolpulse.judgement.findings import Finding, findings
from toolpulse.judgement.judge import Judgement, judge
from toolpulse.judgement.rates import error_rate_change, silence_changes
from toolpulse.shape import Truncation, Walker
from toolpulse.state.baseline import Baseline
from toolpulse.state.incidents import EMPTINESS, Action, Incident, IncidentLog
from toolpulse.state.learner import MOST_SHAPES, MOST_TEXT, LiveBaseline
from toolpulse.state.pending import NO_CALLS, Calls, Tally, TallyKey
from toolpulse.state.snapshot import EMPTY, Quarantined, ReadSettings, Snapshot, more_rows, only_grew
from toolpulse.state.summary import HINT, describe, is_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.shape.nodes import Shape


class ToolState:
    """The state of one (tool, key). Touched by one thread at a time."""

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
        self.tool = tool
        self.key = key
        self.consumers = consumers
        self.sealed = sealed
        self.observations = 0
        """How many responses there were; those that a sealed baseline learned from are none of them."""
        self.baseline = LiveBaseline(walker)
        self.incident_log = IncidentLog(tool, key, confirm)
        self.calls = NO_CALLS
        self.generation = 0
        self._unwrap = unwrap
        self._confirm = confirm
        self._followed = EMPTY
        self._same = False
        """Whether nothing was taken since what was followed."""
        self._held: dict[TallyKey, Quarantined] = {}
        self._held_back = QuarantineLog()
        self._newest: Tally | None = None
        self._again: set[str] = set()
        """The incidents to which emptiness that teaches was counted in this flush."""
        self._cuts: set[tuple[str, str]] = set()
        self._announced = sealed is not None
        self.faults: list[Exception] = []
        """What went wrong while events were made; whoever reads it empties it."""
        self._made: list[DriftEvent] = []
        """The events not yet handed over."""
        self._to_note: list[tuple[tuple[Change, ...], str]] = []
        """What is to be noted in passing, and when it was seen."""

    @property
    def learning(self) -> bool:
        """Whether the warm-up is still on."""
        return self.sealed is None and self.observations < WARM_UP

    @property
    def walker(self) -> Walker:
        """The walk that knows this tool's maps."""
        return self.sealed.walker if self.sealed else self.baseline.walker

    @property
    def profile(self) -> Profile:
        """The evidence per path. To be read only."""
        return self.sealed.profile if self.sealed else self.baseline.profile

    @property
    def rows(self) -> tuple[Row, ...]:
        """The distinct shapes that taught."""
        return self.sealed.rows if self.sealed else self.baseline.rows

    @property
    def shapes(self) -> int:
        """How many distinct shapes are known, held ones included."""
        return len(self.rows) + len(self._held)

    def follow(self, now: Snapshot) -> None:
        """Go on from what is known by now. What this state took beside it, if anything, is forgotten."""
        if not self._same:
            self._restore(now)
        elif now is not self._followed:
            before = self._followed
            if only_grew(before, now):
                self._grow(before, now)
            else:
                self._restore(now)
        self._followed, self._same = now, True

    def acknowledge(self, after: Snapshot) -> None:
        """What ``snapshot`` gave is what is known from now on."""
        self._followed, self._same = after, True

    def forked(self) -> None:
        """In a child: what was taken and not kept is the parent's; the next ``follow`` starts afresh."""
        self._same = False

    def snapshot(self) -> Snapshot:
        """All of it, as a value; what a sealed baseline knows is none of it."""
        walker, known = self.walker, self._followed
        return Snapshot(
            observations=self.observations,
            rows=known.rows if self.sealed else self.baseline.by_key,
            # what fits a sealed baseline is remembered here only, so as not to be judged each time
            quarantined={key: held for key, held in self._held.items() if held.incidents or not self.sealed},
            incidents=self.incident_log.incidents.copy(),
            decisions=self.incident_log.decisions.copy(),
            maps_learned=known.maps_learned if self.sealed else tuple(self.baseline.maps_learned.values()),
            merged=known.merged if self.sealed else self.baseline.merged_if_any,
            calls=self.calls,
            cuts=frozenset(self._cuts),
            reading=ReadSettings(walker.limits, walker.maps, walker.records, self._unwrap),
            generation=self.generation,
        )

    def _restore(self, now: Snapshot) -> None:
        if self.sealed is None:
            self.baseline.restore(now.rows.values(), now.maps_learned, now.merged)
        self._held = dict(now.quarantined)
        self._held_back = QuarantineLog()
        for held in sorted(self._held.values(), key=lambda held: held.row.last):
            self._hold_back(held.row.shape, held.row.count, held.row.last)
        # held shapes that were let go: when they came is not known, so nothing seems the longer away for them
        counted = self.profile.observations.count + sum(held.row.count for held in self._held.values())
        if self.sealed is None and now.observations > counted:
            self._held_back.add(now.observations - counted, now.observations)
        self._follow_incidents(now)
        self._follow_counts(now)
        self._announced = self.sealed is not None or now.observations >= WARM_UP

    def _grow(self, before: Snapshot, now: Snapshot) -> None:
        if self.sealed is None:
            for row in more_rows(before.rows, now.rows):
                self.baseline.teach(row)
        for key in before.quarantined.keys() - now.quarantined.keys():
            row = before.quarantined[key].row
            if row.key in now.rows:
                self._held_back.release(row.count, row.last)
        for row in sorted(more_rows(before.quarantined, now.quarantined), key=lambda row: row.last):
            self._hold_back(row.shape, row.count, row.last)
        self._held = dict(now.quarantined)
        if before.incidents != now.incidents or before.decisions != now.decisions:
            self._follow_incidents(now)
        self._follow_counts(now)
        self._announced = self._announced or now.observations >= WARM_UP

    def _follow_incidents(self, now: Snapshot) -> None:
        incident_log = IncidentLog(self.tool, self.key, self._confirm)
        incident_log.restore(now.incidents.values(), now.decisions.values())
        self.incident_log = incident_log

    def _follow_counts(self, now: Snapshot) -> None:
        self.observations = now.observations
        self.calls = now.calls
        self.generation = now.generation
        self._cuts = set(now.cuts)

    def _hold_back(self, shape: Shape, count: int, last: int) -> None:
        self._held_back.add(count, last)
        self._held_back.note_shown(self.profile, shape, last)

    def preview(self, tally: Tally) -> tuple[Finding, ...]:
        """What would be found in one more observation, but for what was accepted; nothing is taken or counted."""
        held = self._held.get(tally.key)
        if held is not None:
            return self.incident_log.news(held.findings)
        if self.learning:
            return ()
        read = self._read(tally)
        return self.incident_log.news(self._judge(read).findings)

    def would_report(self, finding: Finding, more: int) -> bool:
        """Whether ``more`` observations with this finding make an incident that is told of, and not muted."""
        for name in self.incident_log.of((finding,)):
            incident = self.incident_log.incidents[name]
            if incident.status == "pending":
                return incident.count + more >= self._confirm
            if incident.status != "noted":
                return incident.status != "ignored"
        return more >= self._confirm

    def apply(self, tallies: Iterable[Tally], calls: Calls = NO_CALLS) -> list[DriftEvent]:
        """Judge tallies in order of their first ordinal, then what is away and how calls fail; the events to tell.

        An incident whose event cannot be made is told of later, and the error is among ``faults``. Where this raises,
        ``take_events`` gives the events made until then.
        """
        self._same = False
        ordered = sorted(tallies, key=lambda tally: tally.first)
        if ordered:
            self._tell_owed(ordered[0].time)
        for tally in ordered:
            if not self._announced and tally.first > WARM_UP:
                self._learned(tally.time)
            self.observations += tally.count
            self._take(tally)
            self._new_cuts(tally)
        if ordered and not self._announced and self.observations >= WARM_UP:
            self._learned(ordered[-1].time)
        if ordered:
            self._silences(ordered)
            self._newest = None
            self._again.clear()
            newest = max(ordered, key=lambda tally: tally.last)
            for over in self.incident_log.resolve(self.observations):
                self._tell(over, newest)
            self._release(only=self.incident_log.lapse(self.observations))
        self.calls = self.calls.followed_by(calls)
        if calls.errors:
            self._errors(calls)
        return self.take_events()

    def take_events(self) -> list[DriftEvent]:
        """The events that were made since this was called last."""
        made, self._made = self._made, []
        return made

    def _tell(self, incident: Incident, tally: Tally | None = None, time: str = "") -> None:
        """Make the event of an incident; only then it counts as told."""
        try:
            event = self._event(incident, tally, time)
        except Exception as error:  # noqa: BLE001 - nothing else may be lost with it
            self.faults.append(error)
            return
        self.incident_log.mark_reported(incident)
        self._made.append(event)

    def _tell_owed(self, time: str) -> None:
        for incident in self.incident_log.owed():
            self._tell(incident, time=time)
        self._note_all()

    def _take(self, tally: Tally) -> None:
        held = self._held.get(tally.key)
        if held is not None:
            self._held[tally.key] = held = msgspec.structs.replace(held, row=join_rows(held.row, tally.row))
            self._count(held, tally)
            return
        known = None if tally.broken else self.baseline.get(tally.row.key)
        # what a known shape lacks may be required by now if it was gone for as long as that takes
        if known is not None and tally.first - known.last <= WARM_UP:
            self._teach(tally)
            self._emptied_again(tally)
        elif self.sealed is None and tally.first <= WARM_UP and not tally.broken:
            self._teach(self._read(tally))
        else:
            self._take_new(tally)

    def _take_new(self, tally: Tally) -> None:
        read = self._read(tally)
        if read is not tally:
            self._take(read)
            return
        judged = self._judge(tally)
        if self.sealed is None and any(change.fact in {"added", "missing"} for change in judged.changes):
            learned = self._settle(tally.row)
            if learned is not None:
                self._note_maps(learned, tally.time)
                tally = self._read(tally)
                judged = self._judge(tally)
        found = self.incident_log.news(judged.findings)
        held = Quarantined(tally.row, found, self.incident_log.open(found, tally.first, tally.time))
        if self.sealed is None and judged.is_learned_despite(found):
            self._teach(msgspec.structs.replace(tally, shape=judged.shape))
        else:
            self._hold(tally.key, held)
        self._count(held, tally)

    def _read(self, tally: Tally) -> Tally:
        """A tally that was walked before a map was learned, as it is read since; no key of the map is left in it."""
        shape = self.baseline.read(tally.shape)
        if shape is tally.shape:
            return tally
        return msgspec.structs.replace(tally, shape=shape, truncations=self._cuts_of(tally))

    def _cuts_of(self, tally: Tally) -> tuple[Truncation, ...]:
        """Where a tally was cut, by the maps that are known now: no key of one is named."""
        if not tally.truncations or not self.baseline.maps_learned:
            return tally.truncations
        maps = frozenset(self.baseline.maps_learned)
        read = {msgspec.structs.replace(cut, path=_without_keys(cut.path, maps)) for cut in tally.truncations}
        return tuple(sorted(read))

    def _teach(self, tally: Tally) -> None:
        self.baseline.teach(tally.row)
        if self._newest is None or tally.last > self._newest.last:
            self._newest = tally

    def _hold(self, key: TallyKey, held: Quarantined) -> None:
        size = key.shape.size + sum(other.shape.size for other in self._held)
        while self._held and (len(self._held) >= MOST_SHAPES or size > MOST_TEXT):
            rarest = min(self._held, key=lambda k: (self._held[k].row.count, k.shape.fingerprint))
            size -= rarest.shape.size
            del self._held[rarest]
        self._held[key] = held

    def _count(self, held: Quarantined, tally: Tally) -> None:
        """Count a tally to its incidents."""
        if tally.key in self._held:
            self._hold_back(tally.shape, tally.count, tally.last)
        self._seen(held.incidents, tally.count, tally)

    def _seen(self, names: Iterable[str], count: int, tally: Tally) -> None:
        for name in sorted(names):
            told = self.incident_log.seen(name, count, tally.last, tally.time)
            if told is not None:
                self._tell(told, tally)

    def _emptied_again(self, tally: Tally) -> None:
        """Count a response that teaches to the emptiness it shows again, where that was never seen before its incident.

        One that is empty at times is ordinary, and only a long run of it counts: see ``_silences``.
        """
        names = []
        for name in self.incident_log.emptied:
            incident = self.incident_log.incidents[name]
            for path in (parse_path(f.path) for f in incident.findings if f.rule_id in EMPTINESS):
                place = self.profile.at(path)
                first_time = place is not None and place.empty.first >= incident.opened
                if first_time and shows_silence(tally.shape, path, "empty"):
                    names.append(name)
                    break
        self._again.update(names)
        self._seen(names, tally.count, tally)

    def _silences(self, tallies: list[Tally]) -> None:
        """What the newest observation that taught lacks, and that has been away improbably long: one incident."""
        newest = self._newest
        if self.sealed is not None or self.learning or newest is None:
            return
        now, among = newest.last, self.baseline.parts
        away = silence_changes(self.profile, newest.shape, now=now, parts=among, quarantine=self._held_back)
        told = [(change, self.incident_log.news(findings((change,), self.consumers, sealed=False))) for change in away]
        fresh = [(change, found) for change, found in told if found and not self.incident_log.of(found)]
        again = [(change, found) for change, found in told if self.incident_log.of(found)]
        if fresh:
            longest = max(change.shown_by for change, _ in fresh)
            names = self.incident_log.open(
                tuple(f for _, found in fresh for f in found), now - longest + 1, newest.time
            )
            self._seen(names, longest, newest)
        counts: dict[str, int] = {}
        for change, found in again:
            for name in self.incident_log.open(found, now - change.shown_by + 1, newest.time) - self._again:
                new = self.incident_log.incidents[name].count == 0
                count = (
                    change.shown_by
                    if new
                    else sum(tally.count for tally in tallies if shows_silence(tally.shape, change.path, change.fact))
                )
                counts[name] = max(counts.get(name, 0), count)
        for name, count in sorted(counts.items()):
            self._seen((name,), count, newest)

    def _errors(self, block: Calls) -> None:
        """Whether calls fail improbably often; ``block`` holds those that are new."""
        now = self.calls
        change = error_rate_change(calls=now.calls, errors=now.errors, run=now.run, recent=len(now.failed))
        found = self.incident_log.news(findings((change,), self.consumers, sealed=False)) if change else ()
        if not found:
            return
        for name in sorted(self.incident_log.open(found, self.observations, block.time)):
            told = self.incident_log.seen(name, block.errors, self.observations, block.time)
            if told is not None:
                self._tell(told, time=block.time)

    def _event(self, incident: Incident, tally: Tally | None = None, time: str = "") -> DriftEvent:
        event = drift_event(
            incident,
            time=tally.time if tally else time,
            ordinal=max(tally.last if tally else 0, self.observations),
            before=self._commonest(),
            after=tally.shape.fingerprint if tally else None,
            encoding=tally.encoding if tally else "native",
            coverage=map(str, self._cuts_of(tally) if tally else ()),
            generation=self.generation,
        )
        if tally and incident.status == "open" and self.sealed is None and is_variant(self.baseline, tally.shape):
            return msgspec.structs.replace(event, summary=f"{event.summary}; {HINT}")
        return event

    def _judge(self, tally: Tally) -> Judgement:
        return judge(
            self.profile,
            tally.shape,
            self.consumers,
            encoding=tally.encoding,
            cuts=truncated_paths(tally.truncations),
            broken=tally.broken,
            sealed=self.sealed is not None,
            shapes=self.walker.limits.shapes,
        )

    def _commonest(self) -> str | None:
        rows = self.rows
        return max(rows, key=lambda row: (row.count, row.shape.fingerprint)).shape.fingerprint if rows else None

    def _settle(self, extra: Row | None = None) -> tuple[LearnedMap, ...] | None:
        """Learn maps; what was held or told of keys while they were taken for fields goes."""
        new = self.baseline.settle(extra)
        if new:
            for key in list(self._held):
                if self.baseline.read(key.shape) is not key.shape:
                    del self._held[key]
            self.incident_log.forget_below(frozenset(decision.path for decision in new))
            maps = frozenset(self.baseline.maps_learned)
            self._held_back.forget_keys(maps)
            self._cuts = {(_without_keys(path, maps), limit) for path, limit in self._cuts}
        return new

    def decide(
        self, action: Action, name: str, paths: tuple[str, ...], *, reason: str, who: str, time: str
    ) -> DriftEvent | None:
        """Decide about an incident; what is accepted lets the held shapes teach. None where it was decided before."""
        self._same = False
        decision = self.incident_log.decide(action, name, paths, reason=reason, who=who, time=time)
        if decision is None:
            return None
        if action == "accept":
            self._release()
        event = self._event(self.incident_log.incidents[name], time=time)
        return msgspec.structs.replace(event, decision=f"{action}: {reason}" if reason else action)

    def _release(self, only: frozenset[str] | None = None) -> None:
        """Let held shapes teach: those held for the incidents in ``only``, else those of which all was accepted."""
        if self.sealed is not None or only == frozenset():
            return
        for key, held in list(self._held.items()):
            if only is None:
                free = Judgement(key.shape, (), self.incident_log.news(held.findings)).is_learned
            else:
                free = bool(held.incidents) and held.incidents <= only
            if free:
                del self._held[key]
                self.baseline.teach(held.row)
                self._held_back.release(held.row.count, held.row.last)

    def _learned(self, time: str) -> None:
        decisions = self._settle() or ()
        try:
            summary = describe(self.baseline, self.observations, self.consumers)
            cuts = sorted({f"{path}: {limit}" for path, limit in self._cuts})
            self._made.append(self._noted("learned", summary, time, cuts=cuts))
            self._announced = True
        except Exception as error:  # noqa: BLE001 - told with the next tallies, and nothing else is lost with it
            self.faults.append(error)
        self._note_maps(decisions, time)

    def _note_maps(self, decisions: Iterable[LearnedMap], time: str) -> None:
        for decision in decisions:
            self._note((Change(decision.path, "map", "object", "object", decision.why),), time)

    def _new_cuts(self, tally: Tally) -> None:
        """Tell once of each place that was cut for the first time after the warm-up."""
        new = [cut for cut in self._cuts_of(tally) if (cut.path, cut.limit) not in self._cuts]
        if not new or len(self._cuts) > MOST_SHAPES:
            return
        self._cuts.update((cut.path, cut.limit) for cut in new)
        if self.sealed is None and tally.first > WARM_UP:
            self._note(_cut_changes(new), tally.time)

    def _note(self, changes: tuple[Change, ...], time: str) -> None:
        self._to_note.append((changes, time))
        self._note_all()

    def _note_all(self) -> None:
        """Tell what is to be noted, where anybody finds anything in it; what fails is tried again."""
        waiting, self._to_note = self._to_note, []
        for changes, time in waiting:
            try:
                found = findings(changes, self.consumers)
                if found:
                    self._made.append(self._noted("noted", "", time, found))
            except Exception as error:  # noqa: BLE001 - nothing else may be lost with it
                self.faults.append(error)
                self._to_note.append((changes, time))

    def _noted(
        self, status: str, summary: str, time: str, found: tuple[Finding, ...] = (), cuts: Iterable[str] = ()
    ) -> DriftEvent:
        shape, count = self._commonest(), self.observations
        return note(self.tool, self.key, status, time, summary, shape, count, cuts, found, self.generation)


def _without_keys(path: str, maps: frozenset[Path]) -> str:
    return format_path(as_map_values(parse_path(path), maps))


def _cut_changes(cuts: Iterable[Truncation]) -> tuple[Change, ...]:
    return tuple(Change(parse_path(c.path), "truncation", "seen in full", c.limit, str(c)) for c in cuts)
