from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import FETCH, GONE, SEARCH, changed, renamed, stamped, write

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.gate import REASONS, alignment, attribution, gate
from toolpulse.provenance.readers import load_trace

REWORDED = SEARCH | {"description": "Look"}


@pytest.fixture
def gated(tmp_path):
    """The comparison on two lists of lines."""

    def rule(one, other, **options):
        return gate(write(tmp_path / "a.jsonl", *one), write(tmp_path / "b.jsonl", *other), **options)

    return rule


def reasons(comparison):
    """The reasons of a comparison, with what they name."""
    return [(cause.reason, cause.names) for cause in comparison.causes]


def naive_gate(one, other):
    """The template's comparison: each attribute with ``get``, the first that differs is the reason."""
    for name in ("prompt.hash", "tool.schema_hash", "gen_ai.request.model", "gen_ai.request.temperature"):
        if one.get(name) != other.get(name):
            return f"mismatch:{name}"
    return "comparable"


def test_the_same_set_up_is_comparable(gated):
    """The gate must open, or nobody keeps it; what then differs is the agent's own path."""
    comparison = gated([stamped()], [stamped()])
    assert (comparison.code, comparison.primary, comparison.causes) == (Code.OK, "comparable", ())
    assert "Attribution: agent path" in comparison.message
    assert "alignment: index" in comparison.message


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


def test_the_published_recipe_is_read(gated):
    """Temperatures as text, no coverage: a native span without one counts as fully covered."""
    old = {
        "kind": "generation",
        "prompt.hash": "ee1443b7baec3bb1",
        "tool.schema_hash": "0533c10acf6c0c3b",
        "gen_ai.request.model": "model-x-2025-01",
        "fingerprint.missing_model": "false",
    }
    one, other = old | {"gen_ai.request.temperature": "0"}, old | {"gen_ai.request.temperature": 0.0}
    assert naive_gate(one, other) == "mismatch:gen_ai.request.temperature", "the naive way"
    comparison = gated([one], [other])
    assert (comparison.code, comparison.unverified) == (Code.OK, ("sampling parameters",))


def test_tools_in_another_order_are_told_as_that(gated):
    """A model reads tools in their order, but no tool changed."""
    comparison = gated([stamped(tools=[SEARCH, FETCH])], [stamped(tools=[FETCH, SEARCH])])
    assert reasons(comparison) == [("tools_reordered", ())]


def test_all_reasons_of_all_pairs_are_told_the_first_by_order(gated):
    """Whoever restores one difference must not meet the next one at the next attempt."""
    other = {"tools": [FETCH], "user": "x", "model": "y", "temperature": 1, "params": {}}
    comparison = gated([stamped(), stamped()], [stamped(model=None), stamped(**other)])
    assert comparison.primary == "missing_model"
    found = [cause.reason for cause in comparison.causes if cause.where.startswith("generation 2")]
    assert found == ["tools_changed", "prompt_changed", "model_changed", "params_changed"]
    assert [REASONS.index(cause.reason) for cause in comparison.causes] == sorted(
        REASONS.index(cause.reason) for cause in comparison.causes
    )
    assert comparison.causes[0].where == "generation 1 (A:1, B:1)"


def test_what_neither_side_recorded_is_unverified(gated):
    """Equal absences are no agreement; strict refuses them."""
    lines = [stamped(temperature=None, params=None)]
    comparison = gated(lines, lines)
    assert comparison.code is Code.OK
    assert comparison.unverified == ("gen_ai.request.temperature", "sampling parameters")
    assert (gated(lines, lines, strict=True).code, gated(lines, lines, strict=True).primary) == (2, "unverified")


def test_a_declared_model_is_comparable_and_said_to_be_declared(gated):
    """A model from configuration was not observed: that is a note, and no reason to refuse."""
    comparison = gated([stamped(model_source="config")], [stamped()])
    assert (comparison.code, comparison.unverified) == (Code.OK, ("gen_ai.request.model (declared, not observed)",))


def test_returned_models_are_no_matter_of_the_gate(gated):
    """They are a fact of the response; the manifest looks at them."""
    one, other = stamped() | {"model_returned": "a"}, stamped() | {"gen_ai.response.model": "b"}
    assert gated([one], [other]).code is Code.OK


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    "sign", [{"sampled": True}, {"sample_rate": 0.1}, {"SampleRate": 10}, {"sampler.param": "0.5"}]
)
def test_a_sampled_trace_is_incomparable(gated, sign, side):
    """Where calls are left out, the pairs that remain are not the pairs that were."""
    sides = [[stamped()], [stamped()]]
    sides[side] = [{"kind": "span", **sign}, *sides[side]]
    assert (gated(*sides).code, gated(*sides).primary) == (Code.INCOMPARABLE, "sampled")


@pytest.mark.parametrize("sign", [{"sampled": False}, {"sample_rate": 1.0}, {"SampleRate": 1}, {"sample_rate": "all"}])
def test_a_whole_trace_may_say_that_it_is_whole(gated, sign):
    """A sampler that keeps everything writes its attributes too."""
    assert gated([stamped() | sign], [stamped()]).code is Code.OK


@pytest.mark.parametrize(("name", "value"), [("fingerprint__truncated", True), ("fingerprint__truncated", "true")])
def test_cut_content_is_incomparable(gated, name, value):
    """Equal beginnings are no equal prompts."""
    assert gated([changed(stamped(), **{name: value})], [stamped()]).primary == "truncated"


