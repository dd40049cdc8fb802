from __future__ import annotations

import pytest
from foreign_traces import ATTRIBUTES, console, otlp
from traces import write

from toolpulse.provenance.gate import gate
from toolpulse.provenance.readers import load_trace


@pytest.mark.parametrize(
    "document",
    [
        otlp(ATTRIBUTES, traceState="ot=th:8"),
        otlp(ATTRIBUTES, traceState="a=b,ot=p:3;r:1"),
        console(ATTRIBUTES, context={"span_id": "0x1", "trace_state": "['ot=th:c']"}),
        console(ATTRIBUTES | {"sampling.probability": 0.25}),
        console(ATTRIBUTES, resource={"attributes": {"SampleRate": 20}}),
    ],
)
def test_signs_of_sampling_are_seen(tmp_path, document):
    """A sampled trace is no record of a run."""
    file = write(tmp_path / "t.json", document)
    assert load_trace(file).sampled
    assert gate(file, file).primary == "sampled"


def test_the_flag_that_stands_on_every_exported_span_is_no_sign(tmp_path):
    """W3C's sampled flag says that this span was recorded."""
    assert not load_trace(write(tmp_path / "t.json", otlp(ATTRIBUTES, flags=257, traceState="ot=th:0"))).sampled
