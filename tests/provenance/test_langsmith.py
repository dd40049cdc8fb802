from __future__ import annotations

import pytest
from foreign_traces import LANGFUSE, LANGSMITH

from toolpulse.errors import InputError
from toolpulse.provenance.readers.formats.langsmith import read, recognizes

TOOL = {"run_type": "tool", "id": "9", "name": "search_docs", "inputs": {"query": "x"}, "error": "no"}


def trace_of(document):
    """The trace in a document."""
    return read("t", [("t:1", document)])


def said(*messages, **more):
    """The hash of what was said in a run."""
    (one,) = trace_of(LANGSMITH | {"inputs": {"messages": list(messages), **more}}).generations
    return one.fingerprint["fingerprint.text_hash"]


@pytest.mark.parametrize(
    ("document", "known"),
    [
        (LANGSMITH, True),
        ([LANGSMITH, TOOL], True),
        ({"post": [LANGSMITH]}, True),
        ({"patch": []}, True),
        ([], False),
        ([LANGSMITH, {}], False),
        ({"run_type": 3}, False),
        (LANGFUSE, False),
    ],
    ids=["run", "array", "batch", "patches", "none", "one is none", "no text", "langfuse"],
)
def test_which_documents_may_be_runs(document, known):
    """All elements of an array have to be runs: half a trace is none."""
    assert recognizes(document) is known


def test_a_patch_completes_the_run_that_was_posted():
    """A run is posted when it begins and patched when it ended; it is one call, and null in a patch says nothing."""
    begun = {**LANGSMITH, "id": "1", "outputs": None}
    trace = trace_of({"post": [begun], "patch": [{"id": "1", "outputs": {"model": "m-2"}, "inputs": None}]})
    (one,) = trace.generations
    assert one.returned_model == "m-2"
    assert one.fingerprint["gen_ai.request.model"] == "model-x-2025-01"


def test_runs_inside_runs_are_read_in_the_order_in_which_they_started():
    """A chain holds the calls that it made."""
    runs = [{**LANGSMITH, "id": str(n), "start_time": f"2026-01-01T00:00:0{n}"} for n in (2, 1)]
    trace = trace_of({"run_type": "chain", "id": "0", "child_runs": [*runs, TOOL]})
    assert [one.started % 10**10 // 10**9 for one in trace.generations] == [1, 2]
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.failed) == ("search_docs", {"query": "x"}, True)


def test_messages_are_the_same_in_each_spelling():
    """LangChain writes constructors or typed objects, in a batch or bare; wrappers of providers write roles."""
    roles = {"role": "system", "content": "s"}, {"role": "user", "content": "u"}
    constructors = [
        {"lc": 1, "id": ["langchain", name], "kwargs": {"content": text}}
        for name, text in (("SystemMessage", "s"), ("HumanMessage", "u"))
    ]
    typed = {"type": "system", "content": "s"}, {"type": "human", "content": "u"}
    assert said(*roles) == said(constructors) == said(*constructors) == said(*typed) == said(roles[1], system="s")
    assert said(*roles) != said(roles[1])


def test_a_tool_without_a_name_is_named_by_its_run():
    """A batch is one line."""
    with pytest.raises(InputError, match=r"^t:1 run 2: name must be text"):
        trace_of([TOOL, {"run_type": "tool", "id": "3"}])
