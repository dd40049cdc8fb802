from __future__ import annotations

from foreign_traces import ATTRIBUTES, console, flattened

from toolpulse.provenance.readers.formats.openinference import read, recognizes


def test_openinference_is_known_by_the_kind_of_its_spans():
    """The same exporters write spans of the other convention."""
    assert recognizes(console(flattened()))
    assert not recognizes(console(ATTRIBUTES))
    assert not recognizes(console(["openinference.span.kind"]))
    assert not recognizes([console(flattened())])


def test_its_trace_says_which_format_it_is():
    """A report names the format that was recognized."""
    trace = read("t", [("t:1", console(flattened())), ("t:2", console({"openinference.span.kind": "CHAIN"}))])
    assert trace.format == "openinference"
    assert [one.location for one in trace.generations] == ["t:1"]
