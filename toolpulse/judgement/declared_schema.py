"""A JSON Schema, asked by the paths of a response: which schemas describe a path, and which kinds they take.

References are followed within the schema, unions are taken apart, and work is bounded: a schema may refer to itself.
Pure. ``declared`` holds it against changes and profiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import ITEMS, VALUES, Path, Segment
from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "number", "decimal"}),
    "string": frozenset({"string", "bytes", "date", "time", "datetime", "duration", "decimal", "uuid", "path"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object", "map"}),
}
"""The kinds of a response that each type of JSON Schema takes."""

# A schema may refer to itself; nothing is said of a path deeper than this.
DEEPEST: Final = 32

_FORMS: Final[Mapping[str, tuple[type, ...]]] = {
    "type": (str, list, tuple),
    "required": (list, tuple),
    "enum": (list, tuple),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), (dict,)),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), (list, tuple)),
    **dict.fromkeys(("items", "additionalProperties"), (dict, bool, list)),
}
"""What stands at the words of a schema that are read."""


class DeclaredSchema:
    """A schema, checked: every part is as JSON Schema has it, and refers to what is there.

    Raises ConfigurationError naming ``expects`` where it is not.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._check(schema)

    def declares(self, path: Path) -> bool | None:
        """Whether a path is declared; None where nothing is said of the fields there."""
        for end, segment in enumerate(path):
            if not isinstance(segment, str):
                continue
            holders = [schema for schema in self.at(path[:end]) if "properties" in schema]
            if not holders:
                return None
            if not any(_step(schema, segment) for schema in holders):
                return False
        return True

    def kinds(self, path: Path) -> frozenset[str] | None:
        """The kinds taken at a path; None where it is not said."""
        kinds: set[str] = set()
        alternatives = self.at(path)
        for schema in alternatives:
            taken = _kinds_of(schema)
            if taken is None:
                return None
            kinds |= taken
        return frozenset(kinds) if alternatives else None

    def required(self, path: Path) -> bool:
        """Whether the field at a path is required wherever it is declared."""
        name = path[-1]
        holders = [schema for schema in self.at(path[:-1]) if name in schema.get("properties", {})]
        return bool(holders) and all(name in schema.get("required", ()) for schema in holders)

    def forbids(self, path: Path) -> bool:
        """Whether no fields but the declared ones are allowed beside the one at a path."""
        holders = self.at(path[:-1])
        return bool(holders) and all(schema.get("additionalProperties") is False for schema in holders)

    def at(self, path: Path) -> list[Mapping[str, Any]]:
        """The schemas that describe a path, references and unions resolved."""
        here = list(self._alternatives(self._schema))
        for segment in path[:DEEPEST]:
            alternatives = (a for schema in here for inner in _step(schema, segment) for a in self._alternatives(inner))
            # unions of types that refer to each other would double at every segment
            here = list({id(schema): schema for schema in alternatives}.values())
        return here if len(path) <= DEEPEST else []

    def _alternatives(self, schema: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
        if not isinstance(schema, dict) or depth > DEEPEST:
            return
        if "$ref" in schema:
            yield from self._alternatives(self._resolved(schema["$ref"]), depth + 1)
            return
        several = [branch for word in ("anyOf", "oneOf", "allOf") for branch in schema.get(word, ())]
        for branch in several:
            yield from self._alternatives(branch, depth + 1)
        if not several or "properties" in schema:
            yield schema

    def _resolved(self, ref: object) -> Any:
        if not isinstance(ref, str) or not ref.startswith("#"):
            raise ConfigurationError(f"expects: the schema refers to {ref!r}, which is outside of it")
        target: Any = self._schema
        for part in ref.removeprefix("#").strip("/").split("/") if ref != "#" else ():
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                target = target[int(name)]
            elif isinstance(target, dict) and name in target:
                target = target[name]
            else:
                raise ConfigurationError(f"expects: the schema refers to {ref!r}, which is not there")
        return target

    def _check(self, schema: Mapping[str, Any]) -> None:
        """Raise ConfigurationError where a part is not as JSON Schema has it, or refers to what is not there."""
        seen: set[int] = set()
        waiting: list[Any] = [schema]
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, list):
                waiting += part
            elif isinstance(part, dict):
                for word, kind in _FORMS.items():
                    if not isinstance(part.get(word, kind[0]()), kind):
                        raise ConfigurationError(f"expects: {word} of the schema is a {type(part[word]).__name__}")
                if "$ref" in part:
                    waiting.append(self._resolved(part["$ref"]))
                waiting += _parts(part)


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas inside a schema; what its other words hold is data."""
    for word in ("properties", "patternProperties", "$defs", "definitions"):
        yield from schema.get(word, {}).values()
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from schema.get(word, ())
    yield from (schema[word] for word in ("items", "additionalProperties") if word in schema)


def _kinds_of(schema: Mapping[str, Any]) -> frozenset[str] | None:
    types = schema.get("type")
    if types is None:
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        return None if values is None else frozenset(_kind_of_value(value) for value in values)
    named = [types] if isinstance(types, str) else types
    return frozenset().union(*(KINDS.get(name, frozenset()) for name in named))


def _kind_of_value(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return {int: "integer", float: "number", str: "string", list: "array"}.get(type(value), "object")


def _step(schema: Mapping[str, Any], segment: Segment) -> list[Any]:
    if segment is ITEMS:
        return [*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else ())]
    extra = schema.get("additionalProperties")
    if segment is VALUES:
        return [*schema.get("patternProperties", {}).values(), *([extra] if isinstance(extra, dict) else ())]
    properties = schema.get("properties", {})
    if segment in properties:
        return [properties[segment]]
    return [extra] if isinstance(extra, dict) else []
