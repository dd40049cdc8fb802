"""Paths through a JSON Schema, read as paths through the arguments that it describes.

``properties.q.schema.maximum`` is the argument ``q`` and its keyword ``maximum``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from toolpulse._base.paths import ITEMS, VALUES, Path, Segment
from toolpulse.provenance.schemas.json_schema import NAMED, ONE, SEVERAL

_STEPS: Final[dict[str, list[Segment]]] = {"items": [ITEMS], "prefixItems": [ITEMS], "additionalProperties": [VALUES]}
"""Keywords whose schema describes what is inside an argument, and the step of a path that leads there."""


class SchemaPath(NamedTuple):
    """Where in a schema something is."""

    argument: Path
    """Through the arguments, from the outermost to the innermost."""
    keyword: str = ""
    """Which keyword of the innermost argument; empty where the argument as a whole is meant."""
    member: str = ""
    """Which member of the keyword: an enum value, a type, a required name."""


def of_comparable(path: Path) -> SchemaPath:
    """Read a path through a schema in its comparable form (``json_schema.comparable``)."""
    return _read(path, comparable=True)


def argument_of_word(path: Path) -> Path:
    """The argument that a word of a schema is about, from the path that ``json_schema.words`` gives it."""
    return _read(path[:-1], comparable=False).argument


def _read(path: Path, *, comparable: bool) -> SchemaPath:
    """Names of arguments stay, and the keywords between them go."""
    argument: list[Segment] = []
    rest = list(path)
    while rest:
        word = str(rest.pop(0))
        if word == "properties" and rest:
            argument.append(rest.pop(0))
            if comparable and rest and rest.pop(0) == "required":
                return SchemaPath(tuple(argument), "required")
        elif word in NAMED and rest:
            name = rest.pop(0)
            argument += [VALUES] if word == "patternProperties" else [word, name]
            if not rest:
                return SchemaPath(tuple(argument), word)
        elif word in SEVERAL | ONE and rest:
            argument += _STEPS.get(word, [])
            if word in SEVERAL and _is_number(rest[0]):
                rest.pop(0)
                if not rest:
                    return SchemaPath(tuple(argument), word)
        else:
            return SchemaPath(tuple(argument), word, str(rest[0]) if rest else "")
    return SchemaPath(tuple(argument))


def _is_number(segment: Segment) -> bool:
    """Whether it says which one of several alternatives."""
    return segment is ITEMS or (isinstance(segment, str) and segment.isdecimal())
