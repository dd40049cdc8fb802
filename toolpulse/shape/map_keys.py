"""Which keys say by their spelling that they are data, so that their object is a map.

Asked by the walk for each new set of keys; pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORD: Final = "record"
DATA_LIKE: Final = "data-like"
"""What may be told of the objects at a path: that they are records; that a map was met there, so that one whose keys
all look like data is one."""

# A key longer than this is no identifier of any form below; it bounds the work of the expressions, each of which
# reads a key a few times at most: no two parts that may repeat and meet can match the same character.
_LONGEST_KEY = 512


_DATA_KEY = re.compile(
    r"""-?[0-9]+
      | \{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?
      | [0-9]{4}-[0-9]{2}(-[0-9]{2})?([T\ ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?
      | [0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?
      | (?=[a-f]*[0-9])[0-9a-f]{12,}
      | [^@\s/]+@[^@\s/][^@\s/.]*\.[^@\s/]+
      | [a-z][a-z0-9+.-]*://\S+""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)


_STEM = re.compile(r"(?P<stem>[A-Za-z][A-Za-z_.:#/-]*)[0-9]{3,}", re.ASCII)


_CODE = re.compile(r"[A-Z]{3}", re.ASCII)


_MANY_KEYS = 3


_FEW_STEMS = 3


def data_keys(names: Sequence[str]) -> bool:
    """Whether the keys of one object say by themselves that they are data.

    All are integers, UUIDs, ISO dates or times, long hex (12 or more characters, at least one digit), e-mails or
    URLs; or there are three or more, all of them one or a few stems followed by three or more digits
    (``user_93117``), or codes of three capitals.
    """
    if not names:
        return False
    if all(_is_data(name) for name in names):
        return True
    if len(names) < _MANY_KEYS:
        return False
    stems = _stems(names)
    return (stems is not None and len(stems) <= _FEW_STEMS) or all(_CODE.fullmatch(name) for name in names)


def data_like(names: Sequence[str]) -> bool:
    """Whether every key alone has the form of data; the weaker test, for an object met beside a map."""
    return bool(names) and all(_is_data(name) or _STEM.fullmatch(name) or _CODE.fullmatch(name) for name in names)


def _is_data(name: str) -> bool:
    return len(name) <= _LONGEST_KEY and _DATA_KEY.fullmatch(name) is not None


def _stems(names: Sequence[str]) -> set[str] | None:
    found = set()
    for name in names:
        match = _STEM.fullmatch(name) if len(name) <= _LONGEST_KEY else None
        if match is None:
            return None
        found.add(match["stem"])
    return found
