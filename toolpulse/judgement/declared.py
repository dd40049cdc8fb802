"""What a consumer's own type says of a response: which fields it needs, where it takes null, which numbers it takes.

Every type is read through its JSON Schema, which is asked path by path (``declared_schema``): pydantic models say it
themselves; the rest is msgspec's work, or pydantic's where the application has imported it. No library is imported.
``Consumer`` asks what a change means by it, and what was learned is held against it. Pure once it is made.
"""

from __future__ import annotations

import collections.abc
import inspect
import sys
import typing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse._base.paths import ITEMS, ROOT, VALUES, Path, format_path
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.changes import NEW_SHAPE, Change
from toolpulse.judgement.declared_schema import DEEPEST, KINDS, DeclaredSchema
from toolpulse.judgement.rules import Risk, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolpulse.evidence.profile import PathStats, Profile

_JUDGED: Final = frozenset({"missing", "vanished", "added", "null", "valueless", "kind", "container", "element"})
"""Facts that a type has a say in."""


_STREAMS: Final = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
)


class Expectation:
    """What a type says, held against changes and against what was learned."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = DeclaredSchema(schema)

    def risk_of(self, change: Change, rule: Rule) -> Risk | None:
        """What the type says of a change; None where it has no say. What it does not declare is ``info``."""
        if change.after == NEW_SHAPE or change.fact not in _JUDGED or change.path == ROOT:
            return None
        declared = self._schema.declares(change.path)
        if declared is None:
            return None
        if change.fact == "added":
            return Risk.HIGH if self._schema.forbids(change.path) else Risk.INFO
        if not declared:
            return Risk.INFO
        if change.fact in {"missing", "vanished"}:
            return rule.risk if self._schema.required(change.path) else Risk.INFO
        kinds = self._schema.kinds(change.path)
        if kinds is None:
            return None
        if change.after not in kinds:
            return Risk.HIGH
        return Risk.QUIET if rule.policy or change.fact == "valueless" else Risk.INFO

    def disagreements(self, profile: Profile) -> tuple[str, ...]:
        """Where what was learned is not what the type says, a sentence for each place."""
        return tuple(dict.fromkeys(self._disagree(profile.root, ROOT)))

    def _disagree(self, stats: PathStats, path: Path) -> Iterator[str]:
        kinds = self._schema.kinds(path)
        if kinds is not None:
            wrong = sorted(k for k in stats.kinds if k not in kinds and k != "unknown" and not k.startswith("other:"))
            for kind in wrong:
                seen = f"{kind} seen {stats.kinds[kind].count:,} times"
                yield f"{format_path(path)}: {seen}, the type takes {_listed(kinds)}"
        if len(path) >= DEEPEST:
            return
        yield from self._absent(stats, path)
        for name, field in sorted(stats.fields.items()):
            yield from self._disagree(field, (*path, name))
        if stats.items is not None:
            yield from self._disagree(stats.items, (*path, ITEMS))
        if stats.values is not None:
            yield from self._disagree(stats.values, (*path, VALUES))

    def _absent(self, stats: PathStats, path: Path) -> Iterator[str]:
        if not stats.objects.count:
            return
        for schema in self._schema.at(path):
            for name in sorted(schema.get("properties", {})):
                if not self._schema.required((*path, name)):
                    continue
                field = stats.fields.get(name)
                there = field.always.count if field else 0
                if there < stats.objects.count:
                    where = format_path((*path, name))
                    yield f"{where}: there in {there:,} of {stats.objects.count:,}, the type requires it"


def expectation(source: Any, *, by_alias: bool = True) -> Expectation:
    """What a type says. Raises ConfigurationError naming ``expects`` where no schema can be had of it.

    ``by_alias``: fields go by the names that the type reads; a tool's own annotation goes by its attributes.
    """
    return Expectation(_schema_of(source, by_alias=by_alias))


def of_annotation(function: Any) -> Expectation | None:
    """What a function's return annotation says; None where it has none, or one that says nothing.

    Raises ConfigurationError where the annotation cannot be read.
    """
    annotation = _annotated_return(function)
    return None if annotation is None else expectation(annotation, by_alias=False)


def _listed(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds & KINDS.keys()))


def _schema_of(source: Any, *, by_alias: bool) -> Mapping[str, Any]:
    """The JSON Schema of a type; a dict is taken as one. Of a stream's annotation it is that of an array.

    ``by_alias``: fields go by the names that the type reads, not by its attributes. Raises ConfigurationError naming
    ``expects`` where no schema can be had.
    """
    if isinstance(source, dict):
        return source
    origin = typing.get_origin(source)
    if origin in _STREAMS:
        arguments = typing.get_args(source)
        items = dict(_schema_of(arguments[0], by_alias=by_alias)) if arguments else {}
        # references are read from the outermost schema
        return {"type": "array", "$defs": items.pop("$defs", {}), "items": items}
    failure = "TypeError"
    # pydantic makes a schema of a function's parameters, which nobody means here
    for reader in () if inspect.isroutine(source) else (_own_schema, _msgspec_schema, _pydantic_schema):
        try:
            schema = reader(source, by_alias)
        except Exception as error:  # noqa: BLE001 - each reader has errors of its own for a type it does not know
            failure = type(error).__name__
        else:
            if schema is not None:
                return schema
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


def _annotated_return(function: Any) -> Any:
    """A function's return annotation; None where it has none, or one that says nothing of the parts of a response.

    Raises ConfigurationError where the annotation cannot be read.
    """
    function = getattr(function, "func", function)
    try:
        annotation = typing.get_type_hints(function).get("return")
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise ConfigurationError(f"expects: the return annotation cannot be read ({type(error).__name__})") from None
    return None if annotation in (None, Any, type(None), dict, list, str, object) else annotation
