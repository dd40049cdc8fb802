from __future__ import annotations

import json

from foreign_traces import ATTRIBUTES, console

from toolpulse.provenance.readers import load_trace


def test_spans_are_in_the_order_in_which_they_started(tmp_path):
    """Exporters write a span when it ends, children before parents."""
    spans = [
        console(ATTRIBUTES | {"gen_ai.request.model": model}, start_time=f"2026-01-01T00:00:0{second}Z")
        for model, second in (("second", 2), ("third", 3), ("first", 1))
    ]
    file = tmp_path / "t.txt"
    file.write_text("\n".join(json.dumps(span, indent=4) for span in spans), "utf-8")
    models = [one.fingerprint["gen_ai.request.model"] for one in load_trace(file).generations]
    assert models == ["first", "second", "third"]
