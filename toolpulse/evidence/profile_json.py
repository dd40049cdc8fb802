"""Profiles as plain data for files: what counts nothing is left out, which is most of it; all of it is checked on its
way back.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec

from toolpulse.evidence.profile import Profile

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_Seen: TypeAlias = tuple[_Number, _Number, _Number]

_NEVER: Final = (0, 0, 0)
_NOTHING: Final[tuple[object, ...]] = (_NEVER, 0, None, {}, [])


def sparse(profile: Profile) -> dict[str, Any]:
    """What ``profile.plain`` gives, without what counts nothing."""
    plain = profile.plain()
    return {"encodings": plain["encodings"], "root": _sparse(plain["root"])}


def _sparse(place: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in place.items() if value not in _NOTHING}
    if "fields" in kept:
        kept["fields"] = {name: _sparse(field) for name, field in kept["fields"].items()}
    # an array that never had members has a place for them all the same
    return kept | {name: _sparse(place[name]) for name in ("items", "values") if place[name] is not None}


def dense(plain: Any) -> Profile:
    """The profile of what ``sparse`` gave.

    Raises ValueError (msgspec's ValidationError is one) where it is nothing that ``sparse`` gives.
    """
    checked = msgspec.convert(plain, _Profile)
    for seen in checked.encodings.values():
        _check(seen)
    _check_place(checked.root)
    return Profile.from_plain(plain)


def _check_place(place: _StoredPathStats) -> None:
    counted = (
        place.seen,
        place.objects,
        place.valued,
        place.empty,
        place.filled,
        place.cut,
        place.always,
        place.partly,
    )
    for seen in (*counted, *place.kinds.values()):
        _check(seen)
    for below in (*place.fields.values(), place.items, place.values):
        if below is not None:
            _check_place(below)


def _check(seen: _Seen) -> None:
    count, first, last = seen
    if seen != _NEVER and not (count >= 1 and 1 <= first <= last):
        raise ValueError("evidence of shapes let go: count, first and last do not go together")


class _StoredPathStats(msgspec.Struct, forbid_unknown_fields=True):
    seen: _Seen = _NEVER
    kinds: dict[str, _Seen] = {}
    objects: _Seen = _NEVER
    valued: _Seen = _NEVER
    empty: _Seen = _NEVER
    filled: _Seen = _NEVER
    cut: _Seen = _NEVER
    always: _Seen = _NEVER
    partly: _Seen = _NEVER
    lacking: _Number = 0
    whole: _Number = 0
    fields: dict[str, _StoredPathStats] = {}
    items: _StoredPathStats | None = None
    values: _StoredPathStats | None = None
    pairs: list[tuple[str, str]] = []


class _Profile(msgspec.Struct, forbid_unknown_fields=True):
    encodings: dict[str, _Seen]
    root: _StoredPathStats
