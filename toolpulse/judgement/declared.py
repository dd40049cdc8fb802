"""What a consumer's own type says of a response: which fields it needs, where it takes null, which numbers it takes.

Every type is read through its JSON Schema: pydantic models by their own, dataclasses, TypedDict, NamedTuple, attrs and
msgspec.Struct by msgspec's. A schema given as a dict is taken as it is.
"""

from __future__ import annotations

import collections.abc
import inspect
import sys
import typing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, Segment, format_path
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.diff import NEW_SHAPE, Change
from toolpulse.judgement.rules import Risk, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolpulse.evidence.profile import PathStats, Profile

_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "number", "decimal"}),
    "string": frozenset({"string", "bytes", "date", "time", "datetime", "duration", "decimal", "uuid", "path"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object", "map"}),
}
# A schema may refer to itself; a path deeper than this is no more told of.
_DEEPEST = 32
_FORMS: Final[Mapping[str, tuple[type, ...]]] = {
    "type": (str, list, tuple),
    "required": (list, tuple),
    "enum": (list, tuple),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), (dict,)),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), (list, tuple)),
    **dict.fromkeys(("items", "additionalProperties"), (dict, bool, list)),
}
"""What stands at the words of a schema that are read."""
_JUDGED: Final = frozenset({"missing", "vanished", "added", "null", "valueless", "kind", "container", "element"})
_STREAMS: Final = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
)


