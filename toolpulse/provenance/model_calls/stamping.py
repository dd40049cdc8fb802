"""Declaring afterwards which model a trace was made with, for programs that do not send a model's name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, AnyStr, Final

from toolpulse._base.canonical import load_exact
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import tuple_hash

_BOM: Final = b"\xef\xbb\xbf"


def model_or_none(model: object) -> str | None:
    """The name of a model; a blank one counts as none. Raises ConfigurationError where it is no text."""
    if model is not None and not isinstance(model, str):
        raise ConfigurationError(f"model must be text, not {type(model).__name__}")
    return model if model and model.strip() else None


def stamp_model(lines: Iterable[AnyStr], declared: str) -> Iterator[AnyStr]:
    """The lines of a native trace, with the declared model on each generation that names none.

    Such a line says from then on that its model comes from configuration, and its tuple is computed anew; every other
    line is passed on as it is. No field of a response is read. Raises ConfigurationError at once where ``declared`` is
    blank, and while iterating InputError, the line's number in front, where a line is no JSON.
    """
    model = model_or_none(declared)
    if model is None:
        raise ConfigurationError("model: none is declared")
    return (_stamped(line, number, model) for number, line in enumerate(lines, 1))


def _stamped(line: AnyStr, number: int, model: str) -> AnyStr:
    text = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
    body = text.removeprefix(_BOM) if number == 1 else text
    if not body.strip():
        return line
    try:
        span = load_exact(body)
    except InputError as error:
        raise InputError(f"line {number}: {getattr(error, 'reason', error)}") from None
    if not isinstance(span, dict) or span.get("kind") != "generation":
        return line
    if _has_model(span, number):
        return line
    span |= {names.MODEL: model, names.MISSING_MODEL: "false", names.MODEL_SOURCE: "config"}
    if names.TUPLE in span or names.PROMPT_HASH in span:
        span[names.TUPLE] = _tuple_of(span, number)
    end = text[len(text.rstrip(b"\r\n")) :]
    done = json.dumps(span, ensure_ascii=False, separators=(",", ":")).encode() + end
    return done if isinstance(line, bytes) else done.decode()


def _tuple_of(span: dict[str, Any], number: int) -> str:
    try:
        return tuple_hash(span)
    except ConfigurationError as error:
        raise InputError(f"line {number}: {names.TEMPERATURE}: {error}") from None


def _has_model(span: Mapping[str, Any], number: int) -> bool:
    try:
        return model_or_none(span.get(names.MODEL)) is not None
    except ConfigurationError as error:
        raise InputError(f"line {number}: {names.MODEL}: {error}") from None
