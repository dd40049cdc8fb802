"""What the reasons of the gate mean for a person: where a difference comes from, and what a refusal is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolpulse.provenance.comparison.result import Cause

UNMATCHED: Final = "unmatched_generations"
"""The reason that one run made calls which the other did not."""

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

_SET_UP: Final = (
    "This is about the set-up, not the product: restore the fingerprint before touching a prompt or a temperature."
)
_OTHER_STEPS: Final = (
    "The set-up of the steps that match is the same; the runs took other steps. Read the first of them."
)


def attribution(causes: Sequence[Cause]) -> str:
    """Where a difference in the results comes from, by what differs: ``prompt``, ``tool surface``, ``routing`` (model
    and parameters) or ``agent path`` (the steps), several with commas between. Without causes it is the path.
    """
    reasons = {cause.reason for cause in causes}
    sources = list(dict.fromkeys(source for reason, source in _ATTRIBUTION.items() if reason in reasons))
    if reasons - _ATTRIBUTION.keys():
        sources.append(_UNKNOWN)
    return ", ".join(sources) if causes else "agent path"


def refusal(causes: Sequence[Cause], *, strict: bool = True) -> str:
    """What code 2 means for a reader, by its causes; empty where nothing is refused.

    Without causes a comparison is refused only because it is ``strict``.
    """
    if causes and all(cause.reason == UNMATCHED for cause in causes):
        return _OTHER_STEPS
    return _SET_UP if causes or strict else ""
