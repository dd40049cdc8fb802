from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import FETCH, changed, naive_gate, reasons, renamed, stamped, write

from toolpulse.errors import InputError
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.gate import REASONS, gate


def test_the_same_set_up_is_comparable(gated):
    """The gate must open, or nobody keeps it; what then differs is the agent's own path."""
    comparison = gated([stamped()], [stamped()])
    assert (comparison.code, comparison.primary, comparison.causes) == (Code.OK, "comparable", ())
    assert "Attribution: agent path" in comparison.message
    assert "alignment: index" in comparison.message


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


def test_no_generation_is_no_comparison(gated):
    """An exporter that lost the spans must not look like two equal runs."""
    tool = {"kind": "tool", "gen_ai.tool.name": "search_docs"}
    for one, other in (([tool], [tool]), ([stamped()], [tool]), ([tool], [stamped()])):
        assert gated(one, other).code is Code.PRECONDITION


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
