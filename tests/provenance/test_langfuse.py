from __future__ import annotations

import copy

import pytest
from foreign_traces import LANGFUSE, LANGSMITH

from toolpulse.errors import InputError
from toolpulse.provenance.readers.formats.langfuse import read, recognizes

TOOL = {"type": "TOOL", "name": "search_docs", "input": '{"query": "x"}', "output": "plain", "level": "ERROR"}


def trace_of(*observations):
    """The trace in a download."""
    return read("t", [("t:1", {"trace": {}, "observations": list(observations)})])


def generation(**changes):
    """The usual generation of a download with changes."""
    return copy.deepcopy(LANGFUSE["observations"][0]) | changes


def test_a_download_is_known_by_its_observations():
    """Runs of LangSmith are objects, too."""
    assert recognizes(LANGFUSE)
    assert not recognizes({"observations": {}})
    assert not recognizes(LANGSMITH)


def test_generations_and_tool_calls_come_in_the_order_in_which_they_started():
    """Langfuse gives them in any order, and position pairs generations that have no ids."""
    later, earlier = (generation(startTime=f"2026-01-01T00:00:0{second}Z") for second in (2, 1))
    trace = trace_of(later, TOOL, {"type": "SPAN"}, earlier)
    assert [one.location for one in trace.generations] == ["t:1 observation 4", "t:1 observation 1"]
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.result, call.failed) == ("search_docs", {"query": "x"}, "plain", True)


def test_what_langfuse_keeps_itself_fills_in_and_contradictions_are_said():
    """The span knows better; where only a column knows, it may be the model that answered."""
    (bare,) = trace_of(generation(metadata={}, modelParameters={"choice.count": 2})).generations
    assert bare.fingerprint["gen_ai.request.model"] == "model-x-2025-01-0315"
    assert bare.params == {"n": 2}
    assert bare.unverified == ("model (Langfuse keeps one; it may be the model that answered)",)
    (other,) = trace_of(generation(modelParameters={"temperature": 1})).generations
    assert other.fingerprint["gen_ai.request.temperature"] == 0.0
    assert other.unverified == ("temperature (two are recorded)",)


@pytest.mark.parametrize(
    "sent",
    [
        {"system": "s", "messages": [{"role": "user", "content": "u"}]},
        [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    ],
    ids=["a request", "messages"],
)
def test_messages_in_any_form_of_input_are_the_same_call(sent):
    """Each integration sends the input as it has it."""
    (one,) = trace_of(generation(input=sent)).generations
    (other,) = trace_of(generation(input="u")).generations
    reference = trace_of(generation(input={"messages": [{"role": "user", "content": "u"}]})).generations[0]
    assert other.fingerprint["fingerprint.text_hash"] == reference.fingerprint["fingerprint.text_hash"]
    assert one.fingerprint["fingerprint.text_hash"] != reference.fingerprint["fingerprint.text_hash"]
    assert one.remarks == ()


def test_what_is_otherwise_is_named_by_its_observation():
    """A download is one line."""
    with pytest.raises(InputError, match=r"^t:1 observation 2: name must be text"):
        trace_of(TOOL, {"type": "TOOL"})
    with pytest.raises(InputError, match=r"^t:1 observation 1: an observation must be an object"):
        trace_of(3)
