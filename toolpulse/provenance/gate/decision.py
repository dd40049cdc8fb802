"""The gate: whether two traces may be compared at all, with every reason why not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.result import Cause, Comparison
from toolpulse.provenance.gate import pairs
from toolpulse.provenance.gate.explanations import UNMATCHED, attribution, refusal
from toolpulse.provenance.gate.pairing import Pair, alignment, paired
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.readers import Trace, load_trace

Source: TypeAlias = Trace | str | os.PathLike[str]
"""A trace, or the path of its file."""

REQUIRED: Final = (names.PROMPT_HASH, names.TOOLS_HASH, names.MODEL)

SAMPLED: Final = "sampled"
"""The reason that a trace does not hold every call."""

REASONS: Final = (SAMPLED, *pairs.REASONS, UNMATCHED)
"""Every reason for code 2, in the order in which the first one becomes ``primary``."""


def gate(
    a: Source,
    b: Source,
    *,
    align: str = "auto",
    require: Sequence[str] = REQUIRED,
    strict: bool = False,
    values: bool = False,
) -> Comparison:
    """Whether two traces are comparable: the same prompt, tools, model and parameters at every generation.

    The code is OK where they are, INCOMPARABLE with every reason of every pair as ``causes`` (``primary`` is the first
    by ``REASONS``; ``A`` and ``B`` are the sides, with their lines), PRECONDITION where a side has no generation.
    ``require`` names the attributes without which a generation is not compared; one that carries no fingerprint never
    is. What neither side recorded is ``unverified``, and with ``strict`` a reason for INCOMPARABLE. Generations are
    paired by ``generation_id`` where each has one, else by position, which is weak: ``align`` demands one of the two.
    ``values`` shows models and parameters in ``changes``. Which model answered is not looked at.

    Raises ConfigurationError for an unknown ``align``, InputError as ``load_trace`` and ``alignment``.
    """
    one, other = (side if isinstance(side, Trace) else load_trace(side) for side in (a, b))
    how = alignment(one, other, align)
    if not one.generations or not other.generations:
        return _nothing(one, other)
    matched, alone = paired(one.generations, other.generations, how)
    causes, changes, unverified = _sampled(one, other), [], set()
    for pair in matched:
        compared = pairs.compared(pair.one, pair.other, tuple(require), values=values)
        where = f"{pair.label} ({_locations(one, other, pair)})"
        causes += [Cause(reason, where, about) for reason, about in compared.reasons]
        changes += [msgspec.structs.replace(change, path=(pair.label, *change.path)) for change in compared.changes]
        unverified |= set(compared.unverified)
    return _decided([*causes, *alone], changes, sorted(unverified), f"{len(matched)} paired; alignment: {how}", strict)


def _locations(one: Trace, other: Trace, pair: Pair) -> str:
    return f"A{pair.one.location.removeprefix(one.file)}, B{pair.other.location.removeprefix(other.file)}"


def _decided(
    causes: list[Cause], changes: list[Difference], unverified: Sequence[str], pairing: str, strict: bool
) -> Comparison:
    causes = sorted(causes, key=lambda cause: REASONS.index(cause.reason))
    primary = causes[0].reason if causes else "unverified" if strict and unverified else "comparable"
    code = Code.OK if primary == "comparable" else Code.INCOMPARABLE
    sentences = (
        f"{primary}; {pairing}.",
        refusal(causes, strict=code is not Code.OK),
        f"Attribution: {attribution(causes)}.",
    )
    return Comparison(
        code, primary, tuple(causes), tuple(changes), tuple(unverified), " ".join(filter(None, sentences))
    )


def _nothing(one: Trace, other: Trace) -> Comparison:
    empty = tuple(trace.file for trace in (one, other) if not trace.generations)
    cause = Cause("no_generations", names=empty)
    return Comparison(Code.PRECONDITION, cause.reason, (cause,), message="there is no generation span to compare")


def _sampled(one: Trace, other: Trace) -> list[Cause]:
    files = tuple(trace.file for trace in (one, other) if trace.sampled)
    return [Cause(SAMPLED, names=files)] if files else []
