from __future__ import annotations

import pytest
from traces import reasons, stamped, write

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.gate import alignment, attribution
from toolpulse.provenance.readers import load_trace


def with_ids(*ids, **given):
    """Generations with these ids."""
    return [stamped(**given) | ({"generation_id": one} if one else {}) for one in ids]


def test_generations_are_paired_by_id(gated):
    """By id an inserted step shifts nothing; what has no counterpart is the agent's path."""
    comparison = gated(with_ids("a", "b", "c"), with_ids("a", "c"))
    assert comparison.code is Code.INCOMPARABLE
    assert reasons(comparison) == [("unmatched_generations", ("generation b",))]
    assert comparison.causes[0].where == "3 and 2 generations"
    assert attribution(comparison.causes) == "agent path"
    assert "other steps" in comparison.message
    assert gated(with_ids("a", "b"), with_ids("b", "a")).code is Code.OK


def test_matched_pairs_are_compared_beside_unmatched_ones(gated):
    """One more step is no excuse for not looking at the others."""
    comparison = gated(with_ids("a", "b"), with_ids("a", model="other"))
    assert [cause.reason for cause in comparison.causes] == ["model_changed", "unmatched_generations"]
    assert comparison.primary == "model_changed"


def test_without_ids_position_pairs_and_the_ruling_says_so(gated):
    """A join by position is weak, so its user has to know."""
    assert "alignment: index" in gated([stamped()], [stamped()]).message
    assert "alignment: generation_id" in gated(with_ids("a"), with_ids("a")).message
    comparison = gated([stamped()], [stamped(), stamped()])
    assert reasons(comparison) == [("unmatched_generations", ("generation 2",))]


@pytest.mark.parametrize(
    ("one", "other", "align"),
    [
        (("a", None), ("a", "b"), "auto"),
        (("a", "b"), ("a", None), "auto"),
        (("a", "a"), ("a", "a"), "auto"),
        (("a",), (None,), "auto"),
        ((None,), (None,), "generation_id"),
    ],
)
def test_ids_that_do_not_identify_cannot_be_judged(gated, one, other, align):
    """Guessing a pairing would compare steps that never belonged together."""
    with pytest.raises(InputError, match="jsonl"):
        gated(with_ids(*one), with_ids(*other), align=align)
    assert gated(with_ids(*one), with_ids(*other), align="index").code is Code.OK


def test_an_unknown_alignment_is_refused(gated, tmp_path):
    """A word nobody knows must not fall back to a weak join."""
    with pytest.raises(ConfigurationError, match="align"):
        gated([stamped()], [stamped()], align="name")
    trace = load_trace(write(tmp_path / "t.jsonl", stamped()))
    assert alignment(trace, trace) == "index"
