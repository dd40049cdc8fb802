"""Spans by OpenInference (Phoenix): messages and tools are flattened into numbered attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from toolpulse.canonical import load_exact
from toolpulse.errors import InputError
from toolpulse.provenance.readers import console
from toolpulse.provenance.readers.base import (
    SYSTEM,
    TRUNCATED,
    USER,
    Generation,
    IncompleteError,
    ToolCall,
    Trace,
    generation,
    parameters,
    spoken,
)
from toolpulse.provenance.readers.span import Span

NAME: Final = "openinference"
KIND: Final = "openinference.span.kind"

_REQUEST_MODEL: Final = "llm.model_name"
_NO_PARAMETERS: Final = frozenset({"model", "temperature", "messages", "input", "tools", "stream", "stream_options"})
"""Invocation parameters that are told elsewhere, or that do not steer what is sampled."""


def sniff(document: object) -> bool:
    """Whether a document may be one of these."""
    return console.sniff(document) and KIND in (document.get("attributes") or {})  # type: ignore[attr-defined]


def read_file(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans. Raises InputError naming the place."""
    from toolpulse.provenance.readers.meaning import trace

    return trace(file, NAME, list(console.spans(documents)))
