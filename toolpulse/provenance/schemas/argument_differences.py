"""What differs between two schemas, by argument: a comparison of documents, translated.

The differences are those of the comparison. What changes is that a path leads through arguments instead of keywords,
and that a fact says which way it goes: more is allowed, or less. No difference is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from toolpulse._base.paths import Path, format_path, parse_path
from toolpulse.provenance.comparison.difference import Difference, Fact
from toolpulse.provenance.comparison.documents import compare
from toolpulse.provenance.schemas.argument_paths import SchemaPath, of_comparable
from toolpulse.provenance.schemas.directions import NOT_THERE, direction
from toolpulse.provenance.schemas.json_schema import comparable

_CONTAINERS: Final = frozenset({"array", "object"})


class _Wording(NamedTuple):
    """What a difference means to whoever is on the other side of the schema."""

    is_output: bool
    gone: str
    renamed: str
    required: str
    optional: str


_OF_ARGUMENTS: Final = _Wording(
    is_output=False,
    gone="callers still send it",
    renamed="a caller that still sends {} does not send {}",
    required="required, and callers do not send it",
    optional="it may be left out now",
)
_OF_OUTPUT: Final = _Wording(
    is_output=True,
    gone="readers still look for it",
    renamed="a reader of {} does not find {}",
    required="always there",
    optional="it may be missing now",
)


class _SchemaDifference(NamedTuple):
    """A difference between two schemas in comparable form, with what it is about."""

    where: SchemaPath
    difference: Difference
    old: Any
    new: Any
    """The values on both sides; NOT_THERE where there is none or the path leads to several."""


def schema_differences(one: Any, other: Any, at: Path = (), *, output: bool = False) -> tuple[Difference, ...]:
    """What differs between two contracts (``json_schema.contract``), with ``at`` in front of every path.

    Empty exactly if the contracts are equal, but for parts that mean nothing. ``output`` says that the schemas describe
    what a tool returns, not what it takes.
    """
    old, new = comparable(one), comparable(other)
    all_of_them = [
        _SchemaDifference(of_comparable(d.path), d, _value_at(old, d.path), _value_at(new, d.path))
        for d in compare(old, new)
    ]
    wording = _OF_OUTPUT if output else _OF_ARGUMENTS
    described: list[Difference] = []
    for (argument, keyword), some in groupby(all_of_them, key=lambda one: one.where[:2]):
        described += _described((*at, *argument), keyword, list(some), wording)
    return tuple(described)


def _value_at(document: Any, path: Path) -> Any:
    for segment in path:
        if not isinstance(document, dict) or segment not in document:
            return NOT_THERE
        document = document[segment]
    return document


def _described(
    argument: Path, keyword: str, differences: list[_SchemaDifference], wording: _Wording
) -> Iterator[Difference]:
    if keyword in {"type", "enum"} and all(one.where.member for one in differences):
        yield _of_members(argument, keyword, differences)
        return
    for one in differences:
        if not keyword:
            yield _of_argument(argument, one, wording)
        elif keyword == "required":
            yield _of_required(argument, one, wording)
        else:
            yield _of_keyword(argument, keyword, one)


def _of_argument(path: Path, one: _SchemaDifference, wording: _Wording) -> Difference:
    """An argument, or a schema, that came or went or is another kind of thing."""
    change = one.difference
    if change.fact not in {"missing", "added"}:
        return Difference(path, "value", change.before, change.after, change.evidence)
    counterpart = None
    if change.counterpart is not None:
        counterpart = (*path[:-1], of_comparable(parse_path(change.counterpart)).argument[-1])
    evidence = _evidence(path, one, counterpart, wording)
    printed = None if counterpart is None else format_path(counterpart)
    if change.fact == "missing":
        described = Difference(path, "missing", _declared_type(one.old), "missing", evidence)
    else:
        partly = not wording.is_output and not _is_required(one.new)
        described = Difference(path, "added", "missing", _declared_type(one.new), evidence, partly=partly)
    return msgspec.structs.replace(described, pattern=change.pattern, counterpart=printed)


def _evidence(path: Path, one: _SchemaDifference, counterpart: Path | None, wording: _Wording) -> str:
    if one.difference.fact == "missing":
        if counterpart is None:
            return wording.gone
        return wording.renamed.format(format_path(path[-1:]), format_path(counterpart[-1:]))
    return wording.required if _is_required(one.new) else "optional"


def _is_required(argument: Any) -> bool:
    return isinstance(argument, dict) and "required" in argument


def _declared_type(argument: Any) -> str:
    """The type of an argument as it is declared; ``any`` where it declares none."""
    schema = argument.get("schema") if isinstance(argument, dict) else None
    types = schema.get("type") if isinstance(schema, dict) else None
    return " or ".join(sorted(types)) if isinstance(types, dict) and types else "any"


def _of_required(path: Path, one: _SchemaDifference, wording: _Wording) -> Difference:
    path = (*path, one.where.member) if one.where.member else path
    if one.difference.fact == "added":
        return Difference(path, "required", "optional", "required", wording.required)
    return Difference(path, "missing", "required", "optional", wording.optional, partly=True)


def _of_members(path: Path, keyword: str, differences: list[_SchemaDifference]) -> Difference:
    """A ``type`` or an ``enum`` of which members came or went."""
    gone = sorted(one.where.member for one in differences if one.difference.fact == "missing")
    new = sorted(one.where.member for one in differences if one.difference.fact == "added")
    if keyword == "enum":
        counts = [f"{len(some)} {word}" for some, word in ((gone, "gone"), (new, "new")) if some]
        narrowed: Fact = "narrowed" if gone else "widened"
        return Difference(path, narrowed, "enum", "enum", f"enum: {', '.join(counts)}")
    before, after = " or ".join(gone), " or ".join(new)
    if gone and new:
        exchanged: Fact = "container" if _CONTAINERS & {*gone, *new} else "kind"
        return Difference(path, exchanged, before, after, "the declared type")
    if new == ["null"]:
        return Difference(path, "null", "not null", "null", "null is taken too", partly=True)
    if new:
        return Difference(path, "widened", "refused", after, "the declared type")
    return Difference(path, "narrowed", before, "refused", "the declared type")


def _of_keyword(path: Path, keyword: str, one: _SchemaDifference) -> Difference:
    before, after = one.difference.before, one.difference.after
    if keyword in {"type", "enum"} and not one.where.member:
        before, after = (_members_in_words(keyword, side) for side in (one.old, one.new))
    fact = direction(one.where, one.difference, one.old, one.new)
    verb = {"missing": "gone", "added": "new"}.get(one.difference.fact, "differs")
    return Difference(path, fact, before, after, f"{keyword}: {verb}")


def _members_in_words(keyword: str, value: Any) -> str:
    if not isinstance(value, dict):
        return "any"
    return keyword if keyword == "enum" else " or ".join(sorted(value))
