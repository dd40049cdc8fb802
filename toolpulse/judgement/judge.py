"""The one judge: a live monitor and an offline baseline both call it, so that they cannot disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolpulse.evidence.profile import CONTAINERS
from toolpulse.judgement.consumer import DEFAULT, Consumer, Finding, contract_findings, findings
from toolpulse.judgement.diff import Change, align, diff, fits
from toolpulse.judgement.patterns import explain
from toolpulse.judgement.rules import TEACHES, Risk, worst
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

    def teaches_without(self, left: tuple[Finding, ...]) -> bool:
        """Whether the observation may teach: of the findings ``left`` nobody's is more than an addition or a rate."""
        return not any(finding.risk.is_news and finding.rule_id not in TEACHES for finding in left)

    @property
    def teaches(self) -> bool:
        """Whether it may teach as it is."""
        return self.teaches_without(self.findings)

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
    nothing of it is still being learned. ``shapes`` is the limit of member shapes of the walk. Pure: equal arguments
    give equal judgements.
    """
    shape, encoding = read_text(profile, align(profile, shape, shapes), encoding)
    changes = diff(profile, shape, encoding=encoding, cuts=cuts, sealed=sealed)
    found: tuple[Finding, ...] = ()
    if changes:
        changes = explain(changes, profile, shape)
        found = findings(changes, consumers or (DEFAULT,), sealed=sealed)
    if broken:
        found = (*found, *contract_findings(broken, consumers))
    return Judgement(shape, changes, found)
