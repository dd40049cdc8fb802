"""The definition of a live function: its signature and annotations as a schema, its docstring as the description.

Types are read by msgspec, or by pydantic where a type is pydantic's. pydantic is never imported: whoever has such a
type has imported it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from toolpulse._base.canonical import plain
from toolpulse.errors import ConfigurationError, InputError

_MANY: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_function(tool: object) -> bool:
    """Whether the tool is code: a function, a method, a partial of one, or what ``watch`` made of one."""
    return isinstance(tool, functools.partial) or inspect.isroutine(tool)


def of_function(function: Any, *, name: str | None = None, exclude: Iterable[str] = ()) -> dict[str, Any]:
    """The definition of a function: ``name``, ``description`` and ``parameters``, a JSON Schema.

    Arguments without an annotation take anything; those without a default are required. ``exclude`` names arguments
    that a framework fills in, which the model does not see. What the function returns is no part of the definition.

    Raises InputError naming the argument whose type has no JSON Schema, ConfigurationError where ``exclude`` names no
    argument.

    >>> def search(query: str, limit: int = 10): ...
    >>> of_function(search)["parameters"]["required"]
    ['query']
    """
    inner = function.func if isinstance(function, functools.partial) else function
    title = name or str(getattr(inner, "__name__", type(inner).__name__))
    parameters = inspect.signature(function).parameters
    left_out = set(exclude)
    if unknown := left_out - parameters.keys():
        raise ConfigurationError(f"exclude: {title} has no argument {min(unknown)}")
    taken = [p for p in parameters.values() if p.kind not in _MANY and p.name not in left_out]
    types = _types(inner, title)
    schemas, shared = _schemas([types.get(p.name, Any) for p in taken], [p.name for p in taken], title)
    for parameter, of_type in zip(taken, schemas, strict=True):
        _add_default(of_type, parameter.default)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {p.name: of_type for p, of_type in zip(taken, schemas, strict=True)},
        "required": [p.name for p in taken if p.default is p.empty],
        "additionalProperties": any(p.kind is p.VAR_KEYWORD for p in parameters.values()),
    }
    if shared:
        schema["$defs"] = shared
    return {"name": title, "description": inspect.getdoc(inner) or "", "parameters": schema}


def _types(function: Any, title: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise InputError(f"{title}: its annotations cannot be read ({type(error).__name__})") from None


def _schemas(types: list[Any], names: list[str], title: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A schema for each type, and the definitions that they share. Which reader reads a type does not depend on what is
    installed: msgspec is always asked first.
    """
    schemas, shared = [], {}
    for kind, name in zip(types, names, strict=True):
        for schema_of in (_by_msgspec, _by_pydantic):
            try:
                schema, parts = schema_of(kind)
            except Exception:  # noqa: BLE001 - each reader has errors of its own for a type it does not know
                continue
            schemas.append(dict(schema))
            shared.update(parts)
            break
        else:
            raise InputError(f"{title}: no JSON Schema can be had of the type of {name}")
    return schemas, shared


def _by_msgspec(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return schema, dict(parts)


def _by_pydantic(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    adapter: Callable[[Any], Any] = sys.modules["pydantic"].TypeAdapter
    schema = dict(adapter(kind).json_schema())
    return schema, schema.pop("$defs", {})


def _add_default(schema: dict[str, Any], default: object) -> None:
    if default is inspect.Parameter.empty:
        return
    try:
        schema["default"] = plain(default)
    except InputError:
        # it is optional all the same, and what else it is JSON cannot say
        schema.pop("default", None)
