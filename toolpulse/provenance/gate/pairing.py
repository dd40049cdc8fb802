"""Which generations of two traces belong together: those with the same id, or else those at the same position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.comparison.result import Cause
from toolpulse.provenance.gate.explanations import UNMATCHED
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.readers import Generation, Trace

ALIGNMENTS: Final = ("auto", "generation_id", "index")
"""What can be asked for; ``auto`` pairs by id where both traces have ids."""


class Pair(NamedTuple):
    """Two generations that belong together."""

    label: str
    """What messages call it: ``generation plan`` by its id, ``generation 2`` by its position."""
    one: Generation
    other: Generation


def alignment(one: Trace, other: Trace, align: str = "auto") -> str:
    """How two traces are paired: ``generation_id`` or ``index``.

    Raises ConfigurationError for an ``align`` that does not exist; InputError where only some generations of a trace
    have an id, two have the same, or only one of the traces has ids.
    """
    if align not in ALIGNMENTS:
        raise ConfigurationError(f"align must be one of {', '.join(ALIGNMENTS)}, not {align!r}")
    if align == "index":
        return align
    having = [_have_ids(trace) for trace in (one, other) if trace.generations]
    if align == "auto" and not any(having):
        return "index"
    if not all(having):
        raise InputError(f"{one.file}, {other.file}: only one has generation ids; align by index")
    return "generation_id"


def _have_ids(trace: Trace) -> bool:
    """Whether the generations have ids. Raises InputError where only some do, or two have the same."""
    ids = [generation.generation_id for generation in trace.generations]
    if any(ids) and not all(ids):
        location = trace.generations[ids.index(None)].location
        raise InputError(f"{location}: no {names.GENERATION_ID}, though other generations of the trace have one")
    seen: set[str | None] = set()
    for generation in trace.generations:
        if generation.generation_id in seen and generation.generation_id is not None:
            raise InputError(f"{generation.location}: another generation has the same {names.GENERATION_ID}")
        seen.add(generation.generation_id)
    return any(ids)


def paired(one: Sequence[Generation], other: Sequence[Generation], how: str) -> tuple[list[Pair], list[Cause]]:
    """The pairs, and a cause for the generations that have no counterpart. ``how`` is what ``alignment`` answered."""
    left, right = dict(_labelled(one, how)), dict(_labelled(other, how))
    pairs = [Pair(label, left[label], right[label]) for label in left if label in right]
    alone = tuple(label for labels in (left, right) for label in labels if label not in left or label not in right)
    if not alone:
        return pairs, []
    return pairs, [Cause(UNMATCHED, f"{len(left)} and {len(right)} generations", alone)]


def _labelled(generations: Sequence[Generation], how: str) -> Iterator[tuple[str, Generation]]:
    for number, generation in enumerate(generations, 1):
        yield f"generation {generation.generation_id if how == names.GENERATION_ID else number}", generation
