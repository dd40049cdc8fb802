from __future__ import annotations

import pytest
from foreign_traces import ATTRIBUTES, console, otlp
from manifests import DOCUMENT
from traces import changed, stamped

from toolpulse.errors import InputError
from toolpulse.provenance.manifest import manifest_of
from toolpulse.provenance.readers.formats.native import MANIFEST, read, recognizes

TOOL = {"kind": "tool", "name": "search_docs"}
HEAD = {"span_type": MANIFEST, **DOCUMENT}


def trace_of(*lines):
    """The trace in some lines."""
    return read("t", [(f"t:{number}", line) for number, line in enumerate(lines, 1)])


def test_which_lines_may_be_native():
    """Other formats have a ``kind`` too, beside what shows them to be others."""
    assert all(map(recognizes, (stamped(), TOOL, HEAD, {"prompt.hash": "x"})))
    assert not any(map(recognizes, (console(ATTRIBUTES, kind="x"), otlp(ATTRIBUTES), {"kind": 3}, [TOOL])))


def test_lines_are_generations_tool_calls_or_nothing():
    """A fingerprint makes a generation of any line but a tool's: a comparison must not lose it."""
    trace = trace_of(HEAD, stamped(), TOOL, {"kind": "log"}, stamped() | {"kind": "agent"})
    assert trace.manifest == manifest_of(DOCUMENT)
    assert [one.location for one in trace.generations] == ["t:2", "t:5"]
    assert [(one.location, one.name, one.failed) for one in trace.tool_calls] == [("t:3", "search_docs", False)]


@pytest.mark.parametrize("failure", [{"status": "error"}, {"status": "ERROR"}, {"error.type": "timeout"}])
def test_a_tool_call_that_failed_says_so(failure):
    """The two spellings of a status, and the convention's attribute."""
    assert trace_of(TOOL | failure).tool_calls[0].failed


def test_models_that_answered_are_collected_from_all_lines():
    """More than one means that calls were routed differently."""
    lines = [{"kind": "log", "model_returned": name} for name in ("m-2", "m-1", " ", "m-2")]
    assert trace_of(*lines).returned_models == ("m-1", "m-2")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([stamped(), HEAD], "t:2: a run manifest stands on the first line only"),
        ([TOOL | {"manifest_id": "a"}, TOOL, TOOL | {"manifest_id": "b"}], "t:3: manifest_id is not that of"),
        ([HEAD, TOOL | {"manifest_id": "b"}], "t:2: manifest_id is not that of"),
        ([{"kind": 3}], "t:1: kind must be text, not int"),
        ([changed(TOOL, name=3)], "t:1: gen_ai.tool.name must be text"),
        ([TOOL, 3], "t:2: a span must be an object"),
    ],
    ids=["two heads", "two runs", "another run than the head's", "kind", "name", "no object"],
)
def test_what_cannot_be_judged_is_named_by_its_line(lines, words):
    """A trace of two runs would be compared as one."""
    with pytest.raises(InputError) as error:
        trace_of(*lines)
    assert str(error.value).startswith(words)
