"""A call to a model whose content a trace captured, and the generation that it is, with computed fingerprints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import content_hashes, coverage, read_temperature, tuple_hash
from toolpulse.provenance.prompt import typed_parameters
from toolpulse.provenance.readers.messages import Conversation
from toolpulse.provenance.readers.records import Generation
from toolpulse.provenance.schemas.definitions import definitions


class CapturedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace shows of one call to a model."""

    location: str
    said: Conversation
    tools: Sequence[Any] | None = None
    """The definitions as they were sent; None where they are not known."""
    model: str | None = None
    """The model that was asked for."""
    temperature: object = None
    params: Mapping[str, Any] | None = None
    """The other sampling parameters."""
    remarks: Collection[str] = ()
    """Why the content is not complete; no hash of the prompt is computed then."""
    unverified: Collection[str] = ()
    returned_model: str | None = None
    started: int = 0


def generation_of(call: CapturedCall) -> Generation:
    """The generation that a captured call is.

    Hashes are of complete content only. Raises InputError, the location in front, where the content has no canonical
    form or the temperature is no number.
    """
    attributes: dict[str, Any] = {
        names.MISSING_MODEL: "false" if call.model else "true",
        names.MODEL_SOURCE: "request" if call.model else "absent",
    }
    if call.model:
        attributes[names.MODEL] = call.model
    try:
        degrees = read_temperature(call.temperature)
        hashes = content_hashes(call.said.system, call.said.user, _in_one_form(call.tools))
    except (ConfigurationError, InputError) as error:
        raise InputError(f"{call.location}: {error}") from None
    if degrees is not None:
        attributes[names.TEMPERATURE] = degrees
    if not call.said.complete or call.remarks:
        hashes = {k: v for k, v in hashes.items() if k not in {names.PROMPT_HASH, names.TEXT_HASH}}
    attributes |= hashes
    attributes[names.TUPLE] = tuple_hash(attributes)
    return Generation(
        location=call.location,
        fingerprint=attributes,
        params=dict(call.params) if call.params else None,
        remarks=tuple(sorted(set(call.remarks))),
        unverified=tuple(sorted(set(call.unverified))),
        returned_model=call.returned_model,
        started=call.started,
    )


def _in_one_form(tools: Sequence[Any] | None) -> Sequence[Any] | None:
    """Definitions as name, words and parameters, whichever provider's spelling they had; else as they are."""
    if tools is None or coverage(tools) != "full":
        return tools
    try:
        known = definitions(tools)
    except InputError:
        return tools
    return [
        {"name": one.name, **one.words, "parameters": one.parameters} | ({"output": one.output} if one.output else {})
        for one in known
    ]


def sampling_parameters(location: str, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Sampling parameters without null ones, each of its one type, so that ``"300"`` and ``300`` are the same.

    Raises InputError, the location in front, where one is no number.
    """
    try:
        return typed_parameters({name: value for name, value in shown.items() if value is not None})
    except InputError as error:
        raise InputError(f"{location}: {error}") from None
