"""Fingerprints of a prompt: of the release, which is what was written, and of the request, which is what was sent.

A release is a spec: model, system text, template, examples, parameters, output schema. What changes with every request
(question, evidence, history) is no part of it and is recorded beside it, see ``toolpulse.provenance.context``. Pure.
Called by users' programs, by the ledger and by ``toolpulse prompt``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolpulse._base.canonical import digest, digest_of, plain
from toolpulse.errors import InputError
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.documents import compare
from toolpulse.provenance.model_calls.attributes import FLOATS, INTEGERS

LENGTH: Final = 12
"""Hex digits of a fingerprint that people read. Look-ups in a ledger compare all 64."""

REQUIRED: Final = ("model", "system", "template")
"""Fields without which a spec is refused, unless it is said to be partial."""
RUNTIME: Final = ("evidence", "messages", "question", "user")
"""Fields that look like a request's own data."""

# a number as JSON writes it (RFC 8259, section 6)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


class SpecError(InputError):
    """A spec lacks a field or has a parameter of a wrong type. The message names the field and shows no value."""


def release_fingerprint(
    spec: Mapping[str, Any],
    *,
    length: int = LENGTH,
    key: bytes | str | None = None,
    typed: bool = True,
    partial: bool = False,
) -> str:
    """The fingerprint of a spec: ``length`` hex digits of SHA-256, or of HMAC-SHA256 with a ``key``.

    Key order is irrelevant; every character of a text counts. With ``typed`` the sampling parameters have one type each
    (see ``typed_parameters``), so that ``0`` and ``0.0`` are one temperature. Raises SpecError where ``model``,
    ``system`` or ``template`` is missing, unless ``partial`` says that it may be, and for a parameter of a wrong type;
    CanonicalError where the spec is no JSON; ConfigurationError for a bad ``length`` or an empty key.

    >>> release_fingerprint({"model": "m-1", "system": "Be brief.", "template": "{question}", "temperature": 0})
    '7442c14ab71f'
    """
    return digest_of(checked(spec, typed=typed, partial=partial), length=length, key=key)


def request_fingerprint(text: str | bytes, *, length: int = LENGTH, key: bytes | str | None = None) -> str:
    """The fingerprint of a rendered prompt: ``length`` hex digits over its UTF-8 bytes, the last line break included.

    Raises SpecError for text with a lone surrogate, which has no UTF-8; ConfigurationError for a bad ``length`` or an
    empty key.
    """
    if isinstance(text, str):
        try:
            text = text.encode("utf-8")
        except UnicodeEncodeError:
            raise SpecError("the rendered text holds a lone surrogate") from None
    return digest(text, length=length, key=key)


def prompt_diff(
    one: Mapping[str, Any], other: Mapping[str, Any], *, values: bool = False, typed: bool = True
) -> tuple[Difference, ...]:
    """What differs between two specs, by path; empty exactly if their fingerprints are equal.

    With ``values`` the differences show values, which are prompts; without it they show kinds. Raises as
    ``release_fingerprint``.
    """
    return compare(checked(one, typed=typed, partial=True), checked(other, typed=typed, partial=True), values=values)


def checked(spec: Mapping[str, Any], *, typed: bool = True, partial: bool = False) -> dict[str, Any]:
    """A copy of the spec in the form that is digested: plain JSON, each sampling parameter of its one type.

    Raises as ``release_fingerprint``.
    """
    if not isinstance(spec, Mapping):
        raise SpecError(f"a spec is an object, not {type(spec).__name__}")
    missing = [name for name in REQUIRED if name not in spec]
    if missing and not partial:
        raise SpecError(f"the spec has no {' and no '.join(missing)}; partial allows it")
    copied: dict[str, Any] = plain(dict(spec))
    return typed_parameters(copied) if typed else copied


def typed_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which each sampling parameter has its one type; everything else stays.

    Floats: temperature, top_p, frequency_penalty, presence_penalty. Integers: max_tokens, max_output_tokens, seed,
    top_k, n. Text that is a JSON number is read as one; null stays null. Raises SpecError naming the parameter for a
    boolean, for other text, and for an integer with a fraction.

    >>> typed_parameters({"temperature": "0", "max_tokens": 300.0, "model": "m-1"})
    {'temperature': 0.0, 'max_tokens': 300, 'model': 'm-1'}
    """
    return {name: _typed(name, value) for name, value in parameters.items()}


def _typed(name: str, value: Any) -> Any:
    if value is None or name not in FLOATS | INTEGERS:
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if re.search("[.eE]", value) else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError(f"$.{name}: a number is needed, not {type(value).__name__}")
    try:
        number = float(value)
        return number if name in FLOATS else _whole(value)
    except (OverflowError, ValueError):
        wanted = "number" if name in FLOATS else "whole number"
        raise SpecError(f"$.{name}: not a {wanted} that a model can be sent") from None


def _whole(value: float) -> int:
    whole = int(value)
    if whole != value:
        raise ValueError
    return whole


def remarks(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """What to think about before relying on the fingerprint of a spec: a sentence for each doubt.

    Doubts are fields that look like a request's own data, a model name that is an alias, and a schema that is a name.
    """
    sentences = [
        f"{name} looks like data of one request; record it beside the fingerprint" for name in RUNTIME if name in spec
    ]
    model = spec.get("model")
    if isinstance(model, str) and model.endswith("latest"):
        sentences.append("model is an alias: it may stand for another model tomorrow under the same fingerprint")
    if isinstance(spec.get("schema"), str):
        sentences.append("schema is a label: edits of what it names are invisible")
    return tuple(sentences)
