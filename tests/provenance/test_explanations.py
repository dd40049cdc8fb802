from __future__ import annotations

import pytest

from toolpulse.provenance.comparison.result import Cause
from toolpulse.provenance.gate.decision import REASONS
from toolpulse.provenance.gate.explanations import UNMATCHED, attribution, refusal


def causes(*reasons):
    """Causes of these reasons."""
    return [Cause(reason) for reason in reasons]


@pytest.mark.parametrize(
    ("reasons", "source"),
    [
        ((), "agent path"),
        (("tools_changed", "tools_reordered"), "tool surface"),
        (("model_changed", "params_changed", "prompt_changed"), "prompt, routing"),
        (("prompt_or_tools",), "prompt or tool surface"),
        ((UNMATCHED,), "agent path"),
        (("sampled",), "not known: what was not recorded cannot be told apart"),
        (("sampled", "prompt_changed"), "prompt, not known: what was not recorded cannot be told apart"),
    ],
    ids=["none", "tools", "several", "either", "steps", "not recorded", "both"],
)
def test_where_a_difference_comes_from(reasons, source):
    """Each source once, whatever the order of its reasons; where something was not recorded, that is said."""
    assert attribution(causes(*reasons)) == source
    assert attribution(causes(*reversed(reasons))) == source


@pytest.mark.parametrize("reason", REASONS)
def test_a_refusal_is_about_the_set_up_unless_only_the_steps_differ(reason):
    """Who reads that the set-up differs goes and restores it; where it does not, that would be a day lost."""
    steps = reason == UNMATCHED
    assert refusal(causes(reason)).startswith("The set-up of the steps" if steps else "This is about the set-up")
    assert refusal(causes(reason, "prompt_changed")).startswith("This is about the set-up")


def test_without_causes_only_a_strict_comparison_is_refused():
    """What neither side recorded is a refusal only for who asked for that."""
    assert refusal([], strict=True).startswith("This is about the set-up")
    assert refusal([], strict=False) == ""
