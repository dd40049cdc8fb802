"""What differs between two schemas, told of arguments: the comparison of documents, translated.

The facts are those of the comparison; what changes is that a path leads through arguments instead of keywords and that
a fact says which way it goes: more is taken, or less. Nothing that differs is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from toolpulse._base.paths import ITEMS, VALUES, Path, Segment, format_path, parse_path
from toolpulse.documents import compare
from toolpulse.judgement.diff import Change, Fact
from toolpulse.provenance._schemas import NAMED, ONE, SEVERAL, surface

_LOWER: Final = frozenset("minimum exclusiveMinimum minLength minItems minProperties minContains".split())
_UPPER: Final = frozenset("maximum exclusiveMaximum maxLength maxItems maxProperties maxContains".split())
_RESTRICTING: Final = _LOWER | _UPPER | frozenset("const contains enum format multipleOf not pattern type".split())
"""Keywords whose presence takes something away."""

_CONTAINERS: Final = frozenset({"array", "object"})
_BELOW: Final[dict[str, list[Segment]]] = {"items": [ITEMS], "prefixItems": [ITEMS], "additionalProperties": [VALUES]}


class _Says(NamedTuple):
    """What a change means to whoever is on the other side."""

    output: bool
    gone: str
    renamed: str
    needed: str
    optional: str


_INPUT: Final = _Says(
    False,
    "callers still send it",
    "a caller that still sends {} does not send {}",
    "required, and callers do not send it",
    "it may be left out now",
)
_OUTPUT: Final = _Says(
    True, "readers still look for it", "a reader of {} does not find {}", "always there", "it may be missing now"
)


class _Spot(NamedTuple):
    """Where a change of a surface is: the argument, and what of it. Without a keyword it is the argument as a whole."""

    argument: Path
    keyword: str = ""
    member: str = ""


class _Move(NamedTuple):
    spot: _Spot
    change: Change
    old: Any
    new: Any
    """The values on both sides; ``_NOWHERE`` where there is none or the path has no single one."""


_NOWHERE: Final = object()


def schema_changes(one: Any, other: Any, at: Path = (), *, output: bool = False) -> tuple[Change, ...]:
    """What differs between two contracts, with ``at`` in front of every path. Empty if the contracts are equal.

    ``output``: they say what a tool returns and not what it takes.
    """
    old, new = surface(one), surface(other)
    moves = [
        _Move(_spot(change.path), change, _follow(old, change.path), _follow(new, change.path))
        for change in compare(old, new)
    ]
    told: list[Change] = []
    for (argument, keyword), some in groupby(moves, key=lambda move: move.spot[:2]):
        told += _told((*at, *argument), keyword, list(some), _OUTPUT if output else _INPUT)
    return tuple(told)


def words_path(path: Path) -> Path:
    """The argument that a word of a schema is about."""
    return _spot(path[:-1], wrapped=False).argument


def _spot(path: Path, *, wrapped: bool = True) -> _Spot:
    """Read a path of a surface, or not ``wrapped`` of a schema: names of arguments stay, keywords between them go."""
    argument: list[Segment] = []
    rest = list(path)
    while rest:
        word = str(rest.pop(0))
        if word == "properties" and rest:
            argument.append(rest.pop(0))
            if wrapped and rest and rest.pop(0) == "required":
                return _Spot(tuple(argument), "required")
        elif word in NAMED and rest:
            name = rest.pop(0)
            argument += [VALUES] if word == "patternProperties" else [word, name]
            if not rest:
                return _Spot(tuple(argument), word)
        elif word in SEVERAL | ONE and rest:
            argument += _BELOW.get(word, [])
            if word in SEVERAL and _is_number(rest[0]):
                rest.pop(0)
                if not rest:
                    return _Spot(tuple(argument), word)
        else:
            return _Spot(tuple(argument), word, str(rest[0]) if rest else "")
    return _Spot(tuple(argument))


def _is_number(segment: Segment) -> bool:
    """Whether it says which one of several alternatives."""
    return segment is ITEMS or (isinstance(segment, str) and segment.isdecimal())


def _follow(document: Any, path: Path) -> Any:
    for segment in path:
        if not isinstance(document, dict) or segment not in document:
            return _NOWHERE
        document = document[segment]
    return document


def _told(argument: Path, keyword: str, moves: list[_Move], says: _Says) -> Iterator[Change]:
    if keyword in {"type", "enum"} and all(move.spot.member for move in moves):
        yield _members(argument, keyword, moves)
        return
    for move in moves:
        if not keyword:
            yield _argument(argument, move, says)
        elif keyword == "required":
            yield _required(argument, move, says)
        else:
            yield _keyword(argument, keyword, move)


def _argument(path: Path, move: _Move, says: _Says) -> Change:
    """An argument, or a schema, that came or went or is another kind of thing."""
    change = move.change
    if change.fact not in {"missing", "added"}:
        return Change(path, "value", change.before, change.after, change.evidence)
    there = None
    if change.counterpart is not None:
        there = (*path[:-1], _spot(parse_path(change.counterpart)).argument[-1])
    evidence = _evidence(path, move, there, says)
    printed = None if there is None else format_path(there)
    if change.fact == "missing":
        fact = Change(path, "missing", _kind(move.old), "missing", evidence)
    else:
        partly = not says.output and not _needed(move.new)
        fact = Change(path, "added", "missing", _kind(move.new), evidence, partly=partly)
    return msgspec.structs.replace(fact, pattern=change.pattern, counterpart=printed)


def _evidence(path: Path, move: _Move, there: Path | None, says: _Says) -> str:
    if move.change.fact == "missing":
        if there is None:
            return says.gone
        return says.renamed.format(format_path(path[-1:]), format_path(there[-1:]))
    return says.needed if _needed(move.new) else "optional"


def _needed(value: Any) -> bool:
    return isinstance(value, dict) and "required" in value


def _kind(value: Any) -> str:
    """The type of an argument as it is declared."""
    schema = value.get("schema") if isinstance(value, dict) else None
    types = schema.get("type") if isinstance(schema, dict) else None
    return " or ".join(sorted(types)) if isinstance(types, dict) and types else "any"


def _required(path: Path, move: _Move, says: _Says) -> Change:
    path = (*path, move.spot.member) if move.spot.member else path
    if move.change.fact == "added":
        return Change(path, "required", "optional", "required", says.needed)
    return Change(path, "missing", "required", "optional", says.optional, partly=True)


def _members(path: Path, keyword: str, moves: list[_Move]) -> Change:
    """A type or an enum of which members came or went."""
    gone = sorted(move.spot.member for move in moves if move.change.fact == "missing")
    new = sorted(move.spot.member for move in moves if move.change.fact == "added")
    if keyword == "enum":
        counts = [f"{len(some)} {word}" for some, word in ((gone, "gone"), (new, "new")) if some]
        fact: Fact = "narrowed" if gone else "widened"
        return Change(path, fact, "enum", "enum", f"enum: {', '.join(counts)}")
    before, after = " or ".join(gone), " or ".join(new)
    if gone and new:
        fact = "container" if _CONTAINERS & {*gone, *new} else "kind"
        return Change(path, fact, before, after, "the declared type")
    if new == ["null"]:
        return Change(path, "null", "not null", "null", "null is taken too", partly=True)
    if new:
        return Change(path, "widened", "refused", after, "the declared type")
    return Change(path, "narrowed", before, "refused", "the declared type")


def _keyword(path: Path, keyword: str, move: _Move) -> Change:
    change = move.change
    before, after = change.before, change.after
    if keyword in {"type", "enum"} and not move.spot.member:
        before, after = (_members_of(keyword, side) for side in (move.old, move.new))
    return Change(path, _direction(keyword, move), before, after, f"{keyword}: {_said(move)}")


def _members_of(keyword: str, value: Any) -> str:
    if not isinstance(value, dict):
        return "any"
    return keyword if keyword == "enum" else " or ".join(sorted(value))


def _said(move: _Move) -> str:
    return {"missing": "gone", "added": "new"}.get(move.change.fact, "differs")


def _direction(keyword: str, move: _Move) -> Fact:
    """Which way a keyword that restricts went, where its values tell."""
    fact, old, new = move.change.fact, move.old, move.new
    if keyword in {"allOf", "anyOf", "oneOf"} and move.change.path[-1] is ITEMS and fact in {"missing", "added"}:
        return "narrowed" if (fact == "added") == (keyword == "allOf") else "widened"
    if keyword == "additionalProperties":
        # absent and true mean the same
        closed = [side is False for side in (old, new)]
        return "value" if closed[0] == closed[1] else "narrowed" if closed[1] else "widened"
    if move.spot.member or keyword not in _RESTRICTING:
        return "value"
    if fact in {"missing", "added"}:
        return "narrowed" if fact == "added" else "widened"
    if not all(isinstance(side, int | float) and not isinstance(side, bool) for side in (old, new)):
        return "value"
    if keyword in _LOWER:
        return "narrowed" if new > old else "widened"
    return ("narrowed" if new < old else "widened") if keyword in _UPPER else "value"
