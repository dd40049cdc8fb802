"""What is known of one tool (and key) while it is watched, and how it goes on from what others wrote meanwhile.

The store has the truth, as a ``Snapshot``. The parts here are made from it, grow with each batch, and give the next
snapshot. Pure; ``tool_state`` judges with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.judgement.changes import WARM_UP
from toolpulse.judgement.judge import Judgement
from toolpulse.state.incident_log import IncidentLog
from toolpulse.state.learning.live_baseline import LiveBaseline
from toolpulse.state.learning.quarantine import Quarantine
from toolpulse.state.pending import NO_CALLS
from toolpulse.state.snapshot import EMPTY, ReadSettings, Snapshot, more_rows, only_grew

if TYPE_CHECKING:
    from toolpulse.evidence.maps import LearnedMap
    from toolpulse.evidence.profile import Profile
    from toolpulse.evidence.rows import Row
    from toolpulse.judgement.consumer import Consumer
    from toolpulse.shape import Truncation, Walker
    from toolpulse.state.baseline import Baseline
    from toolpulse.state.pending import Tally, TallyKey
    from toolpulse.state.snapshot import Quarantined


class KnownState:
    """The parts of what is known. Touched by one thread at a time.

    ``walker`` reads this tool's responses while no map is learned, ``unwrap`` says how. With a ``sealed`` baseline
    nothing is learned. ``confirm`` is how many observations must show an incident before it is reported.
    """

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
        self.quarantine = Quarantine()
        self.incident_log = IncidentLog(tool, key, confirm)
        self.calls = NO_CALLS
        self.generation = 0
        self.cuts: set[tuple[str, str]] = set()
        """Path and limit of every cut that was seen."""
        self.announced = sealed is not None
        """Whether the end of the warm-up was reported, or there is none to report."""
        self._unwrap = unwrap
        self._confirm = confirm
        self._followed = EMPTY
        self._unchanged = False
        """Whether nothing was added since what was followed."""

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
        """The distinct shapes that were learned."""
        return self.sealed.rows if self.sealed else self.baseline.rows

    @property
    def shapes(self) -> int:
        """How many distinct shapes are known, quarantined ones included."""
        return len(self.rows) + len(self.quarantine)

    @property
    def commonest(self) -> str | None:
        """The fingerprint of the shape that was learned most often."""
        rows = self.rows
        return max(rows, key=lambda row: (row.count, row.shape.fingerprint)).shape.fingerprint if rows else None

    def follow(self, now: Snapshot) -> None:
        """Go on from what is known by now. What this state added beside it, if anything, is forgotten."""
        if not self._unchanged:
            self._restore(now)
        elif now is not self._followed:
            before = self._followed
            if only_grew(before, now):
                self._grow(before, now)
            else:
                self._restore(now)
        self._followed, self._unchanged = now, True

    def acknowledge(self, after: Snapshot) -> None:
        """The store has what ``snapshot`` gave: it is what is known from now on."""
        self._followed, self._unchanged = after, True

    def forked(self) -> None:
        """In a child: what was added and not saved is the parent's; the next ``follow`` starts afresh."""
        self._unchanged = False

    def snapshot(self) -> Snapshot:
        """All of it, as a value; what a sealed baseline knows is none of it."""
        walker, before = self.walker, self._followed
        quarantined = self.quarantine.shapes.items()
        return Snapshot(
            observations=self.observations,
            rows=before.rows if self.sealed else self.baseline.by_key,
            # what fits a sealed baseline is remembered here only, so as not to be judged each time
            quarantined={key: entry for key, entry in quarantined if entry.incidents or not self.sealed},
            incidents=self.incident_log.incidents.copy(),
            decisions=self.incident_log.decisions.copy(),
            maps_learned=before.maps_learned if self.sealed else tuple(self.baseline.maps_learned.values()),
            merged=before.merged if self.sealed else self.baseline.merged_if_any,
            calls=self.calls,
            cuts=frozenset(self.cuts),
            reading=ReadSettings(walker.limits, walker.maps, walker.records, self._unwrap),
            generation=self.generation,
        )

    def _restore(self, now: Snapshot) -> None:
        if self.sealed is None:
            self.baseline.restore(now.rows.values(), now.maps_learned, now.merged)
        self.quarantine.restore(now.quarantined, self.profile)
        if self.sealed is None:
            self.quarantine.note_let_go(now.observations, self.profile.observations.count)
        self._follow_incidents(now)
        self._follow_counts(now)
        self.announced = self.sealed is not None or now.observations >= WARM_UP

    def _grow(self, before: Snapshot, now: Snapshot) -> None:
        if self.sealed is None:
            for row in more_rows(before.rows, now.rows):
                self.baseline.learn(row)
        self.quarantine.grow(before.quarantined, now.quarantined, now.rows, self.profile)
        if before.incidents != now.incidents or before.decisions != now.decisions:
            self._follow_incidents(now)
        self._follow_counts(now)
        self.announced = self.announced or now.observations >= WARM_UP

    def _follow_incidents(self, now: Snapshot) -> None:
        incident_log = IncidentLog(self.tool, self.key, self._confirm)
        incident_log.restore(now.incidents.values(), now.decisions.values())
        self.incident_log = incident_log

    def _follow_counts(self, now: Snapshot) -> None:
        self.observations = now.observations
        self.calls = now.calls
        self.generation = now.generation
        self.cuts = set(now.cuts)

    def reread(self, tally: Tally) -> Tally:
        """A tally that was walked before a map was learned, as it is read since; no key of the map is left in it."""
        shape = self.baseline.maps.reread(tally.shape)
        if shape is tally.shape:
            return tally
        return msgspec.structs.replace(tally, shape=shape, truncations=self.cuts_of(tally))

    def cuts_of(self, tally: Tally) -> tuple[Truncation, ...]:
        """Where a tally was cut, by the maps that are known now: no key of one is named."""
        if not tally.truncations or not self.baseline.maps_learned:
            return tally.truncations
        without_keys = self.baseline.maps.without_keys
        return tuple(sorted({msgspec.structs.replace(cut, path=without_keys(cut.path)) for cut in tally.truncations}))

    def learn_maps(self, unlearned: Row | None = None) -> tuple[LearnedMap, ...] | None:
        """Learn maps; what is quarantined or known of keys while they passed for fields goes."""
        new = self.baseline.learn_maps(unlearned)
        if new:
            maps = self.baseline.maps
            self.quarantine.forget_keys_of(frozenset(maps.learned), maps.reread)
            self.incident_log.forget_keys_of(frozenset(decision.path for decision in new))
            self.cuts = {(maps.without_keys(path), limit) for path, limit in self.cuts}
        return new

    def release(self, only: frozenset[str] | None = None) -> None:
        """Learn quarantined shapes: those of the incidents in ``only``, else those of which all was accepted."""
        if self.sealed is not None or only == frozenset():
            return

        def is_free(key: TallyKey, entry: Quarantined) -> bool:
            if only is not None:
                return bool(entry.incidents) and entry.incidents <= only
            return Judgement(key.shape, (), self.incident_log.not_accepted(entry.findings)).is_learned

        for row in self.quarantine.release(is_free):
            self.baseline.learn(row)
