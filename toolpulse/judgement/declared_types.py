"""The JSON Schema of a type that a consumer declares: a pydantic model, a dataclass, a TypedDict, a msgspec.Struct.

pydantic models say it themselves; the rest is msgspec's work, or pydantic's where the application has imported it. No
library is imported for it. ``declared`` asks at construction of a consumer.
"""

from __future__ import annotations

import collections.abc
import inspect
import sys
import typing
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STREAMS: Final = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
)


def schema_of(source: Any, *, by_alias: bool) -> Mapping[str, Any]:
    """The JSON Schema of a type; a dict is taken as one. Of a stream's annotation it is that of an array.

    ``by_alias``: fields go by the names that the type reads, not by its attributes. Raises ConfigurationError naming
    ``expects`` where no schema can be had.
    """
    if isinstance(source, dict):
        return source
    origin = typing.get_origin(source)
    if origin in _STREAMS:
        arguments = typing.get_args(source)
        items = dict(schema_of(arguments[0], by_alias=by_alias)) if arguments else {}
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


def annotated_return(function: Any) -> Any:
    """A function's return annotation; None where it has none, or one that says nothing of the parts of a response.

    Raises ConfigurationError where the annotation cannot be read.
    """
    function = getattr(function, "func", function)
    try:
        annotation = typing.get_type_hints(function).get("return")
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise ConfigurationError(f"expects: the return annotation cannot be read ({type(error).__name__})") from None
    return None if annotation in (None, Any, type(None), dict, list, str, object) else annotation
