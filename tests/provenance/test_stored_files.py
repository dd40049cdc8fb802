from __future__ import annotations

from pathlib import Path

from manifests import DOCUMENT
from prompt_specs import FULL, SPEC
from tool_definitions import SEARCH

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.environment.runs import load_run
from toolpulse.provenance.ledger import Ledger
from toolpulse.provenance.manifest import manifest_of
from toolpulse.provenance.tools import check, pin

STORED = Path(__file__).with_name("stored")
"""Files that an earlier version wrote, and that nobody writes anew."""

TOOLS = [SEARCH, {"type": "web_search", "max_uses": 3}]


def test_a_pin_of_an_earlier_version_still_holds(tmp_path):
    """Pins are committed: one that no longer fits would report a change of tools that did not change."""
    assert check(STORED / "tools.json", TOOLS).code is Code.OK
    pin(tmp_path / "tools.json", TOOLS)
    assert (tmp_path / "tools.json").read_bytes() == (STORED / "tools.json").read_bytes()


def test_a_ledger_of_an_earlier_version_is_read_and_gone_on_with(tmp_path):
    """A ledger is the history of a prompt, and starts with whatever version was first installed."""
    ledger = Ledger(STORED / "ledger")
    assert ledger.check("answer", SPEC | {"temperature": 0.2}).primary == "same"
    assert [cause.reason for cause in ledger.check("answer", SPEC).causes] == ["changed", "earlier_release"]
    assert ledger.find(FULL) == (("answer", FULL, ("v1",)),)
    again = Ledger(tmp_path)
    again.record("answer", SPEC, label="v1")
    again.record("answer", SPEC | {"temperature": 0.2}, label="v2", keep_text=True)
    assert (tmp_path / "answer.json").read_bytes() == (STORED / "ledger" / "answer.json").read_bytes()


def test_a_manifest_of_an_earlier_version_is_the_same_run():
    """A baseline run is compared with for months."""
    assert load_run(STORED / "manifest.json").manifest == manifest_of(DOCUMENT)
