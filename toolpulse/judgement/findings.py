"""Findings: changes, judged for each consumer. One observation, a verdict for each reader of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from toolpulse._base.paths import format_path
from toolpulse.judgement.changes import Change
from toolpulse.judgement.rules import RULES, Risk, Rule, classify

if TYPE_CHECKING:
    from toolpulse.judgement.consumer import Consumer


class Finding(msgspec.Struct, frozen=True):
    """A change, judged for one consumer; everything printed, as events, logs and baselines have it."""

    path: str
    rule_id: str
    before: str
    after: str
    risk: Risk
    evidence: str
    pattern: str | None = None
    counterpart: str | None = None
    consumer: str = "default"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it the same finding in another response; the evidence may differ."""
        return (self.path, self.rule_id, self.before, self.after, self.risk, self.consumer)

    @property
    def change(self) -> str:
        """What happened, as logs print it: ``number -> string``, or ``new element shape``."""
        return self.after if self.rule_id == "element-shape-new" else f"{self.before} -> {self.after}"


def findings(
    changes: tuple[Change, ...], consumers: tuple[Consumer, ...], *, sealed: bool = True
) -> tuple[Finding, ...]:
    """What the changes mean to each consumer; nothing quiet among it. Worst first, then by path.

    ``sealed``: the profile is complete; else what was seen fewer than ten times is ``info`` at most.
    """
    judged = []
    for change in changes:
        rule = classify(change)
        for consumer in consumers:
            risk = consumer.risk_of(change, rule, sealed=sealed)
            if risk is not Risk.QUIET:
                judged.append(_finding(change, rule, risk, consumer))
    return worst_first(judged)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they are reported: worst first, then by path."""
    return tuple(sorted(findings, key=lambda f: (f.risk.rank, f.path, f.rule_id, f.after, f.consumer)))


def contract_findings(broken: tuple[str, ...], consumers: tuple[Consumer, ...]) -> tuple[Finding, ...]:
    """Findings for assertions that did not hold, given as ``consumer: assertion``."""
    rule = next(rule for rule in RULES if rule.id == "contract")
    broken_ones = []
    for consumer in consumers:
        for name in consumer.assertions:
            if f"{consumer.name}: {name}" in broken:
                risk = consumer.risk.get(rule.id, rule.risk)
                evidence = "an assertion on the payload is false, raised, or gave an awaitable"
                broken_ones.append(Finding("$", rule.id, "holds", name, risk, evidence, consumer=consumer.name))
    return tuple(broken_ones)


def _finding(change: Change, rule: Rule, risk: Risk, consumer: Consumer) -> Finding:
    return Finding(
        format_path(change.path),
        rule.id,
        change.before,
        change.after,
        risk,
        change.evidence,
        change.pattern,
        None if change.counterpart is None else format_path(change.counterpart),
        consumer.name,
    )
