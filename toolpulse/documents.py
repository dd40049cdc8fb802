"""The typed comparison of two plain JSON documents: facts by path, as the diff of responses states them.

For what an agent was given (specs, schemas, manifests), where a single document stands on each side and every value
counts. No judgement is made here, and no value is told unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import canonical_utf8, plain
from toolpulse._base.paths import ITEMS, ROOT, Path, format_path
from toolpulse.judgement.diff import Change, Fact

_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_CONTAINERS: Final = frozenset({"object", "array"})
_RENAMED: Final = "renamed"


def kind(value: object) -> str:
    """The kind of a plain value: ``null boolean integer number string object array``."""
    return _KINDS.get(type(value), "null")


def compare(one: object, other: object, *, values: bool = False) -> tuple[Change, ...]:
    """What differs between two documents, in the order of their sorted keys; empty exactly if their digests are equal.

    ``before`` and ``after`` are kinds, or ``missing``; of two values of one kind (the fact is ``value``) both say that
    kind. With ``values`` they are the values as JSON. Only the outermost path of an added or removed part is told. Of
    arrays the equal beginning and end are passed over, and evidence says which element it is. A field that is gone
    beside the one new field of the same value is ``renamed``. Raises CanonicalError where a side is no JSON document.
    """
    return tuple(_compared(plain(one), plain(other), ROOT, "", values))


def _compared(one: Any, other: Any, path: Path, place: str, values: bool) -> Iterator[Change]:
    before, after = kind(one), kind(other)
    if before == after == "object":
        yield from _fields(one, other, path, place, values)
    elif before == after == "array":
        yield from _elements(one, other, path, place, values)
    elif before != after or one != other:
        evidence = "the value differs" if before == after else "the kind differs"
        shown = (_text(one), _text(other)) if values else (before, after)
        yield Change(path, _fact(before, after), *shown, evidence + place)


def _fact(before: str, after: str) -> Fact:
    if before == after:
        return "value"
    if after == "null":
        return "null"
    if before == "null":
        return "refined"
    return "container" if _CONTAINERS & {before, after} else "kind"


def _fields(one: Mapping[str, Any], other: Mapping[str, Any], path: Path, place: str, values: bool) -> Iterator[Change]:
    renamed = renames(
        {name: one[name] for name in one.keys() - other.keys()},
        {name: other[name] for name in other.keys() - one.keys()},
    )
    back = {new: old for old, new in renamed.items()}
    for name in sorted(one.keys() | other.keys()):
        at = (*path, name)
        if name not in other:
            yield _side(at, one[name], "missing", _there(path, renamed.get(name)), place, values)
        elif name not in one:
            yield _side(at, other[name], "added", _there(path, back.get(name)), place, values)
        else:
            yield from _compared(one[name], other[name], at, place, values)


def renames(gone: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    """Old name to new name, where one gone and one new field have the same value and neither has a rival."""
    old_by, new_by = _by_value(gone), _by_value(new)
    return {
        names[0]: new_by[value][0]
        for value, names in old_by.items()
        if len(names) == 1 and len(new_by.get(value, ())) == 1
    }


def _by_value(fields: Mapping[str, object]) -> dict[bytes, list[str]]:
    found: dict[bytes, list[str]] = {}
    for name, value in fields.items():
        found.setdefault(canonical_utf8(value), []).append(name)
    return found


def _there(path: Path, name: str | None) -> Path | None:
    return None if name is None else (*path, name)


def _side(path: Path, value: object, fact: Fact, counterpart: Path | None, place: str, values: bool) -> Change:
    shown = _text(value) if values else kind(value)
    before, after = (shown, "missing") if fact == "missing" else ("missing", shown)
    evidence = "in the first document only" if fact == "missing" else "in the second document only"
    change = Change(path, fact, before, after, evidence + place)
    if counterpart is None:
        return change
    return msgspec.structs.replace(change, pattern=_RENAMED, counterpart=format_path(counterpart))


def _elements(one: Sequence[Any], other: Sequence[Any], path: Path, place: str, values: bool) -> Iterator[Change]:
    old, new = [canonical_utf8(value) for value in one], [canonical_utf8(value) for value in other]
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    olds, news = one[start : len(one) - end], other[start : len(other) - end]
    at = (*path, ITEMS)
    for index in range(max(len(olds), len(news))):
        number = start + index + 1
        if index >= len(news):
            yield _side(at, olds[index], "missing", None, _nth(place, number, len(one)), values)
        elif index >= len(olds):
            yield _side(at, news[index], "added", None, _nth(place, number, len(other)), values)
        else:
            yield from _compared(olds[index], news[index], at, _nth(place, number, len(one)), values)


def _shared(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def _nth(place: str, number: int, total: int) -> str:
    return f"{place}, element {number} of {total}"


def _text(value: object) -> str:
    return canonical_utf8(value).decode("utf-8")
