"""Profiles as plain data for files: what counts nothing is left out, which is most of it.

Baseline files and stores keep the evidence of shapes that they let go so; all of it is checked on its way back. Pure.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec

from toolpulse.evidence.profile import Profile
from toolpulse.evidence.stats import COUNTED, STORED_NAMES

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Seen: TypeAlias = tuple[_Number, _Number, _Number]

_NEVER: Final = (0, 0, 0)
_NOTHING: Final[tuple[object, ...]] = (_NEVER, 0, None, {}, [])


def sparse(profile: Profile) -> dict[str, Any]:
    """What ``profile.plain`` gives, without what counts nothing."""
    plain = profile.plain()
    return {"encodings": plain["encodings"], "root": _sparse(plain["root"])}


def _sparse(stats: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in stats.items() if value not in _NOTHING}
    if "fields" in kept:
        kept["fields"] = {name: _sparse(field) for name, field in kept["fields"].items()}
    # an array that never had members has a place for them all the same
    return kept | {name: _sparse(stats[name]) for name in ("items", "values") if stats[name] is not None}


def dense(plain: Any) -> Profile:
    """The profile of what ``sparse`` gave.

    Raises ValueError (msgspec's ValidationError is one) where it is nothing that ``sparse`` gives.
    """
    checked = msgspec.convert(plain, _Profile)
    for seen in checked.encodings.values():
        _check(seen)
    _check_stats(checked.root)
    return Profile.from_plain(plain)


def _check_stats(stats: _StoredPathStats) -> None:
    for seen in (*(getattr(stats, name) for name in COUNTED), *stats.kinds.values()):
        _check(seen)
    for below in (*stats.fields.values(), stats.items, stats.values):
        if below is not None:
            _check_stats(below)


def _check(seen: _Seen) -> None:
    count, first, last = seen
    if seen != _NEVER and not (count >= 1 and 1 <= first <= last):
        raise ValueError("evidence of shapes let go: count, first and last do not go together")


class _StoredPathStats(msgspec.Struct, forbid_unknown_fields=True, rename=STORED_NAMES):
    seen: _Seen = _NEVER
    kinds: dict[str, _Seen] = {}
    objects: _Seen = _NEVER
    valued: _Seen = _NEVER
    empty: _Seen = _NEVER
    filled: _Seen = _NEVER
    truncated: _Seen = _NEVER
    always: _Seen = _NEVER
    in_some: _Seen = _NEVER
    last_absent: _Number = 0
    last_complete: _Number = 0
    fields: dict[str, _StoredPathStats] = {}
    items: _StoredPathStats | None = None
    values: _StoredPathStats | None = None
    pairs: list[tuple[str, str]] = []


class _Profile(msgspec.Struct, forbid_unknown_fields=True):
    encodings: dict[str, _Seen]
    root: _StoredPathStats
