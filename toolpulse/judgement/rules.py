"""What a change means to a reader of the response: one table of rules.

A tool's new response meets code written for the old one, so the question is forward compatibility: new writer, old
reader. Rules are rows with stable ids; the first row that fits a change names it. A new rule is one row here, a case
in the tests and a line in ``docs/rules.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from toolpulse._base.paths import ROOT
from toolpulse.judgement.changes import Change, Fact


class Risk(StrEnum):
    """How much a change matters to a consumer: ``list(Risk)`` goes from the worst to the least.

    The worse one is the greater: ``Risk.HIGH > Risk.INFO``, ``max`` of some is the worst of them, and
    ``sorted(risks, reverse=True)`` has the worst in front. A word compares as the risk it names.
    Comparing with anything else raises ValueError.
    """

    HIGH = "high"
    AVAILABILITY = "availability"
    INVESTIGATE = "investigate"
    INFO = "info"
    QUIET = "quiet"

    # str compares letters; all four are needed to replace that
    def __lt__(self, other: str) -> bool:
        return self.rank > Risk(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank >= Risk(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank < Risk(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank <= Risk(other).rank

    @property
    def rank(self) -> int:
        """Its place in the list of all, 0 for ``high``: what to sort by for the worst in front."""
        return _RANK[self]

    @property
    def is_news(self) -> bool:
        """Whether it is worse than ``info``: something to act on."""
        return self > Risk.INFO


_RANK: Final = {risk: rank for rank, risk in enumerate(Risk)}


def worst(risks: object) -> Risk:
    """The worst of some risks; ``quiet`` of none."""
    return max(risks, default=Risk.QUIET)  # type: ignore[call-overload, no-any-return]


Policy: TypeAlias = Literal["numeric", "null"]
"""Settings of a consumer that decide the risk of a rule."""

NullPolicy: TypeAlias = Literal["quiet", "investigate", "high"]
"""What ``Consumer(null=)`` may be: the risk of a first null."""

NumericPolicy: TypeAlias = Literal["lenient", "strict", "exact"]
"""What ``Consumer(numeric=)`` may be."""

NULL: Final[tuple[NullPolicy, ...]] = get_args(NullPolicy)
NUMERIC: Final[tuple[NumericPolicy, ...]] = get_args(NumericPolicy)

NUMERIC_RISKS: Final[Mapping[NumericPolicy, Mapping[str, Risk]]] = {
    "lenient": {},
    "strict": {"number-widened": Risk.HIGH},
    "exact": {"number-widened": Risk.HIGH, "number-narrowed": Risk.HIGH},
}
"""What each numeric policy says of integers and numbers; what it does not name is quiet."""


class Rule(msgspec.Struct, frozen=True):
    """A row of the table: when it applies, and what it means where no consumer says otherwise."""

    id: str
    risk: Risk
    when: Callable[[Change], bool]
    says: str
    policy: Policy | None = None
    """The consumer's setting that decides this rule's risk."""
    mirror: str | None = None
    """The rule for the opposite change."""
    no_mirror: str | None = None
    """Why the opposite change has no rule."""


def _is(fact: Fact, *, in_some: bool | None = None) -> Callable[[Change], bool]:
    return lambda change: change.fact == fact and (in_some is None or change.in_some is in_some)


def _number(before: str, after: str) -> Callable[[Change], bool]:
    return lambda change: change.fact == "kind" and (change.before, change.after) == (before, after)


_CONTAINERS: Final = frozenset({"object", "array"})

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "response-empty", Risk.AVAILABILITY, lambda c: c.fact == "empty" and c.path == ROOT,
        "None, {} or [] at the root where the root said something",
        no_mirror="a response that says something again is what was known",
    ),
    Rule(
        "container-null", Risk.HIGH, lambda c: c.fact == "null" and not c.in_some and c.before in _CONTAINERS,
        "an object or array so far, null now, everywhere",
        mirror="null-refined",
    ),
    Rule(
        "container-changed", Risk.HIGH, lambda c: c.fact in {"container", "encoding"},
        "object, array, map and scalar exchanged, or a container encoded another way",
        mirror="container-changed",
    ),
    Rule(
        "field-removed", Risk.HIGH, _is("missing", in_some=False),
        "always there when its parent was; absent now",
        mirror="field-added",
    ),
    Rule(
        "field-absent-in-some", Risk.INVESTIGATE, _is("missing", in_some=True),
        "always in every element; missing in some now",
        mirror="field-added-in-some",
    ),
    Rule(
        "field-added", Risk.INFO, _is("added", in_some=False),
        "a field never seen here",
        mirror="field-removed",
    ),
    Rule(
        "field-added-in-some", Risk.INVESTIGATE, _is("added", in_some=True),
        "a field never seen here, in only some elements",
        mirror="field-absent-in-some",
    ),
    Rule(
        "number-widened", Risk.QUIET, _number("integer", "number"),
        "only integers so far, a number with a fraction now",
        policy="numeric", mirror="number-narrowed",
    ),
    Rule(
        "number-narrowed", Risk.QUIET, _number("number", "integer"),
        "only numbers with a fraction so far, an integer now",
        policy="numeric", mirror="number-widened",
    ),
    Rule(
        "kind-changed", Risk.HIGH, _is("kind"),
        "a scalar kind never seen here, also when only some elements show it",
        mirror="kind-changed",
    ),
    Rule(
        "null-first-seen", Risk.INVESTIGATE, _is("null"),
        "null where a scalar was so far, or in some elements where anything was",
        policy="null", mirror="null-refined",
    ),
    Rule(
        "null-refined", Risk.INFO, _is("refined"),
        "only null so far, something now",
        mirror="null-first-seen",
    ),
    Rule(
        "elements-learned", Risk.INFO, _is("learned"),
        "only empty so far, members now",
        mirror="emptied",
    ),
    Rule(
        "element-shape-new", Risk.INVESTIGATE, _is("element", in_some=True),
        "a member unlike any before, beside members that fit",
        no_mirror="a kind of member that is not there this time is ordinary",
    ),
    Rule(
        "element-kind-changed", Risk.HIGH, _is("element", in_some=False),
        "every member is of another kind",
        mirror="element-kind-changed",
    ),
    Rule(
        "emptied", Risk.AVAILABILITY, _is("empty"),
        "an array or map is empty that never was, or that has been empty improbably long",
        mirror="elements-learned",
    ),
    Rule(
        "field-vanished", Risk.INVESTIGATE, _is("vanished"),
        "an optional field, away for improbably long",
        no_mirror="a field that returns is known",
    ),
    Rule(
        "value-vanished", Risk.INVESTIGATE, _is("valueless"),
        "a field that is null at times, null for improbably long",
        no_mirror="a value that returns is known",
    ),
    Rule(
        "error-rate", Risk.AVAILABILITY, _is("errors"),
        "errors in a row, or their share of the last 100 calls, improbable under the tool's own rate",
        no_mirror="a tool that answers again is what was known",
    ),
    Rule(
        "contract", Risk.INVESTIGATE, _is("broken"),
        "an assertion of the consumer is false, raised, or gave an awaitable",
        no_mirror="an assertion that holds is no news",
    ),
    Rule(
        "map-learned", Risk.INFO, _is("map"),
        "the keys of an object were found to be data",
        no_mirror="decisions on maps only grow",
    ),
    Rule(
        "truncation-changed", Risk.INFO, _is("truncation"),
        "a part that was looked at in full so far was cut by a limit",
        no_mirror="a part that fits within the limits again is ordinary",
    ),
)  # fmt: skip

RULE_IDS: Final = frozenset(rule.id for rule in RULES)

RATES: Final = frozenset({"field-vanished", "value-vanished", "emptied", "response-empty", "error-rate"})
"""Rules about how often: what they report is within what is known, so its observations are learned."""

LEARNED_ANYWAY: Final = RATES | {"field-added-in-some"}
"""Rules that are news, and whose observations are learned all the same."""

ALWAYS_STANDS: Final = frozenset({"response-empty", "error-rate"})
"""Availability of the whole response: no ``ignore``, ``requires`` or ``opaque`` hides it."""


def classify(change: Change) -> Rule:
    """The rule that names a change."""
    return next(rule for rule in RULES if rule.when(change))
