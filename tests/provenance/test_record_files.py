from __future__ import annotations

import os

import pytest

from toolpulse import Baseline
from toolpulse._base import files
from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance import record_files


def test_a_file_is_sorted_and_reads_back(tmp_path):
    """It is committed: the same document gives the same bytes, one line a fact."""
    path = tmp_path / "a.json"
    record_files.save(path, {"b": [1], "a": "\xe9"}, kind="pin")
    assert path.read_text("ascii") == ('{\n "a": "\\u00e9",\n "b": [\n  1\n ],\n "kind": "pin",\n "schema": 1\n}\n')
    assert record_files.load(path, kind="pin") == {"a": "\xe9", "b": [1], "kind": "pin", "schema": 1}
    assert record_files.encode({"a": "\xe9", "b": [1]}, kind="pin") == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", InputError),
        ('{"kind": "pin"}', SchemaMissing),
        ('{"schema": 2, "kind": "pin"}', SchemaUnsupported),
        ('{"schema": 1, "kind": "ledger"}', InputError),
        ('{"schema": 1, "schema": 1, "kind": "pin"}', CanonicalError),
        ("[]", InputError),
    ],
)
def test_what_is_no_such_file_is_refused_by_name(tmp_path, text, error):
    """The message begins with the file, for whoever passed five of them."""
    path = tmp_path / "a.json"
    path.write_text(text, "utf-8")
    with pytest.raises(error, match=r"a\.json: ") as caught:
        record_files.load(path, kind="pin")
    assert isinstance(caught.value, InputError)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path):
    """So is a folder in its place."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError):
            record_files.load(path, kind="pin")


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    """A full disk must not cost the old file, nor leave a draft behind."""
    path = tmp_path / "a.json"
    record_files.save(path, {"a": 1}, kind="pin")
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        record_files.save(path, {"a": 2}, kind="pin")
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_baselines_are_written_by_the_one_writer(tmp_path, monkeypatch):
    """Two writers would come to differ in what they survive."""
    written = []
    monkeypatch.setattr(files, "replace", lambda path, data: written.append((path, data)))
    baseline = Baseline.learn([{"a": 1}])
    baseline.save(tmp_path / "b.json")
    record_files.save(tmp_path / "c.json", {}, kind="pin")
    assert [path.name for path, _ in written] == ["b.json", "c.json"]
    assert written[0][1] == baseline.to_json()
