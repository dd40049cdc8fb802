"""What a batch of observations means against what is known: changes and findings, and nothing else.

Every function here is pure: it counts nothing, opens no incident and makes no event. ``tool_state`` does that with what
comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse._base.paths import parse_path
from toolpulse.evidence.rows import truncated_paths
from toolpulse.evidence.silence import shows_silence
from toolpulse.judgement.changes import Change
from toolpulse.judgement.findings import Finding, findings
from toolpulse.judgement.judge import Judgement, judge
from toolpulse.judgement.rates import error_rate_change, silence_changes
from toolpulse.state.incidents import EMPTINESS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.evidence.maps import LearnedMap
    from toolpulse.evidence.profile import Profile
    from toolpulse.evidence.quarantine import QuarantineLog
    from toolpulse.judgement.consumer import Consumer
    from toolpulse.shape import Truncation
    from toolpulse.state.incidents import Incident
    from toolpulse.state.learning.live_baseline import LiveBaseline
    from toolpulse.state.pending import Calls, Tally


def judge_tally(
    profile: Profile, tally: Tally, consumers: tuple[Consumer, ...], *, sealed: bool, member_shapes: int
) -> Judgement:
    """Compare a tally with a profile, for each consumer.

    ``sealed``: the profile is complete. ``member_shapes`` is the walk's limit of distinct element shapes.
    """
    return judge(
        profile,
        tally.shape,
        consumers,
        encoding=tally.encoding,
        cuts=truncated_paths(tally.truncations),
        broken=tally.broken,
        sealed=sealed,
        shapes=member_shapes,
    )


def absences(
    baseline: LiveBaseline, newest: Tally, unlearned: QuarantineLog, consumers: tuple[Consumer, ...]
) -> list[tuple[Change, tuple[Finding, ...]]]:
    """What the newest observation that was learned lacks, and that has been away improbably long, with its findings."""
    away = silence_changes(baseline.profile, newest.shape, now=newest.last, parts=baseline.parts, quarantine=unlearned)
    return [(change, findings((change,), consumers, sealed=False)) for change in away]


def failures(calls: Calls, consumers: tuple[Consumer, ...]) -> tuple[Finding, ...]:
    """What is found where calls fail improbably often under the tool's own rate."""
    change = error_rate_change(calls=calls.calls, errors=calls.errors, run=calls.run, recent=len(calls.failed))
    return findings((change,), consumers, sealed=False) if change else ()


def shows_emptiness_of(incident: Incident, tally: Tally, profile: Profile) -> bool:
    """Whether a tally shows an emptiness that the profile never saw before the incident about it.

    Where something is empty at times that is ordinary, and only a long run of it counts: see ``absences``.
    """
    paths = [parse_path(finding.path) for finding in incident.findings if finding.rule_id in EMPTINESS]
    for path in paths:
        known = profile.at(path)
        if known is not None and known.empty.first >= incident.opened and shows_silence(tally.shape, path, "empty"):
            return True
    return False


def map_change(decision: LearnedMap) -> Change:
    """The change that an object was learned to be a map, with the figures as evidence."""
    return Change(decision.path, "map", "object", "map", decision.why)


def cut_changes(cuts: Iterable[Truncation]) -> tuple[Change, ...]:
    """The changes that walks stopped where none had stopped before; the evidence says how far they came."""
    return tuple(Change(parse_path(cut.path), "truncation", "in full", cut.limit, _inspected(cut)) for cut in cuts)


def _inspected(cut: Truncation) -> str:
    """``only 100 of 300 elements inspected``, or why it stopped: ``deeper than the limit``."""
    text = str(cut).removeprefix(f"{cut.path}: ")
    return f"only {text.removesuffix(' seen')} inspected" if text.endswith(" seen") else text
