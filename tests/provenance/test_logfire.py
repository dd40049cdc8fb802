from __future__ import annotations

from foreign_traces import ATTRIBUTES, console, flattened

from toolpulse.provenance.readers.formats.logfire import read, recognizes

MARKED = console(ATTRIBUTES | {"logfire.span_type": "span"})


def test_logfire_is_known_by_its_mark_on_any_of_the_spans():
    """Its exporter writes what the console exporter writes; some spans of an array are of other libraries."""
    assert recognizes(MARKED)
    assert recognizes([console(ATTRIBUTES), MARKED])
    assert not recognizes([console(ATTRIBUTES), console(flattened())])
    assert not recognizes(console("logfire.span_type"))
    assert not recognizes({"attributes": {"logfire.span_type": "span"}})


def test_its_spans_are_read_as_those_of_the_conventions():
    """The attributes are the same; only who wrote them is said otherwise."""
    trace = read("t", [("t:1", [MARKED, console({"logfire.span_type": "log"})])])
    assert trace.format == "logfire"
    assert [one.fingerprint["gen_ai.request.model"] for one in trace.generations] == ["model-x-2025-01"]
