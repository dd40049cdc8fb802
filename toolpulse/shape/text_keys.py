"""Whether all keys of a dict are plain text, told in one step where the interpreter knows.

To look a key up is to hash and to compare it, which a key that is no plain text does by code of its own. CPython keeps
a dict of nothing but plain text in a smaller table, as it looks such keys up by their characters alone; so its size
tells. Where that is not so, or a dict is larger than any record, its keys are looked at one by one.
"""

from __future__ import annotations

from typing import Any, Final

size_of: Final = dict.__sizeof__
"""Of a ``dict`` itself; asks nothing of its keys and values."""

_MOST_KEYS: Final = 341
"""As many as the table for 256 fields, the usual limit of a record, has room for."""


class _Text(str):
    __slots__ = ()


def _sizes() -> frozenset[int]:
    """The sizes of dicts of plain text that no dict with another key has; nothing where the tables are alike."""
    plain, other = set(), set()
    text: dict[str, None] = {}
    for count in range(2 * _MOST_KEYS):
        for key in (_Text(count), count):
            mixed: dict[Any, None] = {key: None}
            mixed.update(text)
            other.add(size_of(mixed))
        text[f"a{count}"] = None
        if count < _MOST_KEYS:
            plain.add(size_of(text))
    return frozenset(plain - other)


TEXT_KEYED: Final = _sizes()
"""A dict of one of these sizes has no key but plain text."""


def has_text_keys(value: dict[Any, Any]) -> bool:
    """Whether all keys of a dict are plain text."""
    # a copy of the keys: somebody else may write to it meanwhile
    return size_of(value) in TEXT_KEYED or all(type(key) is str for key in tuple(value))
