"""Baselines as lines: what was learned, a baseline as a tree, and responses checked against one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from toolpulse.cli._kit.text import percent, plural, safe
from toolpulse.cli._views.drift import because
from toolpulse.cli._views.printer import columns, risk_text, titled

if TYPE_CHECKING:
    from toolpulse.cli._views.findings import Report
    from toolpulse.cli._views.tree import Tree
    from toolpulse.judgement.findings import Finding


def learned(tree: Tree, cuts: Sequence[str], errors: int, file: str) -> list[Text | str]:
    """What a new baseline has learned, and where it was written.

    ``cuts`` are the sentences of ``findings.coverage``; ``errors`` is the number of responses that were left out.
    """
    skipped = f"; {plural(errors, 'error')} left out" if errors else ""
    return [
        f"learned from {plural(tree.responses, 'response')} ({plural(tree.shapes, 'distinct shape')}){skipped}",
        f"  paths     {tree.paths} ({tree.optional} optional)",
        *_maps(tree),
        *_coverage(cuts),
        f"written to {file}",
    ]


def shape_tree(tree: Tree) -> list[Text | str]:
    """A baseline as a tree: each path with its presence and its kinds."""
    rows = [
        [
            Text("  " * row.depth + row.label, "bold" if row.container else ""),
            Text(row.presence, "yellow" if row.optional else "dim"),
            Text(safe(", ".join(row.kinds))),
        ]
        for row in tree.rows
    ]
    settings = [f"{name}: {value}" for name, value in tree.settings]
    counted = f"{plural(tree.responses, 'response')}, {plural(tree.shapes, 'distinct shape')}"
    return [
        f"{counted}, {plural(tree.paths, 'path')} ({tree.optional} optional)",
        "",
        *columns(rows),
        "",
        *_maps(tree),
        *_coverage(tree.cuts),
        *(titled("settings", settings) if settings else []),
    ]


def check_report(report: Report, learned: int, cuts: Sequence[str]) -> list[Text | str]:
    """What responses mean against a baseline that was learned from ``learned`` responses."""
    verdict = report.verdict
    against = f"{plural(verdict.responses, 'response')} against a baseline of {learned:,}"
    count = plural(len(verdict.findings), "finding") if verdict.findings else "nothing found"
    headline = columns([[risk_text(verdict.risk, loud=True), Text(count), Text(against)]])
    several = len({finding.consumer for finding in verdict.findings}) > 1
    rows = [_finding(finding, report, several=several) for finding in verdict.findings]
    errors = [f"  {plural(verdict.errors, 'response')} said to be an error and not compared"] if verdict.errors else []
    return [*headline, *columns(rows, "  "), *errors, *_coverage(cuts)]


def _finding(finding: Finding, report: Report, *, several: bool) -> list[Text]:
    """The cells of a finding; with ``several`` consumers the one that it is for stands among them."""
    sighting = report.sightings[finding]
    compared = report.verdict.responses - report.verdict.errors
    return [
        risk_text(finding.risk),
        *([Text(safe(finding.consumer))] if several else []),
        Text(safe(finding.path)),
        Text(safe(finding.change)),
        Text(safe(because(finding)), "dim"),
        Text(safe(f"in {percent(sighting.responses, compared)}, first {sighting.first}")),
    ]


def _maps(tree: Tree) -> list[Text | str]:
    return titled("maps", [f"{path}: {why}" for path, why in tree.maps] or ["none"])


def _coverage(cuts: Sequence[str]) -> list[Text | str]:
    return titled("coverage", cuts or ["everything seen"])
