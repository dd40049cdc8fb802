"""The typed comparison of two plain JSON documents.

It is for what an agent was given (prompt specs, tool schemas, manifests), where each side is a single document and
every value counts. Nothing is judged here, and no value is shown unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import canonical_utf8, plain
from toolpulse._base.paths import ITEMS, ROOT, Path, format_path
from toolpulse.provenance.comparison.difference import Difference, Fact

_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_CONTAINERS: Final = frozenset({"object", "array"})
_RENAMED: Final = "renamed"


def kind(value: object) -> str:
    """The kind of a plain value: ``null boolean integer number string object array``."""
    return _KINDS.get(type(value), "null")


def compare(one: object, other: object, *, values: bool = False) -> tuple[Difference, ...]:
    """What differs between two documents, in the order of their sorted keys; empty exactly if their digests are equal.

    ``before`` and ``after`` are kinds, or ``missing``; where the fact is ``value``, both are the kind that the two
    values share. With ``values`` they are the values themselves, as JSON. Of a part that one side lacks, only its
    outermost path is given. Arrays are compared without their equal beginning and end, and the evidence says which
    element differs. A field that is gone, and one new field with the same value, are ``renamed``.

    Raises CanonicalError where a side is no JSON document.

    >>> [(one.where, one.fact, one.after) for one in compare({"top_k": 1}, {"top_k": "1", "n": 2})]
    [('n', 'added', 'integer'), ('top_k', 'kind', 'string')]
    """
    return tuple(_compared(plain(one), plain(other), ROOT, "", values))


def _compared(one: Any, other: Any, path: Path, element: str, values: bool) -> Iterator[Difference]:
    """``element`` is what evidence says of the array element that is being compared, or empty outside arrays."""
    before, after = kind(one), kind(other)
    if before == after == "object":
        yield from _fields(one, other, path, element, values)
    elif before == after == "array":
        yield from _elements(one, other, path, element, values)
    elif before != after or one != other:
        evidence = "the value differs" if before == after else "the kind differs"
        shown = (_text(one), _text(other)) if values else (before, after)
        yield Difference(path, _fact(before, after), *shown, evidence + element)


def _fact(before: str, after: str) -> Fact:
    if before == after:
        return "value"
    if after == "null":
        return "null"
    if before == "null":
        return "refined"
    return "container" if _CONTAINERS & {before, after} else "kind"


def _fields(
    one: Mapping[str, Any], other: Mapping[str, Any], path: Path, element: str, values: bool
) -> Iterator[Difference]:
    new_names = renames(
        {name: one[name] for name in one.keys() - other.keys()},
        {name: other[name] for name in other.keys() - one.keys()},
    )
    old_names = {new: old for old, new in new_names.items()}
    for name in sorted(one.keys() | other.keys()):
        at = (*path, name)
        if name not in other:
            yield _one_sided(at, one[name], "missing", _sibling(path, new_names.get(name)), element, values)
        elif name not in one:
            yield _one_sided(at, other[name], "added", _sibling(path, old_names.get(name)), element, values)
        else:
            yield from _compared(one[name], other[name], at, element, values)


def renames(gone: Mapping[str, object], new: Mapping[str, object]) -> dict[str, str]:
    """Old name to new name, where one gone and one new field have the same value and no other field has it."""
    old_names, new_names = _names_by_value(gone), _names_by_value(new)
    return {
        names[0]: new_names[value][0]
        for value, names in old_names.items()
        if len(names) == 1 and len(new_names.get(value, ())) == 1
    }


def _names_by_value(fields: Mapping[str, object]) -> dict[bytes, list[str]]:
    names: dict[bytes, list[str]] = {}
    for name, value in fields.items():
        names.setdefault(canonical_utf8(value), []).append(name)
    return names


def _sibling(path: Path, name: str | None) -> Path | None:
    return None if name is None else (*path, name)


def _one_sided(
    path: Path, value: object, fact: Fact, counterpart: Path | None, element: str, values: bool
) -> Difference:
    shown = _text(value) if values else kind(value)
    before, after = (shown, "missing") if fact == "missing" else ("missing", shown)
    evidence = "in the first document only" if fact == "missing" else "in the second document only"
    difference = Difference(path, fact, before, after, evidence + element)
    if counterpart is None:
        return difference
    return msgspec.structs.replace(difference, pattern=_RENAMED, counterpart=format_path(counterpart))


def _elements(one: Sequence[Any], other: Sequence[Any], path: Path, element: str, values: bool) -> Iterator[Difference]:
    old, new = [canonical_utf8(value) for value in one], [canonical_utf8(value) for value in other]
    start = _common_length(old, new)
    end = _common_length(old[start:][::-1], new[start:][::-1])
    olds, news = one[start : len(one) - end], other[start : len(other) - end]
    at = (*path, ITEMS)
    for index in range(max(len(olds), len(news))):
        number = start + index + 1
        if index >= len(news):
            yield _one_sided(at, olds[index], "missing", None, _nth(element, number, len(one)), values)
        elif index >= len(olds):
            yield _one_sided(at, news[index], "added", None, _nth(element, number, len(other)), values)
        else:
            yield from _compared(olds[index], news[index], at, _nth(element, number, len(one)), values)


def _common_length(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """How many elements at the beginning are equal."""
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def _nth(element: str, number: int, total: int) -> str:
    return f"{element}, element {number} of {total}"


def _text(value: object) -> str:
    return canonical_utf8(value).decode("utf-8")
