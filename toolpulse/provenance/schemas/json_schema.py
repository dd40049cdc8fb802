"""A JSON Schema taken apart: what is accepted (the contract) and what is said about it (the words).

Words are ``title``, ``description``, ``examples`` and ``$comment`` where they annotate a schema; a property that is
called ``description`` is none. Which keywords hold schemas is from JSON Schema 2020-12 and, for older ones, draft 7.
``$ref`` is compared as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from toolpulse._base.canonical import canonical_utf8
from toolpulse._base.paths import Path

WORDS: Final = frozenset({"title", "description", "examples", "$comment"})

ONE: Final = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties".split()
)
"""Keywords whose value is one schema."""
SEVERAL: Final = frozenset("allOf anyOf items oneOf prefixItems".split())
"""Keywords whose value is a list of schemas. ``items`` may be either; it was a list up to draft 7."""
NAMED: Final = frozenset("$defs definitions dependencies dependentSchemas patternProperties properties".split())
"""Keywords whose value is an object of schemas by name."""

_EXACT: Final = 2**53
"""Up to here every integer is a float of its own (IEEE 754 double precision)."""


def whole_numbers(value: Any) -> Any:
    """A copy of plain JSON with floats that are whole, within 2**53, as integers: to JSON Schema they are one.

    A proxy in JavaScript rewrites ``1.0`` as ``1``, so a fingerprint must not depend on it.
    """
    if isinstance(value, dict):
        return {name: whole_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [whole_numbers(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    return value


def contract(schema: Any) -> Any:
    """A schema reduced to what it accepts: a copy without its words, in which equal meanings are written alike.

    ``required``, ``enum`` and ``type`` are sorted as the sets they are, an empty ``required`` is left out, a list of
    one type is that type, and whole floats are integers.

    >>> contract({"type": ["string"], "title": "Query", "enum": ["b", "a"]})
    {'type': 'string', 'enum': ['a', 'b']}
    """
    return _contract(whole_numbers(schema))


def _contract(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    reduced = {word: _inner_schemas(word, value, _contract) for word, value in schema.items() if word not in WORDS}
    for word in ("required", "enum", "type"):
        if isinstance(reduced.get(word), list):
            reduced[word] = [value for _, value in sorted({canonical_utf8(v): v for v in reduced[word]}.items())]
    if reduced.get("required") == []:
        del reduced["required"]
    if isinstance(reduced.get("type"), list) and len(reduced["type"]) == 1:
        reduced["type"] = reduced["type"][0]
    return reduced


def _inner_schemas(word: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of a keyword with the schemas in it changed; what is no schema is data and stays."""
    if word in NAMED and isinstance(value, dict):
        return {name: change(inner) for name, inner in value.items()}
    if word in SEVERAL and isinstance(value, list):
        return [change(inner) for inner in value]
    return change(value) if word in ONE else value


def words(schema: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every word of a schema, as ``(path, its value)``, with ``at`` in front of each path.

    Steps of a path are keywords, names of properties, and the numbers of alternatives as text.
    """
    if not isinstance(schema, dict):
        return
    for word, value in schema.items():
        here = (*at, word)
        if word in WORDS:
            yield here, value
        elif word in NAMED and isinstance(value, dict):
            for name, inner in value.items():
                yield from words(inner, (*here, name))
        elif word in SEVERAL and isinstance(value, list):
            for number, inner in enumerate(value):
                yield from words(inner, (*here, str(number)))
        elif word in ONE:
            yield from words(value, here)


def comparable(schema: Any) -> Any:
    """A contract rearranged so that comparing two of them gives differences by argument. Nothing is lost.

    Each of the ``properties`` becomes ``{"schema": ..., "required": true}``, the latter only where it is required.
    ``enum``, ``type`` and names that are required without being declared become objects with a field for each member.
    """
    if not isinstance(schema, dict):
        return schema
    required = schema.get("required")
    names = required if isinstance(required, list) and all(isinstance(name, str) for name in required) else []
    rearranged = {word: _comparable_value(schema, word, names) for word in schema}
    rearranged.setdefault("required", {})
    return rearranged


def _comparable_value(schema: dict[str, Any], word: str, required: list[str]) -> Any:
    value, declared = schema[word], schema.get("properties")
    if word == "properties" and isinstance(value, dict):
        return {
            name: {"schema": comparable(inner), **({"required": True} if name in required else {})}
            for name, inner in value.items()
        }
    if word == "required" and required:
        return {name: True for name in required if not isinstance(declared, dict) or name not in declared}
    if word == "enum" and isinstance(value, list):
        return {canonical_utf8(member).decode("utf-8"): True for member in value}
    if word == "type" and isinstance(value, str | list):
        return _types(value)
    return _inner_schemas(word, value, comparable)


def _types(value: str | list[Any]) -> Any:
    names = [value] if isinstance(value, str) else value
    return dict.fromkeys(names, True) if all(isinstance(name, str) for name in names) else value
