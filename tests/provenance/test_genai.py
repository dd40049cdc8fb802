from __future__ import annotations

import pytest
from foreign_traces import ATTRIBUTES, HASHES, INSTRUCTIONS, LANGFUSE, MESSAGES, NATIVE, console, flattened, only, otlp
from traces import GIVEN, SEARCH, write

from toolpulse.provenance.gate import gate
from toolpulse.provenance.readers import load_trace


@pytest.mark.parametrize("wrapped", [console, otlp])
def test_structures_are_read_as_text_and_as_structures(tmp_path, wrapped):
    """The conventions allow both; a JavaScript writer prints the double 0.0 as 0."""
    plain = {
        **ATTRIBUTES,
        "gen_ai.system_instructions": INSTRUCTIONS,
        "gen_ai.input.messages": MESSAGES,
        "gen_ai.tool.definitions": [SEARCH],
    }
    found = [only(tmp_path, wrapped(attributes)) for attributes in (ATTRIBUTES, plain)]
    assert found[0] == found[1]
    assert {name: found[0].fingerprint[name] for name in HASHES} == {name: NATIVE[name] for name in HASHES}
    assert isinstance(found[0].fingerprint["gen_ai.request.temperature"], float)


def test_dropped_attributes_are_cut_content(tmp_path):
    """An SDK with a limit of attributes drops the last ones and counts them."""
    assert only(tmp_path, otlp(ATTRIBUTES, droppedAttributesCount=2)).remarks == ("truncated",)
    assert only(tmp_path, console(ATTRIBUTES, dropped_attributes=1)).remarks == ("truncated",)


@pytest.mark.parametrize(
    ("definitions", "coverage"),
    [
        (None, "none"),
        ([], "full"),
        ([{"type": "function", "name": "search_docs", "description": "Search docs"}], "names"),
        ([{"type": "function", "name": "search_docs", "parameters": None}], "full"),
    ],
)
def test_definitions_by_name_only_vouch_for_nothing(tmp_path, definitions, coverage):
    """By default the conventions leave the schemas out; a hash of names stays equal while they change."""
    one = only(tmp_path, console(ATTRIBUTES | {"gen_ai.tool.definitions": definitions}))
    assert one.fingerprint["fingerprint.tools.coverage"] == coverage
    assert ("tool.schema_hash" in one.fingerprint) == (coverage == "full")
    comparison = gate(tmp_path / "t.json", tmp_path / "t.json")
    assert (comparison.primary == "comparable") == (coverage == "full")
    if coverage != "full":
        assert [cause.reason for cause in comparison.causes] == ["tools_not_captured"]


def test_older_spellings_are_read(tmp_path):
    """Instrumentations stay on old conventions for years."""
    old = {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.openai.request.seed": 7,
        "gen_ai.tool.definitions": [],
    }
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": GIVEN["system"]}},
        {"name": "gen_ai.user.message", "attributes": {"content": GIVEN["user"]}},
    ]
    by_event = only(tmp_path, console(old, events=events))
    assert by_event.fingerprint["fingerprint.text_hash"] == NATIVE["fingerprint.text_hash"]
    assert by_event.params == {"seed": 7}
    whole = only(tmp_path, console(old | {"gen_ai.prompt": "retry policy?"}))
    assert "prompt.hash" in whole.fingerprint


@pytest.mark.parametrize("operation", ["embeddings", "invoke_agent", "create_agent"])
def test_spans_that_ask_for_no_text_are_no_generations(tmp_path, operation):
    """An agent's span names a model too, and would be counted twice."""
    file = write(tmp_path / "t.json", console(ATTRIBUTES | {"gen_ai.operation.name": operation}))
    assert load_trace(file).generations == ()


def test_an_operation_that_nobody_knows_is_not_lost(tmp_path):
    """What is left out of a comparison is waved through."""
    assert only(tmp_path, console(ATTRIBUTES | {"gen_ai.operation.name": "responses"}))


def test_a_returned_model_that_was_invented_is_not_believed(tmp_path):
    """Logfire writes the requested model there where the provider said nothing."""
    attributes = ATTRIBUTES | {"logfire.span_type": "span", "gen_ai.response.model": "model-x-2025-01"}
    assert only(tmp_path, [console(attributes)]).returned_model is None
    told = only(tmp_path, [console(attributes | {"gen_ai.response.model": "model-x-2025-01-0315"})])
    assert told.returned_model == "model-x-2025-01-0315"


@pytest.mark.parametrize("form", ["openinference", "langfuse"])
def test_a_model_that_may_be_the_returned_one_is_unverified(tmp_path, form):
    """One field for two facts vouches for neither for sure."""
    if form == "openinference":
        document = console({k: v for k, v in flattened().items() if k != "llm.invocation_parameters"})
    else:
        document = {"observations": [LANGFUSE["observations"][0] | {"metadata": {}}]}
    (remark,) = only(tmp_path, document).unverified
    assert "may be the model that answered" in remark
