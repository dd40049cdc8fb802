"""One tool (and key) while it is watched: what it learned, what is held, which incidents are open.

Tallies come in with their ordinals, events go out; time is an argument. The first ten observations teach. Afterwards
an observation that fits teaches, so does one in which nobody finds more than an addition; any other is held and
counted, and tells of its changes once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from toolpulse._shapes import Object, Shape
from toolpulse.baseline import Baseline, Row, cut_paths, join
from toolpulse.consumer import Consumer, Finding
from toolpulse.diff import WARM
from toolpulse.events import DriftEvent, drift_event, event_id
from toolpulse.incident import ChangeKey, Incident, change_key, opened, seen_again, unseen
from toolpulse.judge import Judgement, judge
from toolpulse.maps import MapDecision, map_paths, settle
from toolpulse.profile import Place, Profile, fold, merge
from toolpulse.risk import Risk
from toolpulse.shape import Truncation, Walker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.paths import Path

MOST_SHAPES: Final = 200
"""Distinct shapes kept of a baseline; the evidence of the rarest beyond it stays, their shapes go."""

MOST_INCIDENTS: Final = 1000
"""Incidents kept of a tool and key."""

# a less risky incident has the lower number
_RANKS: Final = {risk: -rank for rank, risk in enumerate(Risk)}

RowKey: TypeAlias = tuple[Shape, str]


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

    @property
    def row(self) -> Row:
        """As a row of a baseline."""
        return Row(self.shape, self.count, self.first, self.last, self.encoding, cut_paths(self.truncations))


class Held(msgspec.Struct):
    """A shape that does not teach: what was found in it, and the incidents its sightings count to."""

    findings: tuple[Finding, ...]
    incidents: frozenset[str]
    count: int = 0


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
        self.confirm = confirm
        self.sealed = sealed
        self.walker = sealed.walker if sealed else walker
        self.observations = sealed.observations if sealed else 0
        self.decisions: dict[Path, MapDecision] = {}
        self.incidents: dict[str, Incident] = {}
        self._plain_walker = walker
        self._rows: dict[RowKey, Row] = {}
        self._merged = Profile()
        self._profile = sealed.profile if sealed else Profile()
        self._held: dict[RowKey, Held] = {}
        self._known: dict[ChangeKey, str] = {}
        self._announced = sealed is not None

    @property
    def learning(self) -> bool:
        """Whether the warm-up is still on."""
        return self.sealed is None and self.observations < WARM

    @property
    def shapes(self) -> int:
        """How many distinct shapes are known, held ones included."""
        return (len(self.sealed.rows) if self.sealed else len(self._rows)) + len(self._held)

    @property
    def profile(self) -> Profile:
        """The evidence per path. To be read only."""
        return self._profile

    @property
    def rows(self) -> tuple[Row, ...]:
        """The distinct shapes that taught."""
        return self.sealed.rows if self.sealed else tuple(self._rows.values())

    def restore(
        self, observations: int, rows: Iterable[Row], decisions: Iterable[MapDecision], incidents: Iterable[Incident]
    ) -> None:
        """Go on from what another one knew; for a state that has taken nothing yet and is not sealed."""
        self.observations = observations
        self._announced = observations >= WARM
        self.decisions = {decision.path: decision for decision in decisions}
        self._rows = {(row.shape, row.encoding): row for row in rows}
        self._refold()
        for incident in incidents:
            self.incidents[incident.id] = incident
            self._known.update((key, incident.id) for key in incident.keys)

    def findings_of(self, shape: Shape, encoding: str) -> tuple[Finding, ...]:
        """What was found in a shape that is held; nothing for one that taught."""
        held = self._held.get((shape, encoding))
        return held.findings if held else ()

    def take(self, tallies: Iterable[Tally]) -> list[DriftEvent]:
        """Judge tallies in order of their first ordinal; the events to tell, in that order."""
        events: list[DriftEvent] = []
        for tally in sorted(tallies, key=lambda tally: tally.first):
            if not self._announced and tally.first > WARM:
                events.append(self._learned(tally.time))
            self.observations += tally.count
            events.extend(self._take(tally))
        if not self._announced and self.observations >= WARM:
            events.append(self._learned(tally.time))
        return events

    def _take(self, tally: Tally) -> list[DriftEvent]:
        key = (tally.shape, tally.encoding)
        if key in self._rows:
            self._teach(tally.row)
            return []
        held = self._held.get(key)
        if held is not None:
            return self._count(held, tally)
        if self.sealed is None and tally.first <= WARM:
            self._teach(tally.row)
            return []
        return self._take_new(tally, key)

    def _take_new(self, tally: Tally, key: RowKey) -> list[DriftEvent]:
        judged = self._judge(tally)
        presence = any(change.fact in {"added", "missing"} for change in judged.changes)
        if self.sealed is None and presence and self._settle(tally.row):
            judged = self._judge(tally)
        self._open(judged.findings, tally)
        held = Held(judged.findings, frozenset(self._known[change_key(f)] for f in judged.findings))
        if judged.teaches and self.sealed is None:
            self._teach(msgspec.structs.replace(tally.row, shape=judged.shape))
        else:
            self._hold(key, held)
        return self._count(held, tally)

    def _hold(self, key: RowKey, held: Held) -> None:
        if len(self._held) >= MOST_SHAPES:
            del self._held[min(self._held, key=lambda k: (self._held[k].count, k[0].fingerprint))]
        self._held[key] = held

    def _forget_oldest(self) -> None:
        """Incidents are bounded; a pending or least risky one goes first, the longest unseen of equals."""
        gone = min(self.incidents.values(), key=lambda i: (i.status != "pending", _RANKS[i.risk], i.last))
        del self.incidents[gone.id]
        self._known = {key: name for key, name in self._known.items() if name != gone.id}
        for key, held in list(self._held.items()):
            if gone.id in held.incidents:
                del self._held[key]

    def _open(self, findings: tuple[Finding, ...], tally: Tally) -> None:
        fresh = unseen(findings, self._known)
        if fresh:
            if len(self.incidents) >= MOST_INCIDENTS:
                self._forget_oldest()
            incident = opened(self.tool, self.key, fresh, tally.first, tally.time)
            self.incidents[incident.id] = incident
            self._known.update((key, incident.id) for key in incident.keys)

    def _count(self, held: Held, tally: Tally) -> list[DriftEvent]:
        """Count a tally to its incidents; tell of those that are confirmed by it."""
        held.count += tally.count
        events = []
        for name in sorted(held.incidents):
            incident = seen_again(self.incidents[name], tally.count, tally.last, tally.time)
            confirmed = incident.status == "pending" and incident.count >= self.confirm
            if confirmed:
                incident = msgspec.structs.replace(incident, status="open")
                events.append(self._event(incident, tally))
            self.incidents[name] = incident
        return events

    def _event(self, incident: Incident, tally: Tally) -> DriftEvent:
        return drift_event(
            incident,
            time=tally.time,
            ordinal=max(tally.last, self.observations),
            before=self._commonest(),
            after=tally.shape.fingerprint,
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
            sealed=self.sealed is not None,
            shapes=self.walker.limits.shapes,
        )

    def _commonest(self) -> str | None:
        rows = self.rows
        return max(rows, key=lambda row: (row.count, row.shape.fingerprint)).shape.fingerprint if rows else None

    def _teach(self, row: Row) -> None:
        key = (row.shape, row.encoding)
        known = self._rows.get(key)
        self._rows[key] = join(known, row) if known else row
        self._profile.add(row.shape, row.sightings, row.encoding, row.cuts)
        if len(self._rows) > MOST_SHAPES:
            rarest = min(self._rows, key=lambda k: (self._rows[k].count, k[0].fingerprint))
            gone = self._rows.pop(rarest)
            self._merged.add(gone.shape, gone.sightings, gone.encoding, gone.cuts)

    def _settle(self, extra: Row | None = None) -> bool:
        """Ask whether keys that come and go are data; what is decided rewrites the stored shapes."""
        rows = [*self._rows.values(), *([extra] if extra else ())]
        counted = [(row.shape, row.count) for row in rows]
        shapes, decided = settle(counted, self._plain_walker.is_record, self.walker.limits.shapes)
        new = [decision for decision in decided if decision.path not in self.decisions]
        if not new and all(a is row.shape for a, row in zip(shapes, rows, strict=True)):
            return False
        self.decisions.update((decision.path, decision) for decision in new)
        rewritten: dict[RowKey, Row] = {}
        for row, shape in zip(self._rows.values(), shapes, strict=False):
            new_row = msgspec.structs.replace(row, shape=shape)
            key = (shape, row.encoding)
            rewritten[key] = join(rewritten[key], new_row) if key in rewritten else new_row
        self._rows = rewritten
        self._refold()
        return True

    def _refold(self) -> None:
        rows = self._rows.values()
        self._profile = merge(fold((r.shape, r.sightings, r.encoding, r.cuts) for r in rows), self._merged)
        paths = frozenset(decision.path for decision in self.decisions.values())
        self.walker = self._plain_walker.with_maps(paths, map_paths(row.shape for row in rows))

    def _learned(self, time: str) -> DriftEvent:
        self._announced = True
        self._settle()
        paths, optional = _counts(self._profile.root)
        maps = ", ".join(sorted(decision.why for decision in self.decisions.values()))
        summary = f"learned {paths} paths ({optional} optional) from {self.observations} calls"
        summary += f"; maps: {maps}" if maps else ""
        if _disjoint(self._rows):
            summary += "; responses without a common field: key= keeps variants of a call apart"
        return DriftEvent(
            id=event_id(f"{self.tool} {self.key}", "learned", WARM),
            time=time,
            tool=self.tool,
            key=self.key,
            incident=None,
            status="learned",
            risk=Risk.INFO,
            risks={},
            summary=summary,
            pattern=None,
            changes=(),
            fingerprint_before=None,
            fingerprint_after=self._commonest(),
            encoding="native",
            count=self.observations,
            share=1.0,
            coverage=(),
        )


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


def _disjoint(rows: Iterable[RowKey]) -> bool:
    names = [frozenset(shape.names) for shape, _ in rows if isinstance(shape, Object) and shape.names]
    return any(not (one & other) for index, one in enumerate(names) for other in names[:index])
