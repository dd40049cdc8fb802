"""One tool (and key) while it is watched: what it learned, what is held, which incidents are open.

Tallies come in with their ordinals, events go out; time is an argument. The first ten observations teach. Afterwards
an observation that fits teaches, so does one in which nobody finds more than an addition or a rate; any other is held
and counted. Once a flush the newest observation is asked what has been away for too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from toolpulse._shapes import Object, Shape, is_empty
from toolpulse.baseline import Baseline, Row, cut_paths, join
from toolpulse.consumer import Consumer, Finding, findings
from toolpulse.diff import WARM, Change
from toolpulse.events import DriftEvent, drift_event, note
from toolpulse.incident import Action, Book, Decision, Incident
from toolpulse.judge import Judgement, judge
from toolpulse.maps import MapDecision, map_paths, rewrite, settle, shapes_at
from toolpulse.paths import parse_path
from toolpulse.profile import Place, Profile, fold, merge
from toolpulse.rates import failing, parts, silences
from toolpulse.risk import RATES
from toolpulse.shape import Truncation, Walker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.paths import Path

MOST_SHAPES: Final = 200
"""Distinct shapes kept of a baseline; the evidence of the rarest beyond it stays, their shapes go."""

RowKey: TypeAlias = tuple[Shape, str, tuple[str, ...]]
"""Shape, encoding, and the assertions that did not hold."""


class Tally(msgspec.Struct, frozen=True):
    """Observations of one shape and encoding that wait to be judged: how many, at which ordinals, when."""

    shape: Shape
    encoding: str
    count: int
    first: int
    last: int
    time: str
    """Of the first of them; ISO 8601, UTC."""
    truncations: tuple[Truncation, ...] = ()
    broken: tuple[str, ...] = ()
    """``consumer: assertion`` of those that were false or raised."""

    @property
    def row(self) -> Row:
        """As a row of a baseline."""
        return Row(self.shape, self.count, self.first, self.last, self.encoding, cut_paths(self.truncations))

    @property
    def key(self) -> RowKey:
        """What makes it a tally of its own."""
        return (self.shape, self.encoding, self.broken)


class Errors(msgspec.Struct, frozen=True):
    """The errors of a tool so far: of how many calls, how many in a row now, how many of the last 100 calls."""

    calls: int
    errors: int
    run: int
    recent: int
    time: str


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
        self.walker = sealed.walker if sealed else walker
        self.observations = sealed.observations if sealed else 0
        self.maps_learned: dict[Path, MapDecision] = {}
        self.book = Book(tool, key, confirm)
        self._plain_walker = walker
        self._rows: dict[RowKey, Row] = {}
        self._merged = Profile()
        self._profile = sealed.profile if sealed else Profile()
        self._held: dict[RowKey, Held] = {}
        self._held_last = 0
        self._parts = 0
        self._cuts: set[tuple[str, str]] = set()
        self._failed = 0
        self._announced = sealed is not None

    @property
    def learning(self) -> bool:
        """Whether the warm-up is still on."""
        return self.sealed is None and self.observations < WARM

    @property
    def shapes(self) -> int:
        """How many distinct shapes are known, held ones included."""
        return len(self.rows) + len(self._held)

    @property
    def profile(self) -> Profile:
        """The evidence per path. To be read only."""
        return self._profile

    @property
    def rows(self) -> tuple[Row, ...]:
        """The distinct shapes that taught."""
        return self.sealed.rows if self.sealed else tuple(self._rows.values())

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
        self.maps_learned = {decision.path: decision for decision in maps_learned}
        self._rows = {(row.shape, row.encoding, ()): row for row in rows}
        self._merged = merged or Profile()
        self._refold()
        self.book.restore(incidents, decisions)

    @property
    def merged(self) -> Profile:
        """The evidence of the shapes that were let go."""
        return self._merged

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
            newest = max(ordered, key=lambda tally: tally.last)
            events.extend(self._silences(newest))
            events.extend(self._event(i, newest) for i in self.book.resolve(self.observations))
            self._release_lapsed(self.book.lapse(self.observations))
        if errors is not None:
            events.extend(self._errors(errors))
        return events

    def _take(self, tally: Tally) -> list[DriftEvent]:
        held = self._held.get(tally.key)
        if held is not None:
            held.row = join(held.row, tally.row)
            return self._count(held, tally)
        known = self._rows.get(tally.key)
        if known is not None and not self._away(known, tally):
            self._teach(tally.row)
            return self._count_rates(tally)
        if self.sealed is None and tally.first <= WARM and not tally.broken:
            self._teach(tally.row)
            return []
        return self._take_new(tally)

    def _away(self, known: Row, tally: Tally) -> bool:
        """Whether a known shape was gone so long that what it lacks may be required by now; it is judged again then."""
        return self.sealed is None and tally.first - known.last > WARM

    def _take_new(self, tally: Tally) -> list[DriftEvent]:
        read = self._read(tally.shape)
        if read is not tally.shape:
            return self._take(msgspec.structs.replace(tally, shape=read))
        events: list[DriftEvent] = []
        judged = self._judge(tally)
        presence = any(change.fact in {"added", "missing"} for change in judged.changes)
        if self.sealed is None and presence:
            learned = self._settle(tally.row)
            if learned is not None:
                events.extend(self._map_event(decision, tally.time) for decision in learned)
                judged = self._judge(tally)
        found = self.book.news(judged.findings)
        held = Held(tally.row, found, self.book.open(found, tally.first, tally.time))
        if self.sealed is None and judged.teaches_without(found):
            self._teach(msgspec.structs.replace(tally.row, shape=judged.shape))
            return events + self._count(held, tally, teaches=True) + self._count_rates(tally, held.incidents)
        self._hold(tally.key, held)
        return events + self._count(held, tally)

    def _read(self, shape: Shape) -> Shape:
        """A shape that was walked before a map was learned, as it is read since."""
        if not self.maps_learned:
            return shape
        return rewrite(shape, lambda path, _: path in self.maps_learned, self.walker.limits.shapes)

    def _hold(self, key: RowKey, held: Held) -> None:
        if len(self._held) >= MOST_SHAPES:
            del self._held[min(self._held, key=lambda k: (self._held[k].row.count, k[0].fingerprint))]
        self._held[key] = held

    def _count(self, held: Held, tally: Tally, *, teaches: bool = False) -> list[DriftEvent]:
        """Count a tally to its incidents. An observation that does not teach ends every silence."""
        if not teaches:
            self._held_last = max(self._held_last, tally.last)
        told = (self.book.seen(name, tally.count, tally.last, tally.time) for name in sorted(held.incidents))
        return [self._event(incident, tally) for incident in told if incident is not None]

    def _count_rates(self, tally: Tally, already: frozenset[str] = frozenset()) -> list[DriftEvent]:
        """Count a tally that teaches to the incidents about rates that it shows."""
        events = []
        for name in sorted(self.book.rated - already):
            incident = self.book.incidents[name]
            if any(f.rule_id in RATES and shows(tally.shape, f) for f in incident.findings):
                told = self.book.seen(incident.id, tally.count, tally.last, tally.time)
                events.extend([self._event(told, tally)] if told is not None else [])
        return events

    def _silences(self, newest: Tally) -> list[DriftEvent]:
        """What the newest observation lacks and that was away improbably long; asked where it taught."""
        if self.sealed is not None or self.learning or newest.key not in self._rows:
            return []
        changes = silences(self._profile, newest.shape, now=newest.last, floor=self._held_last, among=self._parts)
        if not changes:
            return []
        found = self.book.news(findings(changes, self.consumers, sealed=False))
        known = self.book.of(found)
        names = self.book.open(found, newest.last, newest.time) - known
        told = (self.book.seen(name, 1, newest.last, newest.time) for name in sorted(names))
        return [self._event(incident, newest) for incident in told if incident is not None]

    def _errors(self, errors: Errors) -> list[DriftEvent]:
        """Whether calls fail improbably often; errors have ordinals of their own, the positions of calls."""
        new, self._failed = errors.errors - self._failed, errors.errors
        change = failing(calls=errors.calls, errors=errors.errors, run=errors.run, recent=errors.recent)
        found = self.book.news(findings((change,), self.consumers, sealed=False)) if change and new > 0 else ()
        if not found:
            return []
        tally = Tally(_ERROR, "native", new, errors.calls, errors.calls, errors.time)
        names = self.book.open(found, self.observations, errors.time)
        told = (self.book.seen(name, new, self.observations, errors.time) for name in sorted(names))
        return [self._event(incident, tally) for incident in told if incident is not None]

    def _event(self, incident: Incident, tally: Tally) -> DriftEvent:
        return drift_event(
            incident,
            time=tally.time,
            ordinal=max(tally.last, self.observations),
            before=self._commonest(),
            after=tally.shape.fingerprint if tally.shape is not _ERROR else None,
            encoding=tally.encoding,
            coverage=map(str, tally.truncations),
        )

    def _judge(self, tally: Tally) -> Judgement:
        return judge(
            self._profile,
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

    def _teach(self, row: Row) -> None:
        key = (row.shape, row.encoding, ())
        known = self._rows.get(key)
        self._rows[key] = join(known, row) if known else row
        self._profile.add(row.shape, row.sightings, row.encoding, row.cuts)
        if known is None:
            self._parts = parts(self._profile.root)
        if len(self._rows) > MOST_SHAPES:
            rarest = min(self._rows, key=lambda k: (self._rows[k].count, k[0].fingerprint))
            gone = self._rows.pop(rarest)
            self._merged.add(gone.shape, gone.sightings, gone.encoding, gone.cuts)

    def _settle(self, extra: Row | None = None) -> tuple[MapDecision, ...] | None:
        """Ask whether keys that come and go are data; what is decided rewrites the stored shapes. None: nothing is."""
        rows = [*self._rows.values(), *([extra] if extra else ())]
        counted = [(row.shape, row.count) for row in rows]
        shapes, decided = settle(counted, self._plain_walker.is_record, self.walker.limits.shapes)
        new = tuple(decision for decision in decided if decision.path not in self.maps_learned)
        if not new and all(a is row.shape for a, row in zip(shapes, rows, strict=True)):
            return None
        self.maps_learned.update((decision.path, decision) for decision in new)
        rewritten: dict[RowKey, Row] = {}
        for row, shape in zip(self._rows.values(), shapes, strict=False):
            new_row = msgspec.structs.replace(row, shape=shape)
            key = (shape, row.encoding, ())
            rewritten[key] = join(rewritten[key], new_row) if key in rewritten else new_row
        self._rows = rewritten
        self._merged = self._merged.with_maps(self.maps_learned)
        self._refold()
        if new:
            self._forget_keys(frozenset(decision.path for decision in new))
        return new

    def _forget_keys(self, paths: frozenset[Path]) -> None:
        """What was kept while the keys of a map were taken for fields goes: plans, held shapes, incidents."""
        self._plain_walker.forget()
        for key in list(self._held):
            if self._read(key[0]) is not key[0]:
                del self._held[key]
        self.book.forget_below(paths)

    def _refold(self) -> None:
        rows = self._rows.values()
        self._profile = merge(fold((r.shape, r.sightings, r.encoding, r.cuts) for r in rows), self._merged)
        self._parts = parts(self._profile.root)
        paths = frozenset(decision.path for decision in self.maps_learned.values())
        self.walker = self._plain_walker.with_maps(paths, map_paths(row.shape for row in rows))

    def decide(
        self, action: Action, name: str, paths: tuple[str, ...], *, reason: str, who: str, time: str
    ) -> DriftEvent | None:
        """Decide about an incident; what is accepted lets the held shapes teach. None where it was decided before."""
        decision = self.book.decide(action, name, paths, reason=reason, who=who, time=time)
        if decision is None:
            return None
        if action == "accept" and self.sealed is None:
            self._release()
        incident = self.book.incidents[name]
        tally = Tally(_ERROR, "native", 0, incident.last, incident.last, time)
        event = self._event(incident, tally)
        return msgspec.structs.replace(event, decision=f"{action}: {reason}" if reason else action)

    def _release(self) -> None:
        """Let those held shapes teach in which nothing is left but what was accepted."""
        for key, held in list(self._held.items()):
            left = self.book.news(held.findings)
            if not any(f.risk.is_news and f.rule_id not in RATES for f in left) and not key[2]:
                del self._held[key]
                self._teach(held.row)

    def _release_lapsed(self, names: frozenset[str]) -> None:
        """Let the shapes teach that were held for nothing but what was not confirmed."""
        for key, held in list(self._held.items()) if names else ():
            if held.incidents and held.incidents <= names and self.sealed is None and not key[2]:
                del self._held[key]
                self._teach(held.row)

    def _learned(self, time: str) -> list[DriftEvent]:
        self._announced = True
        decisions = self._settle() or ()
        paths, optional = _counts(self._profile.root)
        summary = f"learned {paths} paths ({optional} optional) from {self.observations} calls"
        if self.maps_learned:
            summary += f", {len(self.maps_learned)} of them maps by how their keys come and go"
        if _disjoint(row.shape for row in self._rows.values()):
            summary += "; responses without a common field: key= keeps variants of a call apart"
        for consumer in self.consumers:
            wrong = consumer.disagreements(self._profile)
            if wrong:
                summary += f"; what {consumer.name} expects is wrong in {len(wrong)} places: {'; '.join(wrong[:3])}"
        cuts = sorted({f"{path}: {limit}" for path, limit in self._cuts})
        told = note(self.tool, self.key, "learned", time, summary, self._commonest(), self.observations, cuts)
        return [told, *(self._map_event(decision, time) for decision in decisions)]

    def _map_event(self, decision: MapDecision, time: str) -> DriftEvent:
        change = Change(decision.path, "map", "object", "object", decision.why)
        return self._note((change,), time)

    def _new_cuts(self, tally: Tally) -> list[DriftEvent]:
        """Tell once of each place that was cut for the first time after the warm-up."""
        new = [cut for cut in tally.truncations if (cut.path, cut.limit) not in self._cuts]
        if not new or len(self._cuts) > MOST_SHAPES:
            return []
        self._cuts.update((cut.path, cut.limit) for cut in new)
        if self.sealed is not None or tally.first <= WARM:
            return []
        changes = tuple(Change(parse_path(c.path), "truncation", "seen in full", c.limit, str(c)) for c in new)
        return [self._note(changes, tally.time)]

    def _note(self, changes: tuple[Change, ...], time: str) -> DriftEvent:
        found = findings(changes, self.consumers)
        return note(self.tool, self.key, "noted", time, "", self._commonest(), self.observations, (), found)


_ERROR: Final = Object({})
"""Stands for the response of a call that gave none."""


def shows(shape: Shape, finding: Finding) -> bool:
    """Whether a response shows what a finding about a rate says."""
    path = parse_path(finding.path)
    if finding.rule_id == "response-empty":
        return shape.kind == "null" or is_empty(shape)
    here = shapes_at(shape, path)
    if finding.rule_id == "field-vanished":
        return not here and any(isinstance(s, Object) for s in shapes_at(shape, path[:-1]))
    if finding.rule_id == "value-vanished":
        return bool(here) and all(s.kind == "null" for s in here)
    return finding.rule_id == "emptied" and bool(here) and all(map(is_empty, here))


def _counts(place: Place) -> tuple[int, int]:
    """How many paths lie below a place, and how many of them are optional fields."""
    paths = optional = 0
    inner = list(place.fields.items()) + [(None, below) for below in (place.items, place.values) if below]
    for name, below in inner:
        deeper, deeper_optional = _counts(below)
        paths += 1 + deeper
        optional += deeper_optional
        optional += name is not None and below.always.count < place.objects.count
    return paths, optional


def _disjoint(shapes: Iterable[Shape]) -> bool:
    names = [frozenset(shape.names) for shape in shapes if isinstance(shape, Object) and shape.names]
    return any(not (one & other) for index, one in enumerate(names) for other in names[:index])
