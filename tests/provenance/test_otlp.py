from __future__ import annotations

import json

import pytest
from foreign_traces import ATTRIBUTES, console, otlp, otlp_value
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.errors import InputError
from toolpulse.provenance.readers.formats.otlp import read, recognizes

WITHOUT_NUMBER = {"attributes": [{"key": "a", "value": {"intValue": "x"}}]}

values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_any_value_is_read_as_it_was_sent(arguments):
    """Whole numbers are text in OTLP's JSON, and doubles may have lost their point."""
    request = otlp({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": 0})
    attributes = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
    attributes[-1]["value"] = otlp_value({"held": arguments})
    (call,) = read("t", [("t:1", json.loads(json.dumps(request)))]).tool_calls
    assert call.arguments == {"held": arguments}


def test_which_documents_may_be_export_requests():
    """The collector writes logs and metrics into the same file, which are passed over."""
    assert recognizes(otlp(ATTRIBUTES))
    assert recognizes({"resourceMetrics": []})
    assert not recognizes(console(ATTRIBUTES))
    trace = read("t", [("t:1", {"resourceLogs": [{}]}), ("t:2", otlp(ATTRIBUTES))])
    assert [one.location for one in trace.generations] == ["t:2"]


@pytest.mark.parametrize(
    ("code", "failed"), [(2, True), ("STATUS_CODE_ERROR", True), (1, False), ("STATUS_CODE_OK", False), (None, False)]
)
def test_a_failed_call_is_one_in_either_spelling(code, failed):
    """Some exporters write the name of the code, and some its number."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    (call,) = read("t", [("t:1", otlp(attributes, status={"code": code}))]).tool_calls
    assert call.failed is failed


def test_only_what_says_of_sampling_is_taken_from_the_program():
    """What describes the whole program would else look like the set-up of each call."""
    request = otlp(ATTRIBUTES)
    pairs = {"sampling.rate": 0.5, "gen_ai.request.model": "another"}
    request["resourceSpans"][0]["resource"] = {
        "attributes": [{"key": name, "value": otlp_value(value)} for name, value in pairs.items()]
    }
    trace = read("t", [("t:1", request)])
    assert trace.sampled
    assert trace.generations[0].fingerprint["gen_ai.request.model"] == ATTRIBUTES["gen_ai.request.model"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"resourceSpans": {}}, "resourceSpans must be an array, not dict"),
        ({"resourceSpans": [3]}, "an element of resourceSpans must be an object"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [WITHOUT_NUMBER]}]}]}, "intValue is no number"),
        (otlp({}, status=[1]), "status must be an object"),
    ],
    ids=["no array", "no object", "no number", "no status"],
)
def test_what_is_otherwise_is_named(request_, words):
    """By its place and by its name: nobody finds it in a line of a megabyte."""
    with pytest.raises(InputError, match=f"^t:1: {words}"):
        read("t", [("t:1", request_)])
