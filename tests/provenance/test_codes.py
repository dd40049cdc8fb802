from __future__ import annotations

from toolpulse.provenance.comparison.codes import Code


def test_codes_are_the_ones_every_command_ends_with():
    """Scripts branch on the numbers."""
    assert {code.name: code.value for code in Code} == {
        "OK": 0, "DIFFERENT": 1, "INCOMPARABLE": 2, "PRECONDITION": 3, "INPUT": 4, "USAGE": 64, "INTERNAL": 70,
        "INTERRUPTED": 130,
    }  # fmt: skip
    assert all(code.meaning for code in Code)
