"""A JSON Schema taken apart: what is accepted (the contract) and what is said about it (the words).

Words are ``title``, ``description``, ``examples`` and ``$comment`` where they annotate a schema; a property that is
called ``description`` is none. Which keywords hold schemas is from JSON Schema 2020-12 and, for older ones, draft 7.
``$ref`` is compared as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from toolpulse._base.canonical import canonical_utf8
from toolpulse._base.paths import Path

WORDS: Final = frozenset({"title", "description", "examples", "$comment"})

ONE: Final = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties".split()
)
SEVERAL: Final = frozenset("allOf anyOf items oneOf prefixItems".split())
NAMED: Final = frozenset("$defs definitions dependencies dependentSchemas patternProperties properties".split())

_EXACT: Final = 2**53


def whole_numbers(value: Any) -> Any:
    """A copy of plain JSON with floats that are whole, within 2**53, as integers: JSON Schema does not tell them apart.

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
    """A schema without its words, with ``required``, ``enum`` and ``type`` as sets, and whole floats as integers."""
    return _contract(whole_numbers(schema))


def _contract(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    found = {}
    for word, value in schema.items():
        if word in WORDS:
            continue
        found[word] = _each(word, value, _contract)
    for word in ("required", "enum", "type"):
        if isinstance(found.get(word), list):
            found[word] = [value for _, value in sorted({canonical_utf8(v): v for v in found[word]}.items())]
    if found.get("required") == []:
        del found["required"]
    if isinstance(found.get("type"), list) and len(found["type"]) == 1:
        found["type"] = found["type"][0]
    return found


def _each(word: str, value: Any, change: Any) -> Any:
    """The value of a keyword with the schemas in it changed; what is no schema is data and stays."""
    if word in NAMED and isinstance(value, dict):
        return {name: change(inner) for name, inner in value.items()}
    if word in SEVERAL and isinstance(value, list):
        return [change(inner) for inner in value]
    return change(value) if word in ONE else value


def words(schema: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every word of a schema with where it stands: keywords, names and numbers of alternatives as fields."""
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


def surface(schema: Any) -> Any:
    """A contract rearranged so that its comparison speaks of arguments, and nothing is lost.

    ``properties`` hold ``{"schema": ..., "required": true}``, the latter only of those that are; ``enum``, ``type`` and
    what is required without being declared are objects of their members.
    """
    if not isinstance(schema, dict):
        return schema
    declared = schema.get("properties")
    needed = schema.get("required")
    listed = needed if isinstance(needed, list) and all(isinstance(name, str) for name in needed) else []
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word == "properties" and isinstance(value, dict):
            found[word] = {
                name: {"schema": surface(inner), **({"required": True} if name in listed else {})}
                for name, inner in value.items()
            }
        elif word == "required" and listed:
            rest = [name for name in listed if not isinstance(declared, dict) or name not in declared]
            found[word] = dict.fromkeys(rest, True)
        elif word == "enum" and isinstance(value, list):
            found[word] = {canonical_utf8(member).decode("utf-8"): True for member in value}
        elif word == "type" and isinstance(value, str | list):
            found[word] = _types(value)
        else:
            found[word] = _each(word, value, surface)
    found.setdefault("required", {})
    return found


def _types(value: str | list[Any]) -> Any:
    names = [value] if isinstance(value, str) else value
    return dict.fromkeys(names, True) if all(isinstance(name, str) for name in names) else value