class Expectation:
    """A type, asked path by path."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._check(schema)

    def risk_of(self, change: Change, rule: Rule) -> Risk | None:
        """What the type says of a change; None where it has no say. What it does not declare is ``info``."""
        if change.after == NEW_SHAPE or change.fact not in _JUDGED or change.path == ROOT:
            return None
        declared = self._declares(change.path)
        if declared is None:
            return None
        if change.fact == "added":
            return Risk.HIGH if self._forbids(change.path) else Risk.INFO
        if not declared:
            return Risk.INFO
        if change.fact in {"missing", "vanished"}:
            return rule.risk if self.required(change.path) else Risk.INFO
        kinds = self.kinds(change.path)
        if kinds is None:
            return None
        if change.after not in kinds:
            return Risk.HIGH
        return Risk.QUIET if rule.policy or change.fact == "valueless" else Risk.INFO

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

    def _declares(self, path: Path) -> bool | None:
        """Whether the type declares a path; None where it says nothing of the fields there."""
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
        """The kinds the type takes at a path; None where it does not say."""
        found: set[str] = set()
        alternatives = self.at(path)
        for schema in alternatives:
            kinds = _kinds_of(schema)
            if kinds is None:
                return None
            found |= kinds
        return frozenset(found) if alternatives else None

    def required(self, path: Path) -> bool:
        """Whether the type cannot do without the field at a path."""
        name = path[-1]
        holders = [schema for schema in self.at(path[:-1]) if name in schema.get("properties", {})]
        return bool(holders) and all(name in schema.get("required", ()) for schema in holders)

    def disagreements(self, profile: Profile) -> tuple[str, ...]:
        """Where what was learned is not what the type says, a sentence for each place."""
        return tuple(dict.fromkeys(self._disagree(profile.root, ROOT)))

    def _disagree(self, place: PathStats, path: Path) -> Iterator[str]:
        kinds = self.kinds(path)
        if kinds is not None:
            wrong = sorted(k for k in place.kinds if k not in kinds and k != "unknown" and not k.startswith("other:"))
            for kind in wrong:
                seen = f"{kind} seen {place.kinds[kind].count:,} times"
                yield f"{format_path(path)}: {seen}, the type takes {_listed(kinds)}"
        if len(path) >= _DEEPEST:
            return
        yield from self._absent(place, path)
        for name, field in sorted(place.fields.items()):
            yield from self._disagree(field, (*path, name))
        if place.items is not None:
            yield from self._disagree(place.items, (*path, ITEMS))
        if place.values is not None:
            yield from self._disagree(place.values, (*path, VALUES))

    def _absent(self, place: PathStats, path: Path) -> Iterator[str]:
        if not place.objects.count:
            return
        for schema in self.at(path):
            for name in sorted(schema.get("properties", {})):
                if not self.required((*path, name)):
                    continue
                field = place.fields.get(name)
                there = field.always.count if field else 0
                if there < place.objects.count:
                    where = format_path((*path, name))
                    yield f"{where}: there in {there:,} of {place.objects.count:,}, the type requires it"

    def _forbids(self, path: Path) -> bool:
        holders = self.at(path[:-1])
        return bool(holders) and all(schema.get("additionalProperties") is False for schema in holders)

    def at(self, path: Path) -> list[Mapping[str, Any]]:
        """The schemas that describe a path, references and unions resolved."""
        here = list(self._alternatives(self._schema))
        for segment in path[:_DEEPEST]:
            found = (a for schema in here for inner in _step(schema, segment) for a in self._alternatives(inner))
            # unions of types that refer to each other would double at every segment
            here = list({id(schema): schema for schema in found}.values())
        return here if len(path) <= _DEEPEST else []

    def _alternatives(self, schema: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
        if not isinstance(schema, dict) or depth > _DEEPEST:
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
        found: Any = self._schema
        for part in ref.removeprefix("#").strip("/").split("/") if ref != "#" else ():
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise ConfigurationError(f"expects: the schema refers to {ref!r}, which is not there")
        return found


def expectation(source: Any, *, by_alias: bool = True) -> Expectation:
    """What a type says. Raises ConfigurationError naming ``expects`` where no schema can be had of it."""
    return Expectation(_schema_of(source, by_alias))


def of_annotation(function: Any) -> Expectation | None:
    """What a function's return annotation says; None where it has none, or one that says nothing.

    Raises ConfigurationError where the annotation cannot be read.
    """
    function = getattr(function, "func", function)
    try:
        annotation = typing.get_type_hints(function).get("return")
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise ConfigurationError(f"expects: the return annotation cannot be read ({type(error).__name__})") from None
    if annotation in (None, Any, type(None), dict, list, str, object):
        return None
    return expectation(annotation, by_alias=False)


def _schema_of(source: Any, by_alias: bool) -> Mapping[str, Any]:
    if isinstance(source, dict):
        return source
    origin = typing.get_origin(source)
    if origin in _STREAMS:
        arguments = typing.get_args(source)
        items = dict(_schema_of(arguments[0], by_alias)) if arguments else {}
        # references are read from the outermost schema
        return {"type": "array", "$defs": items.pop("$defs", {}), "items": items}
    failure = "TypeError"
    # pydantic makes a schema of a function's parameters, which nobody means here
    for schema_of in () if inspect.isroutine(source) else (_own_schema, _msgspec_schema, _pydantic_schema):
        try:
            found = schema_of(source, by_alias)
        except Exception as error:  # noqa: BLE001 - each reader has errors of its own for a type it does not know
            failure = type(error).__name__
        else:
            if found is not None:
                return found
    name = getattr(source, "__qualname__", type(source).__qualname__)
    raise ConfigurationError(f"expects: no JSON Schema can be had of {name} ({failure})")


def _own_schema(source: Any, by_alias: bool) -> Mapping[str, Any] | None:
    own = getattr(source, "model_json_schema", None)
    return dict(own(by_alias=by_alias, mode="validation")) if callable(own) else None


def _msgspec_schema(source: Any, by_alias: bool) -> Mapping[str, Any]:
    return msgspec.json.schema(source)


def _pydantic_schema(source: Any, by_alias: bool) -> Mapping[str, Any] | None:
    pydantic: Any = sys.modules.get("pydantic")
    if pydantic is None or not hasattr(pydantic, "TypeAdapter"):
        return None
    return dict(pydantic.TypeAdapter(source).json_schema(by_alias=by_alias, mode="validation"))


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
    return frozenset().union(*(_KINDS.get(name, frozenset()) for name in named))


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


def _listed(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds & _KINDS.keys()))