def test_an_input_that_lies_with_the_provider_is_incomparable(gated):
    """With a previous response's id the trace shows the last message only."""
    line = stamped() | {"gen_ai.request.previous_response.id": "resp_1"}
    assert reasons(gated([line], [line])) == [("partial_input", ("A", "B"))]


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


def test_no_generation_is_no_comparison(gated):
    """An exporter that lost the spans must not look like two equal runs."""
    tool = {"kind": "tool", "gen_ai.tool.name": "search_docs"}
    for one, other in (([tool], [tool]), ([stamped()], [tool]), ([tool], [stamped()])):
        assert gated(one, other).code is Code.PRECONDITION


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


def test_more_can_be_required(gated):
    """A team may know an attribute without which its runs mean nothing."""
    require = ("prompt.hash", "fingerprint.params_hash")
    bare = [stamped(params=None)]
    assert reasons(gated(bare, bare, require=require))[0] == (
        "missing_fingerprint",
        ("A: fingerprint.params_hash", "B: fingerprint.params_hash"),
    )


def test_less_can_be_required_and_is_then_unverified(gated):
    """Who leaves the model out of what is required is told that nobody looked at it."""
    lines = [stamped(model=None)]
    comparison = gated(lines, lines, require=("prompt.hash", "tool.schema_hash"))
    assert comparison.code is Code.OK
    assert "gen_ai.request.model" in comparison.unverified
    assert gated(lines, [stamped()], require=("prompt.hash",)).primary == "missing_model"


def test_values_are_shown_only_where_they_are_asked_for(gated):
    """Models and parameters are no secrets of most, but hashes say enough by default."""
    one, other = [stamped()], [stamped(model="model-y")]
    assert "model-y" not in json.dumps(gated(one, other).to_json())
    assert '"model-y"' in [change.after for change in gated(one, other, values=True).changes]


RELEVANT = ("prompt.hash", "tool.schema_hash", "gen_ai.request.model", "fingerprint.params_hash")
FIELDS = sorted(stamped(generation_id="g1"))
OTHER_VALUES = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.just([]) | st.just({}) | st.just("0.0") | st.just("0")
    | st.text("01af", max_size=16) | st.sampled_from(["true", "false", "full", "names", "none", "config", "generation"])
)  # fmt: skip


@st.composite
def mutations(draw):
    """Fields dropped, renamed and retyped."""
    out = []
    for _ in range(draw(st.integers(0, 3))):
        kind, name = draw(st.sampled_from(["drop", "rename", "retype"])), draw(st.sampled_from(FIELDS))
        out.append((kind, name, draw(OTHER_VALUES) if kind == "retype" else draw(st.sampled_from(FIELDS))))
    return out


def mutated(line, changes):
    """A line with the mutations applied in order."""
    line = dict(line)
    for kind, name, value in changes:
        if kind == "drop":
            line.pop(name, None)
        elif kind == "retype":
            line[name] = value
        elif name in line:
            line[value] = line.pop(name)
    return line


def told(line):
    """What a line says of the set-up; the temperature by its value."""
    degrees = line.get("gen_ai.request.temperature")
    return [line.get(name) for name in RELEVANT], None if degrees is None else float(degrees)


LINES = st.sampled_from([{}, {"user": "other"}, {"tools": [renamed()]}, {"temperature": 0.5}, {"model": "m"}])


@given(st.data())
def test_the_gate_never_passes_a_pair_it_cannot_vouch_for(tmp_path_factory, data):
    """The law: code 0 only where both lines carry the same prompt, tools, model, parameters and temperature."""
    folder = tmp_path_factory.mktemp("law")
    one, other = (mutated(stamped(generation_id="g1", **data.draw(LINES)), data.draw(mutations())) for _ in range(2))
    try:
        comparison = gate(write(folder / "a.jsonl", one), write(folder / "b.jsonl", other))
    except InputError:
        return
    if comparison.code is Code.OK:
        assert told(one) == told(other)
        assert all(isinstance(line.get(name), str) and line[name] for line in (one, other) for name in RELEVANT[:3])
        assert all(line.get("fingerprint.missing_model") not in {"true", True} for line in (one, other))


@given(LINES, st.sampled_from(["name", "start", "model_returned", "gen_ai.response.model", "note"]), st.text("ab"))
def test_what_is_no_set_up_closes_no_gate(tmp_path_factory, given, name, value):
    """The law's other half: where nothing relevant changed, the gate is open."""
    folder = tmp_path_factory.mktemp("law")
    one, other = stamped(**given), stamped(**given) | {name: value}
    assert gate(write(folder / "a.jsonl", one), write(folder / "b.jsonl", other)).code is Code.OK


@given(LINES, LINES)
def test_a_refusal_does_not_depend_on_the_side(tmp_path_factory, one, other):
    """Which of two traces is called the good one changes no reason."""
    folder = tmp_path_factory.mktemp("law")
    a, b = write(folder / "a.jsonl", stamped(**one)), write(folder / "b.jsonl", stamped(**other))
    there, back = gate(a, b), gate(b, a)
    assert (there.code, there.primary) == (back.code, back.primary)
    assert [cause.reason for cause in there.causes] == [cause.reason for cause in back.causes]
