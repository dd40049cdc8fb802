from __future__ import annotations

from toolpulse import Baseline, Consumer
from toolpulse.cli._kit.inputs import Source
from toolpulse.cli._views.baselines import check_report, learned, shape_tree
from toolpulse.cli._views.findings import examine
from toolpulse.cli._views.tree import tree

LEARNED = [{"id": 1, "note": "n"}, {"id": 2}, {"id": 3}, {"id": 4}]
BASELINE = Baseline.learn(LEARNED)


def printed(lines):
    """The lines without their styles."""
    return [getattr(line, "plain", line) for line in lines]


def test_what_was_learned_is_said_in_figures():
    """Who leaves out errors or cuts what is large has to read it here, before the file is committed."""
    assert printed(learned(tree(BASELINE), [], 0, "b.json")) == [
        "learned from 4 responses (2 distinct shapes)",
        "  paths     2 (1 optional)",
        "  maps      none",
        "  coverage  everything seen",
        "written to b.json",
    ]
    cut = printed(learned(tree(BASELINE), ["rows: 100 of 120 elements seen", "more"], 2, "b.json"))
    assert cut[0].endswith("; 2 errors left out")
    assert cut[3:5] == ["  coverage  rows: 100 of 120 elements seen", "            more"]


def test_a_tree_has_a_line_for_each_path_and_no_settings_where_all_are_defaults():
    """Deeper paths are further in, and what is optional says how often it is there."""
    lines = printed(shape_tree(tree(BASELINE)))
    assert lines[0] == "4 responses, 2 distinct shapes, 2 paths (1 optional)"
    assert [line.split() for line in lines[2:5]] == [
        ["$", "object"],
        ["id", "always", "integer"],
        ["note", "25%", "string"],
    ]
    assert lines[3].startswith("  id")
    assert not any("settings" in line for line in lines)


def checked(*responses, consumers=()):
    """The report on responses, printed."""
    located = [(Source("r.jsonl", line), response) for line, response in enumerate(responses, 1)]
    report = examine(Baseline.learn(LEARNED, consumers=consumers), located)
    return printed(check_report(report, 4, []))


def test_a_finding_says_where_how_often_and_first():
    """The file and line are where its reader looks next."""
    headline, finding, *rest = checked({"id": 1}, {"id": "x"}, {"id": "y"})
    assert headline.split("  ")[0] == "HIGH"
    assert "1 finding" in headline
    assert headline.endswith("3 responses against a baseline of 4")
    assert "integer -> string" in finding
    assert finding.endswith("in 67%, first r.jsonl:2")
    assert rest == ["  coverage  everything seen"]


def test_consumers_are_named_where_there_are_several():
    """One reader alone needs no name."""
    two = checked({"id": "x"}, consumers=(Consumer("billing"), Consumer("search")))
    assert ["billing" in line for line in two[1:3]] == [True, False]
    assert "search" in two[2]
    assert not any("billing" in line for line in checked({"id": "x"}, consumers=(Consumer("billing"),)))


def test_what_fits_is_quiet():
    """Nothing found is said, and not left to be concluded."""
    assert checked({"id": 7})[0].split("  ")[:2] == ["QUIET", "nothing found"]
