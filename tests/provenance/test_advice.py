from __future__ import annotations

from manifests import FIELDS

from toolpulse.provenance.environment import ADVICE

PRECEDENCE = ["MODEL_DRIFT", "SCHEMA_DRIFT", "CODE_DRIFT", "ENV_DRIFT"]


def test_every_verdict_has_its_advice():
    """A verdict without what to do is a riddle."""
    assert [one.verdict for one in ADVICE] == [*PRECEDENCE, "SAME_ENV"]
    assert all(one.first and one.action for one in ADVICE)
    assert set(FIELDS) <= {name for one in ADVICE for name in one.fields}
