"""What was learned by the end of a warm-up, in one sentence. Pure; ``tool_state`` puts it into the event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse.shape.nodes import Object, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.evidence.profile import PathStats
    from toolpulse.judgement.consumer import Consumer
    from toolpulse.state.learning.live_baseline import LiveBaseline

HINT: Final = "responses without a common field: key= keeps variants of a call apart"

_MOST_NAMED = 3


def describe(baseline: LiveBaseline, observations: int, consumers: Iterable[Consumer]) -> str:
    """How much was learned from so many responses: ``learned 5 paths (1 optional) from 10 calls``.

    Where responses have no field in common it says so, and where a consumer expects a type that they contradict.
    """
    paths, optional = _counts(baseline.profile.root)
    text = f"learned {_counted(paths, 'path')} ({optional} optional) from {_counted(observations, 'call')}"
    if baseline.maps_learned:
        text += f", {len(baseline.maps_learned)} of them maps by how their keys come and go"
    if _disjoint(row.shape for row in baseline.rows):
        text += f"; {HINT}"
    for consumer in consumers:
        wrong = consumer.disagreements(baseline.profile)
        if wrong:
            places = "one place" if len(wrong) == 1 else f"{len(wrong)} places"
            text += f"; what {consumer.name} expects is wrong in {places}: {'; '.join(wrong[:_MOST_NAMED])}"
    return text


def is_variant(baseline: LiveBaseline, shape: Shape) -> bool:
    """Whether a response has no top-level field that any before it had: another kind of response altogether."""
    known = baseline.profile.root.fields
    return isinstance(shape, Object) and bool(shape.names and known) and known.keys().isdisjoint(shape.names)


def _counts(stats: PathStats) -> tuple[int, int]:
    """How many paths lie below a path, and how many of them are optional fields."""
    paths = optional = 0
    inner = list(stats.fields.items()) + [(None, below) for below in (stats.items, stats.values) if below]
    for name, below in inner:
        deeper, deeper_optional = _counts(below)
        paths += 1 + deeper
        optional += deeper_optional
        optional += name is not None and below.always.count < stats.objects.count
    return paths, optional


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _disjoint(shapes: Iterable[Shape]) -> bool:
    names = [frozenset(shape.names) for shape in shapes if isinstance(shape, Object) and shape.names]
    return any(not (one & other) for index, one in enumerate(names) for other in names[:index])
