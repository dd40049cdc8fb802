"""The one judge: a live monitor and an offline baseline both call it, so that they cannot disagree.

    shape and profile -> diff (facts) -> patterns (hints) -> findings (by rules, for each consumer) -> Judgement

Pure: equal arguments give equal judgements. Whether an observation is learned is read off its findings here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.evidence.stats import CONTAINERS
from toolpulse.judgement.changes import Change
from toolpulse.judgement.consumer import DEFAULT, Consumer
from toolpulse.judgement.diff import align, diff
from toolpulse.judgement.findings import Finding, contract_findings, findings
from toolpulse.judgement.path_diff import fits
from toolpulse.judgement.patterns import with_patterns
from toolpulse.judgement.rules import LEARNED_ANYWAY, Risk, worst
from toolpulse.shape.nodes import Array, Scalar

if TYPE_CHECKING:
    from toolpulse._base.paths import Path
    from toolpulse.evidence.profile import Profile
    from toolpulse.shape.nodes import Shape


def read_text(profile: Profile, shape: Shape, encoding: str) -> tuple[Shape, str]:
    """Text as this tool's texts are: what was never JSON stays text, and one text block is a list of one.

    Free text may parse by chance, and a tool that gives a block for each hit gives one where there is one.
    """
    root = profile.root
    if encoding == "json-text" and "string" in root.known and not root.known & CONTAINERS:
        return Scalar("string"), "native"
    if encoding.endswith("mcp-text"):
        if shape.kind != "array" and root.known == {"array"} and root.items and fits(root.items, frozenset((shape,))):
            return Array((shape,)), encoding
        if isinstance(shape, Array) and "array" not in root.known and shape.elements and fits(root, shape.elements):
            return next(iter(shape.elements)), encoding
    return shape, encoding


class Judgement(msgspec.Struct, frozen=True):
    """What one observation means against what is known."""

    shape: Shape
    """The shape as the profile reads it: records that fit a known map are maps."""
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]

    def is_learned_despite(self, left: tuple[Finding, ...]) -> bool:
        """Whether the observation is learned although the findings ``left`` still stand.

        Everything is learned but what is news to somebody, additions to some elements and rates apart.
        """
        return not any(finding.risk.is_news and finding.rule_id not in LEARNED_ANYWAY for finding in left)

    @property
    def is_learned(self) -> bool:
        """Whether the observation is learned while nobody has decided on any of its findings."""
        return self.is_learned_despite(self.findings)

    @property
    def risk(self) -> Risk:
        """The worst of the findings."""
        return worst(finding.risk for finding in self.findings)


def judge(
    profile: Profile,
    shape: Shape,
    consumers: tuple[Consumer, ...] = (),
    *,
    encoding: str = "native",
    cuts: frozenset[Path] = frozenset(),
    broken: tuple[str, ...] = (),
    sealed: bool = True,
    shapes: int = 20,
) -> Judgement:
    """Compare a shape with a profile and judge each difference for each consumer (without any, for the default one).

    ``broken``: the assertions that did not hold, as ``consumer: assertion``. ``sealed``: the profile is complete,
    nothing of it is still being learned. ``cuts`` are the paths where the walk stopped short, ``shapes`` its limit of
    member shapes (``Limits.shapes``).
    """
    shape, encoding = read_text(profile, align(profile, shape, shapes), encoding)
    changes = diff(profile, shape, encoding=encoding, cuts=cuts, sealed=sealed)
    judged: tuple[Finding, ...] = ()
    if changes:
        changes = with_patterns(changes, profile, shape)
        judged = findings(changes, consumers or (DEFAULT,), sealed=sealed)
    if broken:
        judged = (*judged, *contract_findings(broken, consumers))
    return Judgement(shape, changes, judged)
