"""Which way a schema went where one of its keywords differs: does it allow less now, or more?"""

from __future__ import annotations

from typing import Any, Final

from toolpulse._base.paths import ITEMS
from toolpulse.provenance.comparison.difference import Difference, Fact
from toolpulse.provenance.schemas.argument_paths import SchemaPath

NOT_THERE: Final = object()
"""Stands for a value that one side does not have."""

_LOWER: Final = frozenset("minimum exclusiveMinimum minLength minItems minProperties minContains".split())
"""Lower bounds: a greater one allows less."""
_UPPER: Final = frozenset("maximum exclusiveMaximum maxLength maxItems maxProperties maxContains".split())
"""Upper bounds: a greater one allows more."""
_RESTRICTING: Final = _LOWER | _UPPER | frozenset("const contains enum format multipleOf not pattern type".split())
"""Keywords whose presence takes something away (JSON Schema validation, 2020-12)."""


def direction(where: SchemaPath, difference: Difference, old: Any, new: Any) -> Fact:
    """``narrowed`` or ``widened``, or ``value`` where the values ``old`` and ``new`` do not show which."""
    keyword, fact = where.keyword, difference.fact
    came_or_went = fact in {"missing", "added"}
    if keyword in {"allOf", "anyOf", "oneOf"} and difference.path[-1] is ITEMS and came_or_went:
        # one more part of allOf has to be met; one more of anyOf may be
        return "narrowed" if (fact == "added") == (keyword == "allOf") else "widened"
    if keyword == "additionalProperties":
        # absent and true mean the same
        closed = [side is False for side in (old, new)]
        return "value" if closed[0] == closed[1] else "narrowed" if closed[1] else "widened"
    if where.member or keyword not in _RESTRICTING:
        return "value"
    if came_or_went:
        return "narrowed" if fact == "added" else "widened"
    return _of_bounds(keyword, old, new)


def _of_bounds(keyword: str, old: Any, new: Any) -> Fact:
    if not all(isinstance(side, int | float) and not isinstance(side, bool) for side in (old, new)):
        return "value"
    if keyword in _LOWER:
        return "narrowed" if new > old else "widened"
    if keyword in _UPPER:
        return "narrowed" if new < old else "widened"
    return "value"
