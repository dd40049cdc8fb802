from __future__ import annotations

from foreign_traces import ATTRIBUTES, flattened

from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.spans.trace import trace_of

CALL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_docs"}


def span(location, attributes, started=1, **more):
    """A span that starts at some time."""
    return Span(location=location, attributes=attributes, started=started, **more)


def test_spans_of_both_conventions_make_one_trace():
    """A program may have two instrumentations; what is neither generation nor tool call is left out."""
    trace = trace_of(
        "t",
        "otlp",
        [
            span("t:1", ATTRIBUTES, started=3),
            span("t:2", CALL, started=2),
            span("t:3", flattened(), started=1),
            span("t:4", {"http.method": "GET"}),
        ],
    )
    assert [one.location for one in trace.generations] == ["t:3", "t:1"]
    assert [(one.location, one.name) for one in trace.tool_calls] == [("t:2", "search_docs")]
    assert (trace.file, trace.format, trace.sampled) == ("t", "otlp", False)
    assert trace.generations[0].fingerprint == trace.generations[1].fingerprint


def test_one_sampled_span_makes_a_sampled_trace():
    """Also where the span that says so is none that is compared."""
    assert trace_of("t", "otlp", [span("t:1", ATTRIBUTES), span("t:2", {"sampling.rate": 0.5})]).sampled
    assert trace_of("t", "otlp", [span("t:1", ATTRIBUTES, state="ot=th:8")]).sampled
