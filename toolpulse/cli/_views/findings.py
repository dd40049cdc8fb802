"""Responses checked one at a time, so that each finding knows where it was seen first. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolpulse.cli._kit.inputs import Source
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.judge import Judgement
from toolpulse.shape import Observation, Truncation
from toolpulse.state.baseline import Baseline, Verdict


class Sighting(NamedTuple):
    """Where a finding was seen first, and how many responses show it."""

    first: Source
    responses: int


class Report(NamedTuple):
    """What ``Baseline.check`` says of the same responses, and where each of its findings was seen."""

    verdict: Verdict
    sightings: dict[Finding, Sighting]


class _Group:
    """The responses that have one and the same observation."""

    def __init__(self, judgement: Judgement | None, first: Source) -> None:
        self.judgement = judgement
        """None for errors, which are not judged."""
        self.first = first
        self.count = 0


def examine(baseline: Baseline, responses: Iterable[tuple[Source, object]]) -> Report:
    """Judge responses against a baseline, for the baseline's own consumers."""
    groups = _grouped(baseline, responses)
    findings: list[Finding] = []
    sightings: dict[tuple[str, ...], Sighting] = {}
    for group in groups.values():
        for finding in group.judgement.findings if group.judgement else ():
            findings.append(finding)
            before = sightings.get(finding.identity, Sighting(group.first, 0))
            sightings[finding.identity] = before._replace(responses=before.responses + group.count)
    count = sum(group.count for group in groups.values())
    errors = sum(group.count for group in groups.values() if group.judgement is None)
    verdict = Verdict.of(findings, groups, count, errors)
    return Report(verdict, {finding: sightings[finding.identity] for finding in verdict.findings})


def _grouped(baseline: Baseline, responses: Iterable[tuple[Source, object]]) -> dict[Observation, _Group]:
    groups: dict[Observation, _Group] = {}
    for source, response in responses:
        observation = baseline.observe(response)
        if observation not in groups:
            is_error = observation.outcome == "error"
            groups[observation] = _Group(None if is_error else baseline.judge(observation), source)
        groups[observation].count += 1
    return groups


def coverage(truncations: Iterable[Truncation]) -> list[str]:
    """What was not seen, one sentence for each path and limit: that of the response with the most that was not seen."""
    places: dict[tuple[str, str], list[Truncation]] = {}
    for cut in truncations:
        places.setdefault((cut.path, cut.limit), []).append(cut)
    return [_coverage(cuts) for _, cuts in sorted(places.items())]


def _coverage(cuts: Sequence[Truncation]) -> str:
    largest = max(cuts, key=lambda cut: (cut.total - cut.seen, cut))
    return str(largest) + (f" (of {len(cuts)} different cuts the largest)" if len(cuts) > 1 else "")
