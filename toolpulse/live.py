"""One tool (and key) while it is watched: what it learned, what is held, which incidents are open.

Tallies come in with their ordinals, events go out; time is an argument. The first ten observations teach. Afterwards
an observation that fits teaches, so does one in which nobody finds more than an addition or a rate; any other is held
and counted. Once a flush the newest observation is asked what has been away for too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse._shapes import UNKNOWN
from toolpulse.baseline import Baseline, Row, cut_paths, join
from toolpulse.consumer import Consumer, Finding, findings
from toolpulse.diff import WARM, Change, find
from toolpulse.events import DriftEvent, drift_event, note
from toolpulse.incident import EMPTINESS, Action, Book, Decision, Incident
from toolpulse.judge import Judgement, judge
from toolpulse.learned import HINT, describe, is_variant
from toolpulse.maps import MapDecision, as_values
from toolpulse.paths import Path, format_path, parse_path
from toolpulse.profile import Profile
from toolpulse.rates import HeldBack, failing, shows, shows_empty, silences
from toolpulse.shape import Truncation, Walker
from toolpulse.tally import Errors, RowKey, Tally
from toolpulse.taught import MOST_SHAPES, Taught

if TYPE_CHECKING:
    from collections.abc import Iterable


class Held(msgspec.Struct):
    """A shape that does not teach: its row, what was found in it, and the incidents its sightings count to."""

    row: Row
    findings: tuple[Finding, ...]
    incidents: frozenset[str]


class Live:
    """The state of one (tool, key). Touched by one thread at a time."""

    def __init__(
        self,
        tool: str,
        key: str,
        walker: Walker,
        consumers: tuple[Consumer, ...],
        sealed: Baseline | None = None,
        confirm: int = 1,
    ) -> None:
        self.tool = tool
        self.key = key
        self.consumers = consumers
        self.sealed = sealed
        self.observations = sealed.observations if sealed else 0
        self.taught = Taught(walker)
        self.book = Book(tool, key, confirm)
        self._held: dict[RowKey, Held] = {}
        self._held_back = HeldBack()
        self._newest: Tally | None = None
        self._again: set[str] = set()
        """The incidents to which emptiness that teaches was counted in this flush."""
        self._cuts: set[tuple[str, str]] = set()
        self._failed = 0
        self._announced = sealed is not None

    @property
    def learning(self) -> bool:
        """Whether the warm-up is still on."""
        return self.sealed is None and self.observations < WARM

    @property
    def walker(self) -> Walker:
        """The walk that knows this tool's maps."""
        return self.sealed.walker if self.sealed else self.taught.walker

    @property
    def profile(self) -> Profile:
        """The evidence per path. To be read only."""
        return self.sealed.profile if self.sealed else self.taught.profile

    @property
    def rows(self) -> tuple[Row, ...]:
        """The distinct shapes that taught."""
        return self.sealed.rows if self.sealed else self.taught.rows

    @property
    def shapes(self) -> int:
        """How many distinct shapes are known, held ones included."""
        return len(self.rows) + len(self._held)

    def restore(
        self,
        observations: int,
        rows: Iterable[Row],
        maps_learned: Iterable[MapDecision],
        incidents: Iterable[Incident],
        decisions: Iterable[Decision] = (),
        merged: Profile | None = None,
    ) -> None:
        """Go on from what another one knew; for a state that has taken nothing yet and is not sealed."""
        self.observations = observations
        self._announced = observations >= WARM
        self.taught.restore(rows, maps_learned, merged)
        self.book.restore(incidents, decisions)
        for incident in sorted(self.book.incidents.values(), key=lambda incident: incident.last):
            if not Judgement(UNKNOWN, (), incident.findings).teaches:
                self._held_back.add(incident.count, incident.last)

    def findings_of(self, key: RowKey) -> tuple[Finding, ...]:
        """What was found in a shape that is held, but for what was accepted; nothing for one that taught."""
        held = self._held.get(key)
        return self.book.news(held.findings) if held else ()

    def take(self, tallies: Iterable[Tally], errors: Errors | None = None) -> list[DriftEvent]:
        """Judge tallies in order of their first ordinal, then what is away and how calls fail; the events to tell."""
        events: list[DriftEvent] = []
        ordered = sorted(tallies, key=lambda tally: tally.first)
        for tally in ordered:
            if not self._announced and tally.first > WARM:
                events.extend(self._learned(tally.time))
            self.observations += tally.count
            events.extend(self._take(tally))
            events.extend(self._new_cuts(tally))
        if not self._announced and self.observations >= WARM:
            events.extend(self._learned(ordered[-1].time))
        if ordered:
            events.extend(self._silences(ordered))
            self._newest = None
            self._again.clear()
            newest = max(ordered, key=lambda tally: tally.last)
            events.extend(self._event(i, newest) for i in self.book.resolve(self.observations))
            self._release(only=self.book.lapse(self.observations))
        if errors is not None:
            events.extend(self._errors(errors))
        return events

    def _take(self, tally: Tally) -> list[DriftEvent]:
        held = self._held.get(tally.key)
        if held is not None:
            held.row = join(held.row, tally.row)
            return self._count(held, tally)
        known = None if tally.broken else self.taught.get(tally.row.key)
        # what a known shape lacks may be required by now if it was gone for as long as that takes
        if known is not None and tally.first - known.last <= WARM:
            self._teach(tally)
            return self._emptied_again(tally)
        if self.sealed is None and tally.first <= WARM and not tally.broken:
            self._teach(tally)
            return []
        return self._take_new(tally)

    def _take_new(self, tally: Tally) -> list[DriftEvent]:
        read = self._read(tally)
        if read is not tally:
            return self._take(read)
        events: list[DriftEvent] = []
        judged = self._judge(tally)
        if self.sealed is None and any(change.fact in {"added", "missing"} for change in judged.changes):
            learned = self._settle(tally.row)
            if learned is not None:
                events.extend(self._map_event(decision, tally.time) for decision in learned)
                tally = self._read(tally)
                judged = self._judge(tally)
        found = self.book.news(judged.findings)
        held = Held(tally.row, found, self.book.open(found, tally.first, tally.time))
        if self.sealed is None and judged.teaches_without(found):
            self._teach(msgspec.structs.replace(tally, shape=judged.shape))
        else:
            self._hold(tally.key, held)
        return events + self._count(held, tally)

    def _read(self, tally: Tally) -> Tally:
        """A tally that was walked before a map was learned, as it is read since; no key of the map is left in it."""
        shape = self.taught.read(tally.shape)
        if shape is tally.shape:
            return tally
        return msgspec.structs.replace(tally, shape=shape, truncations=self._cuts_of(tally))

    def _cuts_of(self, tally: Tally) -> tuple[Truncation, ...]:
        """Where a tally was cut, by the maps that are known now: no key of one is named."""
        if not tally.truncations or not self.taught.maps_learned:
            return tally.truncations
        maps = frozenset(self.taught.maps_learned)
        read = {msgspec.structs.replace(cut, path=_without_keys(cut.path, maps)) for cut in tally.truncations}
        return tuple(sorted(read))

    def _teach(self, tally: Tally) -> None:
        self.taught.teach(tally.row)
        if self._newest is None or tally.last > self._newest.last:
            self._newest = tally

    def _hold(self, key: RowKey, held: Held) -> None:
        if len(self._held) >= MOST_SHAPES:
            del self._held[min(self._held, key=lambda k: (self._held[k].row.count, k.shape.fingerprint))]
        self._held[key] = held

    def _count(self, held: Held, tally: Tally) -> list[DriftEvent]:
        """Count a tally to its incidents."""
        if tally.key in self._held:
            self._held_back.add(tally.count, tally.last)
            self._held_back.saw(self.profile, tally.shape, tally.last)
        return self._seen(held.incidents, tally.count, tally)

    def _seen(self, names: Iterable[str], count: int, tally: Tally) -> list[DriftEvent]:
        told = (self.book.seen(name, count, tally.last, tally.time) for name in sorted(names))
        return [self._event(incident, tally) for incident in told if incident is not None]

    def _emptied_again(self, tally: Tally) -> list[DriftEvent]:
        """Count a response that teaches to the emptiness it shows again, where that was never seen before its incident.

        One that is empty at times is ordinary, and only a long run of it counts: see ``_silences``.
        """
        names = []
        for name in self.book.emptied:
            incident = self.book.incidents[name]
            for path in (parse_path(f.path) for f in incident.findings if f.rule_id in EMPTINESS):
                place = find(self.profile, path)
                first_time = place is not None and place.empty.first >= incident.opened
                if first_time and shows_empty(tally.shape, path):
                    names.append(name)
                    break
        self._again.update(names)
        return self._seen(names, tally.count, tally)

    def _silences(self, tallies: list[Tally]) -> list[DriftEvent]:
        """What the newest observation that taught lacks, and that has been away improbably long: one incident."""
        newest = self._newest
        if self.sealed is not None or self.learning or newest is None:
            return []
        now, among = newest.last, self.taught.parts
        away = silences(self.profile, newest.shape, now=now, among=among, held=self._held_back)
        told = [(change, self.book.news(findings((change,), self.consumers, sealed=False))) for change in away]
        fresh = [(change, found) for change, found in told if found and not self.book.of(found)]
        again = [(change, found) for change, found in told if self.book.of(found)]
        events: list[DriftEvent] = []
        if fresh:
            longest = max(change.shown for change, _ in fresh)
            names = self.book.open(tuple(f for _, found in fresh for f in found), now - longest + 1, newest.time)
            events += self._seen(names, longest, newest)
        counts: dict[str, int] = {}
        for change, found in again:
            for name in self.book.open(found, now - change.shown + 1, newest.time) - self._again:
                new = self.book.incidents[name].count == 0
                count = change.shown if new else sum(tally.count for tally in tallies if shows(tally.shape, change))
                counts[name] = max(counts.get(name, 0), count)
        for name, count in sorted(counts.items()):
            events += self._seen((name,), count, newest)
        return events

    def _errors(self, errors: Errors) -> list[DriftEvent]:
        """Whether calls fail improbably often."""
        new, self._failed = errors.errors - self._failed, errors.errors
        change = failing(calls=errors.calls, errors=errors.errors, run=errors.run, recent=errors.recent)
        found = self.book.news(findings((change,), self.consumers, sealed=False)) if change and new > 0 else ()
        if not found:
            return []
        names = self.book.open(found, self.observations, errors.time)
        told = (self.book.seen(name, new, self.observations, errors.time) for name in sorted(names))
        return [self._event(incident, time=errors.time) for incident in told if incident is not None]

    def _event(self, incident: Incident, tally: Tally | None = None, time: str = "") -> DriftEvent:
        event = drift_event(
            incident,
            time=tally.time if tally else time,
            ordinal=max(tally.last if tally else 0, self.observations),
            before=self._commonest(),
            after=tally.shape.fingerprint if tally else None,
            encoding=tally.encoding if tally else "native",
            coverage=map(str, self._cuts_of(tally) if tally else ()),
        )
        if tally and incident.status == "open" and self.sealed is None and is_variant(self.taught, tally.shape):
            return msgspec.structs.replace(event, summary=f"{event.summary}; {HINT}")
        return event

    def _judge(self, tally: Tally) -> Judgement:
        return judge(
            self.profile,
            tally.shape,
            self.consumers,
            encoding=tally.encoding,
            cuts=cut_paths(tally.truncations),
            broken=tally.broken,
            sealed=self.sealed is not None,
            shapes=self.walker.limits.shapes,
        )

    def _commonest(self) -> str | None:
        rows = self.rows
        return max(rows, key=lambda row: (row.count, row.shape.fingerprint)).shape.fingerprint if rows else None

    def _settle(self, extra: Row | None = None) -> tuple[MapDecision, ...] | None:
        """Learn maps; what was held or told of keys while they were taken for fields goes."""
        new = self.taught.settle(extra)
        if new:
            for key in list(self._held):
                if self.taught.read(key.shape) is not key.shape:
                    del self._held[key]
            self.book.forget_below(frozenset(decision.path for decision in new))
            maps = frozenset(self.taught.maps_learned)
            self._held_back.forget(maps)
            self._cuts = {(_without_keys(path, maps), limit) for path, limit in self._cuts}
        return new

    def decide(
        self, action: Action, name: str, paths: tuple[str, ...], *, reason: str, who: str, time: str
    ) -> DriftEvent | None:
        """Decide about an incident; what is accepted lets the held shapes teach. None where it was decided before."""
        decision = self.book.decide(action, name, paths, reason=reason, who=who, time=time)
        if decision is None:
            return None
        if action == "accept":
            self._release()
        event = self._event(self.book.incidents[name], time=time)
        return msgspec.structs.replace(event, decision=f"{action}: {reason}" if reason else action)

    def _release(self, only: frozenset[str] | None = None) -> None:
        """Let held shapes teach: those held for the incidents in ``only``, else those of which all was accepted."""
        if self.sealed is not None or only == frozenset():
            return
        for key, held in list(self._held.items()):
            if only is None:
                free = Judgement(key.shape, (), self.book.news(held.findings)).teaches
            else:
                free = bool(held.incidents) and held.incidents <= only
            if free:
                del self._held[key]
                self.taught.teach(held.row)
                self._held_back.release(held.row.count, held.row.last)

    def _learned(self, time: str) -> list[DriftEvent]:
        self._announced = True
        decisions = self._settle() or ()
        summary = describe(self.taught, self.observations, self.consumers)
        cuts = sorted({f"{path}: {limit}" for path, limit in self._cuts})
        told = note(self.tool, self.key, "learned", time, summary, self._commonest(), self.observations, cuts)
        return [told, *(self._map_event(decision, time) for decision in decisions)]

    def _map_event(self, decision: MapDecision, time: str) -> DriftEvent:
        return self._note((Change(decision.path, "map", "object", "object", decision.why),), time)

    def _new_cuts(self, tally: Tally) -> list[DriftEvent]:
        """Tell once of each place that was cut for the first time after the warm-up."""
        new = [cut for cut in self._cuts_of(tally) if (cut.path, cut.limit) not in self._cuts]
        if not new or len(self._cuts) > MOST_SHAPES:
            return []
        self._cuts.update((cut.path, cut.limit) for cut in new)
        return [] if self.sealed is not None or tally.first <= WARM else [self._note(_cut_changes(new), tally.time)]

    def _note(self, changes: tuple[Change, ...], time: str) -> DriftEvent:
        found = findings(changes, self.consumers)
        return note(self.tool, self.key, "noted", time, "", self._commonest(), self.observations, (), found)


def _without_keys(path: str, maps: frozenset[Path]) -> str:
    return format_path(as_values(parse_path(path), maps))


def _cut_changes(cuts: Iterable[Truncation]) -> tuple[Change, ...]:
    return tuple(Change(parse_path(c.path), "truncation", "seen in full", c.limit, str(c)) for c in cuts)
