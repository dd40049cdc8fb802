"""What stopped: parts of a response that come and go, and have been away for improbably long; and errors that do not.

The newest learned observation is asked, where it shows the parent, and only at the outermost path; counts come from
ordinals alone. A required part that is missing needs no statistics: ``judgement.diff`` reports it at first sight.
Facts with their figures come out; ``judgement.rates`` makes changes of them. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path
from toolpulse.evidence.chance import WINDOW, excess_probability, improbable
from toolpulse.evidence.shape_paths import shapes_at
from toolpulse.shape.nodes import Array, Map, Object, Scalar, Shape, is_empty

if TYPE_CHECKING:
    from toolpulse.evidence.profile import PathStats, Profile, Sightings
    from toolpulse.evidence.quarantine import QuarantineLog, SilentFact

# the share is asked at every flush, not once a sighting; it gets a tenth of the chance a silence has
_SHARE_ALPHA: Final = 0.0001


class Silence(msgspec.Struct, frozen=True):
    """Something that comes and goes, and has been away improbably long."""

    path: Path
    fact: SilentFact
    before: str
    """The kind that was seen here, or ``non-empty``."""
    after: str
    """``missing``, ``null`` or ``empty``."""
    seen: int
    """How many observations showed it."""
    total: int
    """How many were learned up to the last that showed it."""
    silent: int
    """How many were learned since."""


class ErrorRate(msgspec.Struct, frozen=True):
    """Errors that come improbably often: ``failed`` of the last ``recent`` calls, ``failed_before`` of those before."""

    failed: int
    recent: int
    failed_before: int
    calls_before: int
    in_a_row: bool
    """Whether it was a run of errors; else their share of the last ``WINDOW`` calls."""


def optional_parts(stats: PathStats, *, inside: bool = False) -> int:
    """How many parts at and below a path come and go: optional fields, nullable values, containers empty at times.

    ``inside`` says that the path lies in an array or map, where emptiness is ordinary.
    """
    count = sum(field.always.count < stats.objects.count for field in stats.fields.values())
    count += "null" in stats.kinds and stats.valued.count > 0
    count += not inside and stats.empty.count > 0 and stats.filled.count > 0
    count += sum(optional_parts(field, inside=inside) for field in stats.fields.values())
    return count + sum(optional_parts(below, inside=True) for below in (stats.items, stats.values) if below is not None)


def silences(
    profile: Profile, newest: Shape, *, now: int, parts: int, quarantine: QuarantineLog
) -> tuple[Silence, ...]:
    """What the newest learned observation lacks, and that has been away improbably long.

    ``now`` is its ordinal, ``parts`` how many parts of the profile come and go (``optional_parts``). Sightings and
    silences are counted in learned observations; ``quarantine`` knows the others.
    """
    return _Silences(now, parts, quarantine).of_response(profile.root, newest)


def shows_silence(shape: Shape, path: Path, fact: str) -> bool:
    """Whether a response shows a silence: that fact at that path. At the root null and emptiness are one."""
    if path == ROOT:
        return shape.kind == "null" or is_empty(shape)
    shapes = shapes_at(shape, path)
    if fact == "vanished":
        return not shapes and any(isinstance(parent, Object) for parent in shapes_at(shape, path[:-1]))
    if fact == "valueless":
        return bool(shapes) and all(here.kind == "null" for here in shapes)
    return fact == "empty" and bool(shapes) and all(map(is_empty, shapes))


class _Silences:
    """One search through the newest observation."""

    def __init__(self, now: int, parts: int, quarantine: QuarantineLog) -> None:
        self._parts = parts
        self._quarantine = quarantine
        self._now = quarantine.learned_until(now)
        self._silences: list[Silence] = []

    def of_response(self, stats: PathStats, shape: Shape) -> tuple[Silence, ...]:
        if shape.kind == "null" or is_empty(shape):
            after = "null" if shape.kind == "null" else "empty"
            before = stats.printed_kind if after == "null" else "non-empty"
            self._ask(stats.filled if stats.filled.count else stats.valued, ROOT, "empty", before, after)
        else:
            self._at(stats, frozenset((shape,)), ROOT, inside=False)
        return tuple(self._silences)

    def _at(self, stats: PathStats, shapes: frozenset[Shape], path: Path, *, inside: bool) -> None:
        if {shape.kind for shape in shapes} == {"null"}:
            self._ask(stats.valued, path, "valueless", stats.printed_kind, "null")
            return
        objects = [shape for shape in shapes if isinstance(shape, Object)]
        if objects:
            self._fields(stats, objects, path, inside=inside)
        for kind, members, step in ((Array, stats.items, ITEMS), (Map, stats.values, VALUES)):
            holders = [shape for shape in shapes if isinstance(shape, kind)]
            held = frozenset(m for h in holders for m in (h.elements if isinstance(h, Array) else h.values))
            if holders and not held and not inside:
                self._ask(stats.filled, path, "empty", "non-empty", "empty")
            elif held and members is not None:
                self._at(members, held, (*path, step), inside=True)

    def _fields(self, stats: PathStats, objects: list[Object], path: Path, *, inside: bool) -> None:
        for name, field in stats.fields.items():
            children = frozenset([o.fields[name] for o in objects if name in o.fields])
            if not children:
                self._ask(field.sightings, (*path, name), "vanished", field.printed_kind, "missing")
            # a value that is there has nothing below it to ask for
            elif any(not isinstance(child, Scalar) or child.kind == "null" for child in children):
                self._at(field, children, (*path, name), inside=inside)

    def _ask(self, seen: Sightings, path: Path, fact: SilentFact, before: str, after: str) -> None:
        last = self._quarantine.learned_until(max(seen.last, self._quarantine.last_shown(fact, path)))
        silent = self._now - last
        if improbable(seen.count, last, silent, self._parts):
            self._silences.append(Silence(path, fact, before, after, seen.count, last, silent))


def error_rate(*, calls: int, errors: int, run: int, recent: int) -> ErrorRate | None:
    """Whether errors come improbably often: ``run`` of them in a row now, or ``recent`` in the last ``WINDOW`` calls.

    ``calls`` and ``errors`` count everything so far. Judged by the tool's own rate before the run, and before the last
    ``WINDOW`` calls. None where it is ordinary.
    """
    good = calls - errors
    if improbable(good, calls - run, run):
        return ErrorRate(run, run, errors - run, calls - run, in_a_row=True)
    calls_before, failed_before = calls - WINDOW, errors - recent
    if calls_before <= 0 or good <= 0:
        return None
    if excess_probability(failed_before, calls_before, recent) * max(1, failed_before) < _SHARE_ALPHA:
        return ErrorRate(recent, WINDOW, failed_before, calls_before, in_a_row=False)
    return None
