"""What stopped: parts of a response that come and go, and have been away for improbably long.

Asked of the newest observation only, where it shows the parent, and only of the outermost path; counted from ordinals
alone. A required part that is missing is no matter of rates: ``diff`` tells of that at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path
from toolpulse.evidence.chance import WINDOW, excess, improbable
from toolpulse.evidence.maps import as_values, places, shapes_at
from toolpulse.judgement.diff import Change, Fact, find, named
from toolpulse.shape.nodes import Array, Map, Object, Scalar, Shape, is_empty

if TYPE_CHECKING:
    from toolpulse.evidence.profile import PathStats, Profile, Sightings


def parts(place: PathStats, *, inside: bool = False) -> int:
    """How many parts at and below a place come and go: optional fields, nullable places, arrays empty at times."""
    found = sum(field.always.count < place.objects.count for field in place.fields.values())
    found += "null" in place.kinds and place.valued.count > 0
    found += not inside and place.empty.count > 0 and place.filled.count > 0
    found += sum(parts(field, inside=inside) for field in place.fields.values())
    return found + sum(parts(below, inside=True) for below in (place.items, place.values) if below is not None)


class HeldBack:
    """The observations that did not teach: when, how many, and what they showed all the same.

    What they lack is told of elsewhere, so they are no silence; but what they show has not gone away.
    """

    def __init__(self) -> None:
        self._shown: dict[tuple[Fact, Path], int] = {}
        self._ordinals: list[int] = []
        self._totals: list[int] = []

    def add(self, count: int, last: int) -> None:
        """Note ``count`` observations up to the ordinal ``last``."""
        total = count + (self._totals[-1] if self._totals else 0)
        if self._ordinals and last <= self._ordinals[-1]:
            self._totals[-1] = total
            return
        if len(self._ordinals) >= _MOST_HELD_NOTED:
            # what an entry that goes counted is counted at the next one
            del self._ordinals[: _MOST_HELD_NOTED // 2 * 2 : 2], self._totals[: _MOST_HELD_NOTED // 2 * 2 : 2]
        self._ordinals.append(last)
        self._totals.append(total)

    def saw(self, profile: Profile, shape: Shape, last: int) -> None:
        """Note what such an observation at the ordinal ``last`` showed of what the profile knows."""
        for path, here in places(shape):
            if find(profile, path) is None:
                continue
            self._shown["vanished", path] = last
            if any(shape.kind not in {"null", "unknown"} for shape in here):
                self._shown["valueless", path] = last
            if not all(map(is_empty, here)):
                self._shown["empty", path] = last

    def shown(self, fact: Fact, path: Path) -> int:
        """The last ordinal at which one of them contradicted that fact at a path; 0 for none."""
        return self._shown.get((fact, path), 0)

    def forget(self, maps: frozenset[Path]) -> None:
        """Forget what was shown right below these paths: they were keys of maps, which are not kept."""
        self._shown = {key: last for key, last in self._shown.items() if as_values(key[1], maps) == key[1]}

    def release(self, count: int, last: int) -> None:
        """``count`` of them up to the ordinal ``last`` teach after all."""
        index = bisect_left(self._ordinals, last)
        for later in range(index, len(self._totals)):
            self._totals[later] = max(0, self._totals[later] - count)
        if index < len(self._totals):
            self._totals[:index] = [min(total, self._totals[index]) for total in self._totals[:index]]

    def taught(self, ordinal: int) -> int:
        """How many of the observations up to an ordinal taught."""
        index = bisect_right(self._ordinals, ordinal)
        return ordinal - (self._totals[index - 1] if index else 0)


_MOST_HELD_NOTED = 4096


def silences(profile: Profile, newest: Shape, *, now: int, among: int, held: HeldBack) -> tuple[Change, ...]:
    """The parts that the newest observation that taught lacks, and that have been away improbably long.

    ``now`` is its ordinal, ``among`` how many parts of the profile come and go. Sightings and silences are counted in
    observations that taught; ``held`` knows the others.
    """
    return _Silences(now, among, held).root(profile.root, newest)


def shows(shape: Shape, change: Change) -> bool:
    """Whether a response shows what a change about a rate says."""
    path = change.path
    if path == ROOT:
        return shape.kind == "null" or is_empty(shape)
    here = shapes_at(shape, path)
    if change.fact == "vanished":
        return not here and any(isinstance(s, Object) for s in shapes_at(shape, path[:-1]))
    if change.fact == "valueless":
        return bool(here) and all(s.kind == "null" for s in here)
    return change.fact == "empty" and bool(here) and all(map(is_empty, here))


def shows_empty(shape: Shape, path: Path) -> bool:
    """Whether a response has nothing but emptiness at a path."""
    return shows(shape, Change(path, "empty", "non-empty", "empty", ""))


class _Silences:
    def __init__(self, now: int, among: int, held: HeldBack) -> None:
        self._among = among
        self._held = held
        self._now = held.taught(now)
        self._found: list[Change] = []

    def root(self, place: PathStats, shape: Shape) -> tuple[Change, ...]:
        if shape.kind == "null" or is_empty(shape):
            after = "null" if shape.kind == "null" else "empty"
            before = place if after == "null" else "non-empty"
            self._ask(place.filled if place.filled.count else place.valued, ROOT, "empty", before, after)
        else:
            self._place(place, frozenset((shape,)), ROOT, inside=False)
        return tuple(self._found)

    def _place(self, place: PathStats, shapes: frozenset[Shape], path: Path, *, inside: bool) -> None:
        if {shape.kind for shape in shapes} == {"null"}:
            self._ask(place.valued, path, "valueless", place, "null")
            return
        objects = [shape for shape in shapes if isinstance(shape, Object)]
        if objects:
            self._fields(place, objects, path, inside=inside)
        for kind, members, step in ((Array, place.items, ITEMS), (Map, place.values, VALUES)):
            holders = [shape for shape in shapes if isinstance(shape, kind)]
            found = frozenset(m for h in holders for m in (h.elements if isinstance(h, Array) else h.values))
            if holders and not found and not inside:
                self._ask(place.filled, path, "empty", "non-empty", "empty")
            elif found and members is not None:
                self._place(members, found, (*path, step), inside=True)

    def _fields(self, place: PathStats, objects: list[Object], path: Path, *, inside: bool) -> None:
        for name, field in place.fields.items():
            children = frozenset([o.fields[name] for o in objects if name in o.fields])
            if children:
                # a value that is there has nothing below it to ask for
                if any(not isinstance(child, Scalar) or child.kind == "null" for child in children):
                    self._place(field, children, (*path, name), inside=inside)
            else:
                self._ask(field.sightings, (*path, name), "vanished", field, "missing")

    def _ask(self, seen: Sightings, path: Path, fact: Fact, known: PathStats | str, after: str) -> None:
        last = self._held.taught(max(seen.last, self._held.shown(fact, path)))
        silent = self._now - last
        if improbable(seen.count, last, silent, self._among):
            evidence = f"{seen.count:,} of {last:,} before; not in the last {silent:,}"
            before = known if isinstance(known, str) else named(known.commonest)
            self._found.append(Change(path, fact, before, after, evidence, taught=last, shown=silent))


def failing(*, calls: int, errors: int, run: int, recent: int) -> Change | None:
    """Whether errors come improbably often: ``run`` of them in a row now, or ``recent`` in the last 100 calls.

    ``calls`` and ``errors`` count everything so far. Judged by the tool's own rate before the run, and before the last
    100 calls.
    """
    good = calls - errors
    in_a_row = improbable(good, calls - run, run)
    before, failed = calls - WINDOW, errors - recent
    often = before > 0 and good > 0 and excess(failed, before, recent) * max(1, failed) < _SHARE_ALPHA
    if not (in_a_row or often):
        return None
    recently = f"{run:,} in a row" if in_a_row else f"{recent:,} of the last {WINDOW}"
    earlier = (errors - run, calls - run) if in_a_row else (failed, before)
    evidence = f"{recently}; {earlier[0]:,} of {earlier[1]:,} before"
    return Change(ROOT, "errors", "result", "error", evidence, taught=calls)


# the share is asked at every flush, not once a sighting; it gets a tenth of the chance a silence has
_SHARE_ALPHA = 0.0001
