from __future__ import annotations

import pytest
from manifests import DOCUMENT, FIELDS, recorded
from traces import stamped, write

from toolpulse.errors import (
    InputError,
    SchemaMissing,
    SchemaUnsupported,
)
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.environment.runs import classify_files, classify_runs, group, load_run
from toolpulse.provenance.manifest import Manifest
from toolpulse.provenance.readers import load_trace
from toolpulse.provenance.writer import TraceWriter


def run_file(tmp_path, name, models=(), **changes):
    """Write the trace of a run whose calls returned these models."""
    file = tmp_path / name
    with TraceWriter(file, recorded(model_returned=None, **changes)) as writer:
        writer.write(stamped())
        for model in models:
            writer.note_returned(model)
    return file


def test_runs_are_classified_by_what_their_calls_returned(tmp_path):
    """The alias moved overnight: nothing in the head of either trace shows it."""
    one, same = run_file(tmp_path, "a.jsonl", ["m-1"]), run_file(tmp_path, "b.jsonl", ["m-1"])
    moved = run_file(tmp_path, "c.jsonl", ["m-1", "m-2"])
    assert load_run(one).manifest == load_run(moved).manifest
    assert classify_files(one, same).primary == "SAME_ENV"
    assert classify_files(one, moved).primary == "MODEL_DRIFT"


def test_failing_runs_are_grouped_by_their_environment(tmp_path):
    """Only in a stable environment is a failure the agent's own."""
    reference = load_run(run_file(tmp_path, "good.jsonl", ["m-1"]))
    failed = [
        load_run(run_file(tmp_path, "1.jsonl", ["m-1"])),
        load_run(run_file(tmp_path, "2.jsonl", ["m-1"], lockfile="d" * 64)),
        load_run(run_file(tmp_path, "3.jsonl", ["m-2"])),
        load_run(run_file(tmp_path, "4.jsonl", ["m-1"])),
    ]
    found = {one.verdict: [file[-7:] for file, _ in one.runs] for one in group(reference, failed)}
    assert found == {"SAME_ENV": ["1.jsonl", "4.jsonl"], "MODEL_DRIFT": ["3.jsonl"], "CODE_DRIFT": ["2.jsonl"]}
    assert next(iter(found)) == "SAME_ENV"
    assert classify_runs(reference, failed[0]).code is Code.OK


@pytest.mark.parametrize(
    "lines",
    [
        [{"kind": "generation"}],
        [{"kind": "tool", "name": "a"}, {"span_type": "run_manifest", **DOCUMENT}],
        [{"span_type": "span", **DOCUMENT}],
        [[]],
        [{"resourceSpans": []}],
    ],
)
def test_a_trace_without_a_manifest_in_front_is_an_error_and_no_verdict(tmp_path, lines):
    """Nothing is known of its environment, not that it was another."""
    file = write(tmp_path / "t.jsonl", *lines)
    with pytest.raises(InputError, match=r"t\.jsonl: no run manifest on the first line"):
        load_run(file)


def test_a_trace_that_mixes_runs_is_refused(tmp_path):
    """Two runs appended to one file would lend each other their environment."""
    head = {"span_type": "run_manifest", **recorded().to_json()}
    mixed = write(tmp_path / "t.jsonl", head, stamped(manifest_id="0" * 16))
    with pytest.raises(InputError, match=r"t\.jsonl:2: .*mixes runs"):
        load_run(mixed)
    headless = write(tmp_path / "v.jsonl", stamped(manifest_id="0" * 16), stamped(), stamped(manifest_id="1" * 16))
    with pytest.raises(InputError, match=r"v\.jsonl:3: .*mixes runs"):
        load_trace(headless)
    twice = write(tmp_path / "u.jsonl", head, head)
    with pytest.raises(InputError, match=r"u\.jsonl:2: .*mixes runs"):
        load_run(twice)


def test_versions_in_files_are_checked_on_both_sides(tmp_path):
    """Missing here, missing there, missing on both, unsupported: four errors that say which file."""
    good = write(tmp_path / "good.json", DOCUMENT)
    none = write(tmp_path / "none.json", FIELDS)
    later = write(tmp_path / "later.json", DOCUMENT | {"schema": 2})
    with pytest.raises(SchemaMissing, match=r"none\.json: .*missing$"):
        classify_files(good, none)
    with pytest.raises(SchemaMissing, match=r"none\.json: .*missing$"):
        classify_files(none, good)
    with pytest.raises(SchemaMissing, match="both sides"):
        classify_files(none, none)
    with pytest.raises(SchemaUnsupported, match=r"later\.json"):
        classify_files(good, later)


def test_a_sampled_run_says_so_and_is_the_same_run(tmp_path):
    """Whether every call was written is about the trace, not about the environment."""
    file = tmp_path / "t.jsonl"
    TraceWriter(file, recorded(), sampled=True).close()
    trace = load_trace(file)
    assert trace.sampled
    assert isinstance(trace.manifest, Manifest)
    assert trace.manifest.manifest_id == "f1682b74cdeebdc4"
