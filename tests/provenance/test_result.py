from __future__ import annotations

import json

from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.result import Cause, Comparison


def test_a_comparison_as_json():
    """Scripts read it: integer schema first, paths printed, a risk where there is one."""
    fact = Difference(("a", "b"), "value", "string", "string", "the value differs")
    finding = Finding("q", "field-removed", "string", "missing", Risk.HIGH, "gone", "renamed", "query")
    cause = Cause("contract", "search", ("q",))
    comparison = Comparison(Code.DIFFERENT, "changed", (cause,), (fact, finding), ("temperature",), "words")
    assert comparison.exit_code == 1
    assert json.loads(json.dumps(comparison.to_json())) == {
        "schema": 1,
        "code": 1,
        "primary": "changed",
        "causes": [{"reason": "contract", "where": "search", "names": ["q"]}],
        "changes": [
            {"path": "a.b", "fact": "value", "before": "string", "after": "string", "evidence": "the value differs"},
            {
                "path": "q", "rule_id": "field-removed", "risk": "high", "before": "string", "after": "missing",
                "evidence": "gone", "pattern": "renamed", "counterpart": "query",
            },
        ],
        "unverified": ["temperature"],
        "message": "words",
    }  # fmt: skip
    assert next(iter(comparison.to_json())) == "schema"
    assert str(cause) == "contract at search: q"
