from __future__ import annotations

import json

import pytest
from manifests import recorded
from traces import stamped

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import (
    ConfigurationError,
    InputError,
)
from toolpulse.provenance.readers import load_trace
from toolpulse.provenance.writer import TraceWriter


def spans(file):
    """The lines of a trace."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_every_span_names_the_manifest_of_its_run(tmp_path):
    """A span that is copied out of its trace still says which run it belongs to."""
    file, span = tmp_path / "t.jsonl", stamped()
    with TraceWriter(file, recorded()) as writer:
        writer.write(span)
        writer.write({"kind": "tool", "gen_ai.tool.name": "a"})
        writer.note_returned("m-2025-01", "g1")
    head, *rest = spans(file)
    assert head == {"span_type": "run_manifest", **recorded().to_json()}
    assert all(line["manifest_id"] == "f1682b74cdeebdc4" for line in rest)
    assert "manifest_id" not in span, "what was passed in is not changed"
    trace = load_trace(file)
    assert trace.manifest == recorded()
    assert trace.returned_models == ("m-2025-01",)


def test_a_trace_is_evidence_and_not_written_over(tmp_path):
    """The second run must not destroy what the first one showed."""
    file = tmp_path / "t.jsonl"
    TraceWriter(file, recorded()).close()
    with pytest.raises(FileExistsError):
        TraceWriter(file, recorded())
    TraceWriter(file, recorded(), mode="w").close()
    with pytest.raises(ConfigurationError, match="mode"):
        TraceWriter(file, recorded(), mode="a")


def test_a_span_of_another_run_is_refused(tmp_path):
    """One trace, one run: in a mixed one nothing can be attributed."""
    with TraceWriter(tmp_path / "t.jsonl", recorded()) as writer:
        with pytest.raises(InputError, match="another run"):
            writer.write({"kind": "tool", "manifest_id": "0" * 16})
        with pytest.raises(CanonicalError):
            writer.write({"kind": "tool", "x": float("nan")})
        with pytest.raises(ConfigurationError, match="model"):
            writer.note_returned("  ")
    assert len(spans(tmp_path / "t.jsonl")) == 1
