"""Checking responses one at a time, so that each finding knows where it was seen first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolpulse.cli.inputs import Source
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


class _Seen:
    """One kind of observation: its judgement, where it came first, how often it came."""

    def __init__(self, judged: Judgement | None, first: Source) -> None:
        self.judged = judged
        self.first = first
        self.count = 0


def examine(baseline: Baseline, read: Iterable[tuple[Source, object]]) -> Report:
    """Judge responses against a baseline, for its own consumers."""
    seen: dict[Observation, _Seen] = {}
    for source, response in read:
        observed = baseline.observe(response)
        if observed not in seen:
            error = observed.outcome == "error"
            seen[observed] = _Seen(None if error else baseline.judge(observed), source)
        seen[observed].count += 1
    found: list[Finding] = []
    where: dict[tuple[str, ...], Sighting] = {}
    for one in seen.values():
        for finding in one.judged.findings if one.judged else ():
            found.append(finding)
            before = where.get(finding.identity, Sighting(one.first, 0))
            where[finding.identity] = before._replace(responses=before.responses + one.count)
    responses = sum(one.count for one in seen.values())
    errors = sum(one.count for one in seen.values() if one.judged is None)
    verdict = Verdict.of(found, seen, responses, errors)
    return Report(verdict, {finding: where[finding.identity] for finding in verdict.findings})


def coverage(truncations: Iterable[Truncation]) -> list[str]:
    """One line for each place and limit: the response of which most was not seen."""
    places: dict[tuple[str, str], list[Truncation]] = {}
    for cut in truncations:
        places.setdefault((cut.path, cut.limit), []).append(cut)
    return [_coverage(cuts) for _, cuts in sorted(places.items())]


def _coverage(cuts: Sequence[Truncation]) -> str:
    most = max(cuts, key=lambda cut: (cut.total - cut.seen, cut))
    return str(most) + (f" (of {len(cuts)} different cuts the largest)" if len(cuts) > 1 else "")
