from __future__ import annotations

import pytest
from traces import FETCH, GONE, SEARCH, changed, naive_gate, reasons, renamed, stamped

from toolpulse.provenance.comparison.codes import Code

REWORDED = SEARCH | {"description": "Look"}


@pytest.mark.parametrize(
    ("given", "reason", "names", "cause"),
    [
        ({"user": "refunds?"}, "prompt_changed", ("fingerprint.text_hash",), "prompt"),
        ({"system": "Answer. "}, "prompt_changed", ("fingerprint.text_hash",), "prompt"),
        ({"tools": [renamed()]}, "tools_changed", ("search_docs",), "tool surface"),
        ({"tools": [SEARCH, FETCH]}, "tools_changed", ("fetch added",), "tool surface"),
        ({"tools": []}, "tools_changed", ("search_docs removed",), "tool surface"),
        ({"tools": [REWORDED]}, "tools_changed", ("search_docs (description)",), "tool surface"),
        ({"tools": [SEARCH | {"strict": True}]}, "tools_changed", (), "tool surface"),
        ({"model": "model-x-2025-02"}, "model_changed", ("gen_ai.request.model",), "routing"),
        ({"temperature": 0.2}, "params_changed", ("gen_ai.request.temperature",), "routing"),
        ({"temperature": None}, "params_changed", ("gen_ai.request.temperature",), "routing"),
        ({"params": {"max_tokens": 301}}, "params_changed", ("fingerprint.params_hash",), "routing"),
        ({"params": None}, "params_changed", ("fingerprint.params_hash",), "routing"),
        ({"model": None}, "missing_model", ("B: gen_ai.request.model",), "not known"),
        ({"tools": None}, "tools_not_captured", ("B: none",), "not known"),
        ({"tools": [{"name": "search_docs"}]}, "tools_not_captured", ("B: names",), "not known"),
        ({"key": b"k"}, "key_changed", ("fingerprint.key_id",), "not known"),
    ],
)
def test_one_change_is_one_reason(gated, given, reason, names, cause):
    """Each cause has its own name, and the refusal says that it is about the set-up."""
    comparison = gated([stamped()], [stamped(**given)])
    assert comparison.code is Code.INCOMPARABLE
    assert comparison.primary == reason
    assert reasons(comparison)[0] == (reason, names)
    assert len(comparison.causes) == 1
    assert f"Attribution: {cause}" in comparison.message
    assert "restore the fingerprint before touching a prompt or a temperature" in comparison.message


def test_a_span_without_fingerprints_is_never_comparable(gated):
    """Two absences compare equal, and nothing was vouched for."""
    bare = {"kind": "generation", "name": "chat"}
    assert naive_gate(bare, bare) == "comparable", "the naive way"
    for options in ({}, {"require": ()}, {"strict": True}):
        comparison = gated([bare], [bare], **options)
        assert (comparison.code, comparison.primary) == (Code.INCOMPARABLE, "missing_fingerprint")


def test_a_change_of_tools_is_not_blamed_on_the_prompt(gated):
    """Prompt.hash covers the tools, so the first difference is the wrong one."""
    one, other = stamped(), stamped(tools=[renamed()])
    assert naive_gate(one, other) == "mismatch:prompt.hash", "the naive way"
    assert reasons(gated([one], [other])) == [("tools_changed", ("search_docs",))]


def test_without_a_hash_of_the_text_nobody_is_accused(gated):
    """Spans of the published recipe have no text_hash, so other tools may hide another prompt."""
    one, other = (changed(s, fingerprint__text_hash=GONE) for s in (stamped(), stamped(tools=[renamed()])))
    comparison = gated([one], [other])
    assert [cause.reason for cause in comparison.causes] == ["tools_changed", "prompt_or_tools"]
    with_prompt = changed(stamped(user="refunds?"), fingerprint__text_hash=GONE)
    assert [cause.reason for cause in gated([one], [with_prompt]).causes] == ["prompt_changed"]


def test_tools_in_another_order_are_told_as_that(gated):
    """A model reads tools in their order, but no tool changed."""
    comparison = gated([stamped(tools=[SEARCH, FETCH])], [stamped(tools=[FETCH, SEARCH])])
    assert reasons(comparison) == [("tools_reordered", ())]


@pytest.mark.parametrize(
    "change",
    [
        {"gen_ai__request__seed": 7},
        {"gen_ai__request__top_p": 0.5},
    ],
)
def test_a_parameter_that_a_span_shows_counts(gated, change):
    """A hash of the parameters is not the only place where a parameter may stand."""
    comparison = gated([stamped()], [changed(stamped(), **change)])
    assert comparison.primary == "params_changed"
    assert gated([changed(stamped(), **change)], [changed(stamped(), **change)]).code is Code.OK


def test_a_span_that_contradicts_itself_is_not_vouched_for(gated):
    """With every attribute equal, another tuple shows that one of the two is not what it was."""
    one, other = stamped(temperature=None), changed(stamped(temperature=0.7), gen_ai__request__temperature=GONE)
    assert naive_gate(one, other) == "comparable", "the naive way"
    assert reasons(gated([one], [other])) == [("contradiction", ("fingerprint.tuple",))]
