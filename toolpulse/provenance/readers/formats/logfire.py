"""What Logfire's test exporter gives: an array of spans whose ids are integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolpulse.provenance.readers.formats import console
from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.trace import trace_of

NAME: Final = "logfire"


def recognizes(document: object) -> bool:
    """Whether a document may be in this format: Logfire says on each span which of its kinds it is."""
    some = document if isinstance(document, list) else [document]
    return any(isinstance(one, dict) and console.recognizes(one) and _is_by_logfire(one["attributes"]) for one in some)


def _is_by_logfire(attributes: object) -> bool:
    return isinstance(attributes, dict) and "logfire.span_type" in attributes


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans. Raises InputError naming the location."""
    return trace_of(file, NAME, list(console.spans(documents)))
