from __future__ import annotations

from foreign_traces import HASHES, NATIVE, only, otlp


def test_a_stamped_span_in_an_export_is_taken_at_its_word(tmp_path):
    """Set at the source, before samplers and limits, its fingerprint knows more than what was exported."""
    found = only(tmp_path, otlp({"gen_ai.operation.name": "chat", **NATIVE}))
    assert {name: found.fingerprint[name] for name in HASHES} == {name: NATIVE[name] for name in HASHES}
    assert found.fingerprint["fingerprint.tools.coverage"] == "full"
    bare = {name: value for name, value in NATIVE.items() if name != "fingerprint.tools.coverage"}
    imported = only(tmp_path, otlp({"gen_ai.operation.name": "chat", **bare}))
    assert imported.fingerprint["fingerprint.tools.coverage"] == "none", "an import counts by what it carries"
    assert only(tmp_path, {"kind": "generation", **bare}).fingerprint["fingerprint.tools.coverage"] == "full"
