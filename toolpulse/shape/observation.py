"""What a walk gives, and how far it goes: limits, truncations, observations."""

from __future__ import annotations

from typing import Final

import msgspec

from toolpulse.errors import ConfigurationError
from toolpulse.shape.nodes import Shape
from toolpulse.shape.text import MOST

# The walk, the folds and the diff recurse once or twice a level; this stays far below Python's own limit.
_DEEPEST = 100


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a response is looked at. Work is bounded by these, not by the response.

    Raises ConfigurationError naming the limit that is not a positive whole number.
    """

    elements: int = 100
    """Elements looked at in an array, or values in a map."""
    shapes: int = 20
    """Distinct element shapes kept of an array (or values of a map)."""
    depth: int = 32
    """Levels of containers, the root's included."""
    fields: int = 256
    """Fields of a record; an object of more keys is a map."""
    name: int = 256
    """Characters of a field name; a longer one is replaced by a digest."""
    nodes: int = 20_000
    """Fields and elements in a whole response. A record's own fields are always listed.

    What they do not count (shapes that differ, long names, containers to enter) is counted beside them as work, of
    which a response has as much as nodes, and 20,000 at least; see ``docs/fingerprint.md``."""
    text: int = MOST
    """Characters of JSON text that are decoded in a whole response; text beyond it is not looked at."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigurationError(f"limits.{name} must be a whole number of at least 1, not {value!r}")
        if self.depth > _DEEPEST:
            raise ConfigurationError(f"limits.depth must be at most {_DEEPEST}, not {self.depth}")


DEFAULT_LIMITS: Final = Limits()


class Truncation(msgspec.Struct, frozen=True, order=True):
    """Where the walk stopped short. Never part of a fingerprint, always shown."""

    path: str
    limit: str
    """Which limit: ``elements``, ``shapes``, ``depth``, ``fields``, ``name``, ``nodes``, ``work``, ``text``;
    ``cycle``; or ``unreadable`` where a reader given to ``register`` failed, or keys or classes that cannot be hashed
    or compared."""
    seen: int
    """How many elements, fields or shapes, or characters of text, were looked at."""
    total: int
    """How many there are."""

    def __str__(self) -> str:
        if self.limit == "cycle":
            return f"{self.path}: refers to itself"
        if self.limit == "depth":
            return f"{self.path}: deeper than the limit"
        if self.limit == "name":
            return f"{self.path}: a field name is longer than the limit"
        if self.limit == "unreadable":
            return f"{self.path}: reading it failed"
        return f"{self.path}: {self.seen:,} of {self.total:,} {_WHAT.get(self.limit, 'fields')} seen"


_WHAT: Final = {
    "elements": "elements",
    "nodes": "elements",
    "work": "parts",
    "shapes": "element shapes",
    "text": "characters of text",
}


class Observation(msgspec.Struct, frozen=True):
    """One response, reduced: no value of it is kept."""

    shape: Shape
    truncations: tuple[Truncation, ...] = ()
    encoding: str = "native"
    outcome: str = "ok"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the shape's normal form, 64 hex digits."""
        return self.shape.fingerprint
