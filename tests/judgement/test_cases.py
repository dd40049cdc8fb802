from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolpulse import Baseline, Consumer
from toolpulse._base.canonical import load_tolerant

FOLDER = Path(__file__).parents[1] / "cases"
CASES = {path.stem: path for path in sorted(FOLDER.glob("*.json"))}


def responses(case, side):
    """The responses of one side of a case; raw texts stand where a parsed value could not show what matters."""
    return case[side] or [load_tolerant(text) for text in case.get(f"{side}_raw", [])]


def check(case):
    """Learn a case's baseline, in order, and check what was observed against it."""
    baseline = Baseline.learn(responses(case, "baseline"))
    reader = Consumer("reader", numeric=case.get("policy", {}).get("numbers", "lenient"))
    return baseline.check(responses(case, "observed"), consumer=reader)


@pytest.mark.parametrize("name", CASES)
def test_case_gives_the_expected_verdict_and_changes(name):
    """Each case retells a public report of drift, or of noise; the verdict is the one its reader would want."""
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    verdict = check(case)
    found = {(finding.path, finding.change, str(finding.risk)) for finding in verdict.findings}
    wanted = {(change["path"], change["change"], change["risk"]) for change in case["expect"]["changes"]}
    assert found == wanted
    assert verdict.risk == case["expect"]["verdict"]
    if case.get("meta", {}).get("truncated"):
        assert verdict.truncations


def test_the_cases_are_there():
    """An empty folder would make the test above pass without looking at anything."""
    assert len(CASES) >= 87
