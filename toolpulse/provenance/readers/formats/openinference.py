"""Traces by OpenInference (Phoenix): the spans that OpenTelemetry's exporters write, with attributes of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolpulse.provenance.readers.formats import console
from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans import openinference
from toolpulse.provenance.readers.spans.trace import trace_of

NAME: Final = "openinference"


def recognizes(document: object) -> bool:
    """Whether a document may be a span in this format."""
    if not isinstance(document, dict) or not console.recognizes(document):
        return False
    attributes = document["attributes"]
    return isinstance(attributes, dict) and openinference.is_openinference(attributes)


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans. Raises InputError naming the location."""
    return trace_of(file, NAME, list(console.spans(documents)))
