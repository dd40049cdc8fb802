"""What a difference between two versions of a tool's definition means: one table of rules.

A schema for *arguments* is met by callers who know the old one, so the question is backward compatibility: new reader,
old writer. A schema for the *output* is met by readers who know the old one, so it is judged as responses are: new
writer, old reader. Each row has a risk for either.

The rules that responses have too bear the same ids and, to readers, the same risks as in ``toolpulse.judgement.rules``;
a test holds the two tables together. A new rule is one row here, a case in its test, and a line in
``docs/provenance.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from toolpulse.judgement.rules import Risk
from toolpulse.provenance.comparison.difference import Difference


class SchemaRule(msgspec.Struct, frozen=True):
    """A row of the table: when it applies, and what it means. The ``id`` is public and never changes."""

    id: str
    when: Callable[[Difference], bool]
    says: str
    to_callers: Risk
    """The risk of such a difference in the arguments that a tool takes."""
    to_readers: Risk
    """The risk of such a difference in the output that a tool declares."""
    mirror: str
    """The rule for the opposite difference."""


def _is(fact: str, *, partly: bool | None = None) -> Callable[[Difference], bool]:
    return lambda one: one.fact == fact and (partly is None or one.partly is partly)


def _number(before: str, after: str) -> Callable[[Difference], bool]:
    return lambda one: one.fact == "kind" and (one.before, one.after) == (before, after)


_CONTAINERS: Final = frozenset({"object", "array"})

RULES: Final[tuple[SchemaRule, ...]] = (
    SchemaRule("container-null", lambda one: one.fact == "null" and not one.partly and one.before in _CONTAINERS,
               "an object or array so far, null now",
               to_callers=Risk.HIGH, to_readers=Risk.HIGH, mirror="null-refined"),
    SchemaRule("container-changed", _is("container"), "an object or array exchanged for another kind",
               to_callers=Risk.HIGH, to_readers=Risk.HIGH, mirror="container-changed"),
    SchemaRule("field-removed", _is("missing", partly=False),
               "an argument, a field of the output, or a tool that is gone",
               to_callers=Risk.HIGH, to_readers=Risk.HIGH, mirror="field-added"),
    SchemaRule("field-absent-in-some", _is("missing", partly=True), "required so far, optional now",
               to_callers=Risk.INFO, to_readers=Risk.INVESTIGATE, mirror="field-added-in-some"),
    SchemaRule("field-added", _is("added", partly=False),
               "a new argument that is required, or a new field of the output",
               to_callers=Risk.HIGH, to_readers=Risk.INFO, mirror="field-removed"),
    SchemaRule("field-added-in-some", _is("added", partly=True), "a new argument that is optional, or a new tool",
               to_callers=Risk.INFO, to_readers=Risk.INVESTIGATE, mirror="field-absent-in-some"),
    SchemaRule("number-widened", _number("integer", "number"), "an integer so far, any number now",
               to_callers=Risk.INFO, to_readers=Risk.QUIET, mirror="number-narrowed"),
    SchemaRule("number-narrowed", _number("number", "integer"), "any number so far, an integer now",
               to_callers=Risk.HIGH, to_readers=Risk.QUIET, mirror="number-widened"),
    SchemaRule("kind-changed", _is("kind"), "a scalar kind exchanged for another",
               to_callers=Risk.HIGH, to_readers=Risk.HIGH, mirror="kind-changed"),
    SchemaRule("null-first-seen", _is("null"), "null is allowed now",
               to_callers=Risk.INFO, to_readers=Risk.INVESTIGATE, mirror="null-refined"),
    SchemaRule("null-refined", _is("refined"), "only null so far, something now",
               to_callers=Risk.HIGH, to_readers=Risk.INFO, mirror="null-first-seen"),
    SchemaRule("schema-required", _is("required"), "declared optional so far, required now",
               to_callers=Risk.HIGH, to_readers=Risk.QUIET, mirror="field-absent-in-some"),
    SchemaRule("schema-narrowed", _is("narrowed"),
               "less is allowed: a kind, an enum value, a range, fields that are not declared",
               to_callers=Risk.HIGH, to_readers=Risk.QUIET, mirror="schema-widened"),
    SchemaRule("schema-widened", _is("widened"), "more is allowed",
               to_callers=Risk.INFO, to_readers=Risk.INVESTIGATE, mirror="schema-narrowed"),
    SchemaRule("schema-changed", _is("value"), "another part differs, and it does not say which way",
               to_callers=Risk.INVESTIGATE, to_readers=Risk.INVESTIGATE, mirror="schema-changed"),
    SchemaRule("description-changed", _is("text"),
               "the words that the model reads, or hints to the client; what is allowed stays",
               to_callers=Risk.INVESTIGATE, to_readers=Risk.INVESTIGATE, mirror="description-changed"),
    SchemaRule("tools-reordered", _is("order"), "the same tools in another order",
               to_callers=Risk.INFO, to_readers=Risk.INFO, mirror="tools-reordered"),
)  # fmt: skip
"""The first row that fits a difference names it."""


def classify(difference: Difference) -> SchemaRule:
    """The rule that names a difference. Every fact has one."""
    return next(rule for rule in RULES if rule.when(difference))
