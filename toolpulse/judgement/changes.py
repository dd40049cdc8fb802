"""Changes: the facts by which a response differs from what is known, before anybody says what they mean.

``diff`` and ``rates`` state them, ``patterns`` explains several at once, ``rules`` names them. Pure values.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from toolpulse._base.paths import Path, format_path

Fact: TypeAlias = Literal[
    "missing",  # a required field is not there
    "added",  # a field never seen
    "kind",  # a scalar kind never seen
    "container",  # object, array and scalar exchanged
    "encoding",  # the root container came another way, say as JSON text
    "null",  # null where it was never seen
    "refined",  # a kind where only null was seen
    "learned",  # members where only empty arrays or maps were seen
    "element",  # members of an array unlike any before
    "empty",  # nothing in a container, or in the response
    "vanished",  # an optional field is away improbably long
    "valueless",  # a nullable value is null improbably long
    "errors",  # errors come improbably often
    "broken",  # an assertion of a consumer does not hold
    "map",  # the keys of an object turned out to be data
    "truncation",  # a limit cut what was seen in full so far
]
"""What is stated about one path. ``rules`` has one row or more for each."""

Pattern: TypeAlias = Literal["renamed", "wrapped", "unwrapped", "single-element-collapsed", "replaced-by-error"]
"""A larger change that explains several facts at once."""

WARM_UP: Final = 10
"""Sightings after which a path of a live baseline is judged; a tool's first observations, and a path's, are learned."""

NEW_SHAPE: Final = "new element shape"
"""What is there now (``after``) where a member is unlike any before, beside members that fit."""


class Change(msgspec.Struct, frozen=True):
    """A fact: one path, what was known there and what is there now."""

    path: Path
    fact: Fact
    before: str
    """A kind, ``missing``, ``empty``, ``non-empty``; of an encoding its name."""
    after: str
    evidence: str
    """The counts behind it, for people: ``412 of 412 before; absent now``."""
    in_some: bool = False
    """In some elements only."""
    learned_from: int = 0
    """How many observations this path was learned from (for presence: its parent)."""
    truncated: bool = False
    """A limit, then or now, left something out here."""
    pattern: Pattern | None = None
    """Which larger change this is part of."""
    counterpart: Path | None = None
    """The path on the other side of the pattern."""
    shown_by: int = 1
    """How many observations showed it when it was stated: of a silence, how long it was."""

    @property
    def where(self) -> str:
        """The path, printed."""
        return format_path(self.path)
