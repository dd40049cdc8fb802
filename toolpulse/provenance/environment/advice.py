"""The verdicts on an environment: which fields lead to each, what to look at first, and what usually is to be done."""

from __future__ import annotations

from typing import Final, NamedTuple

from toolpulse.provenance.manifest import RETURNED


class Advice(NamedTuple):
    """A row of the table of decisions: a verdict, the fields that lead to it, and what to do."""

    verdict: str
    fields: tuple[str, ...]
    """The fields of a manifest that lead to it. To ENV_DRIFT lead all fields that no row names, too."""
    first: str
    """What to look at first."""
    action: str
    """What usually is to be done."""


ADVICE: Final = (
    Advice(
        "MODEL_DRIFT",
        ("model_requested", RETURNED, "model_params"),
        "which model answered (model_returned) and what the provider announced for it",
        "pin the recorded model and parameters, or record a new baseline with the new one; leave the prompt alone",
    ),
    Advice(
        "SCHEMA_DRIFT",
        ("tool_schemas",),
        "the difference of the tool schemas: toolpulse tools diff",
        "restore the recorded schemas, or migrate both sides and record again",
    ),
    Advice(
        "CODE_DRIFT",
        ("prompts", "lockfile"),
        "the history of the prompts and of the lock file since the recorded run",
        "check out the recorded revision and run again; if that passes, bisect",
    ),
    Advice(
        "ENV_DRIFT",
        ("python", "tool_timeout_s"),
        "interpreter, time-outs, flags, variables and row versions",
        "rebuild the recorded environment and run again before reading the difference",
    ),
    Advice(
        "SAME_ENV",
        (),
        "the first step at which the two runs differ",
        "the environment is not the reason: compare the steps, and only then touch the prompt",
    ),
)
"""The table of decisions. The first row that applies is the verdict."""

UNVERIFIED: Final = Advice(
    "UNVERIFIED",
    (),
    "whether the provider returns the name of the model that answered",
    "record model_returned with each call (TraceWriter.note_returned)",
)


def advice(verdict: str) -> Advice:
    """The row of a verdict. Raises KeyError for another word."""
    return {one.verdict: one for one in (*ADVICE, UNVERIFIED)}[verdict]
