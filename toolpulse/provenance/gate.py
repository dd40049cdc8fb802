"""The gate: whether two traces may be compared at all. It never passes a pair that it cannot vouch for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.judgement.diff import Change
from toolpulse.provenance import attributes as names
from toolpulse.provenance import pairs
from toolpulse.provenance.readers import Generation, Trace, load_trace
from toolpulse.verdicts import Cause, Code, Ruling

Source: TypeAlias = Trace | str | os.PathLike[str]
"""A trace, or the file of one."""

ALIGNMENTS: Final = ("auto", "generation_id", "index")
REQUIRED: Final = (names.PROMPT_HASH, names.TOOLS_HASH, names.MODEL)

SAMPLED: Final = "sampled"
UNMATCHED: Final = "unmatched_generations"

REASONS: Final = (SAMPLED, *pairs.REASONS, UNMATCHED)
"""Every reason for code 2, in the order in which the first one names the ruling."""

_ATTRIBUTION: Final = {
    "tools_changed": "tool surface",
    "tools_reordered": "tool surface",
    "prompt_changed": "prompt",
    "prompt_or_tools": "prompt or tool surface",
    "model_changed": "routing",
    "params_changed": "routing",
    UNMATCHED: "agent path",
}
_UNKNOWN: Final = "not known: what was not recorded cannot be told apart"

SET_UP: Final = (
    "This is about the set-up, not the product: restore the fingerprint before touching a prompt or a temperature."
)
"""What code 2 means."""

OTHER_STEPS: Final = (
    "The set-up of the steps that match is the same; the runs took other steps. Read the first of them."
)
"""What it means where nothing but the steps differs."""


def gate(
    a: Source,
    b: Source,
    *,
    align: str = "auto",
    require: Sequence[str] = REQUIRED,
    strict: bool = False,
    values: bool = False,
) -> Ruling:
    """Whether two traces are comparable: the same prompt, tools, model and parameters at every generation.

    The code is OK where they are, INCOMPARABLE with every reason of every pair as ``causes`` (``primary`` is the first
    by ``REASONS``; ``A`` and ``B`` are the sides, with their lines), PRECONDITION where a side has no generation.
    ``require`` names the attributes without which a generation is not compared; one that carries no fingerprint never
    is. What neither side recorded is ``unverified``, and with ``strict`` a reason for INCOMPARABLE. Generations are
    paired by ``generation_id`` where each has one, else by position, which is weak: ``align`` demands one of the two.
    ``values`` shows models and parameters in ``changes``. Returned models are no matter of the gate.

    Raises ConfigurationError for an unknown ``align``, InputError as ``load_trace`` does and where only some
    generations of a trace have an id, or two have the same.
    """
    one, other = (side if isinstance(side, Trace) else load_trace(side) for side in (a, b))
    how = alignment(one, other, align)
    if not one.generations or not other.generations:
        return _nothing(one, other)
    matched, alone = _matched(one.generations, other.generations, how)
    causes, changes, unverified = _sampled(one, other), [], set()
    for label, left, right in matched:
        found = pairs.compared(left, right, tuple(require), values=values)
        where = f"{label} ({_places(one, left, other, right)})"
        causes += [Cause(reason, where, found_names) for reason, found_names in found.reasons]
        changes += [msgspec.structs.replace(change, path=(label, *change.path)) for change in found.changes]
        unverified |= set(found.unverified)
    causes += alone
    return _ruling(causes, changes, tuple(sorted(unverified)), len(matched), how, strict=strict)


def _places(one: Trace, left: Generation, other: Trace, right: Generation) -> str:
    return f"A{left.place.removeprefix(one.file)}, B{right.place.removeprefix(other.file)}"


def _ruling(
    causes: list[Cause], changes: list[Change], unverified: tuple[str, ...], count: int, how: str, *, strict: bool
) -> Ruling:
    causes = sorted(causes, key=lambda cause: REASONS.index(cause.reason))
    primary = causes[0].reason if causes else "unverified" if strict and unverified else "comparable"
    code = Code.OK if primary == "comparable" else Code.INCOMPARABLE
    head = f"{primary}; {count} paired; alignment: {how}"
    told = f"Attribution: {attribution(causes)}."
    message = " ".join(part for part in (f"{head}.", refusal(causes, strict=code is not Code.OK), told) if part)
    return Ruling(code, primary, tuple(causes), tuple(changes), unverified, message)


def _nothing(one: Trace, other: Trace) -> Ruling:
    lacking = tuple(trace.file for trace in (one, other) if not trace.generations)
    cause = Cause("no_generations", names=lacking)
    return Ruling(Code.PRECONDITION, cause.reason, (cause,), message="there is no generation span to compare")


def _sampled(one: Trace, other: Trace) -> list[Cause]:
    files = tuple(trace.file for trace in (one, other) if trace.sampled)
    return [Cause(SAMPLED, names=files)] if files else []


def attribution(causes: Sequence[Cause]) -> str:
    """Where a difference in the results comes from, by what differs: ``prompt``, ``tool surface``, ``routing`` (model
    and parameters) or ``agent path`` (the steps), several with commas between. Without causes it is the path.
    """
    reasons = {cause.reason for cause in causes}
    found = list(dict.fromkeys(word for reason, word in _ATTRIBUTION.items() if reason in reasons))
    if reasons - _ATTRIBUTION.keys():
        found.append(_UNKNOWN)
    return ", ".join(found) if causes else "agent path"


def refusal(causes: Sequence[Cause], *, strict: bool = True) -> str:
    """What code 2 means for a reader, by its causes; empty where nothing is refused."""
    if causes and all(cause.reason == UNMATCHED for cause in causes):
        return OTHER_STEPS
    return SET_UP if causes or strict else ""


def alignment(one: Trace, other: Trace, align: str = "auto") -> str:
    """How two traces are paired: ``generation_id`` or ``index``. Raises as ``gate`` does."""
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
        place = trace.generations[ids.index(None)].place
        raise InputError(f"{place}: no {names.GENERATION_ID}, though other generations of the trace have one")
    seen: set[str | None] = set()
    for found in trace.generations:
        if found.generation_id in seen and found.generation_id is not None:
            raise InputError(f"{found.place}: another generation has the same {names.GENERATION_ID}")
        seen.add(found.generation_id)
    return any(ids)


def _matched(
    one: Sequence[Generation], other: Sequence[Generation], how: str
) -> tuple[list[tuple[str, Generation, Generation]], list[Cause]]:
    """The pairs, each with what it is called, and what has no counterpart."""
    left, right = dict(_labelled(one, how)), dict(_labelled(other, how))
    pairs_ = [(label, left[label], right[label]) for label in left if label in right]
    sides = ((len(left), left.keys() - right.keys()), (len(right), right.keys() - left.keys()))
    if not any(missing for _, missing in sides):
        return pairs_, []
    counts = " and ".join(str(count) for count, _ in sides)
    lone = tuple(label for labels in (left, right) for label in labels if label not in left or label not in right)
    return pairs_, [Cause(UNMATCHED, f"{counts} generations", lone)]


def _labelled(found: Sequence[Generation], how: str) -> Iterator[tuple[str, Generation]]:
    for number, generation in enumerate(found, 1):
        yield f"generation {generation.generation_id if how == names.GENERATION_ID else number}", generation
