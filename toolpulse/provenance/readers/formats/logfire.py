"""What Logfire's test exporter gives: an array of spans whose ids are integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolpulse.provenance.readers.formats import console
from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.meaning import trace

NAME: Final = "logfire"


def sniff(document: object) -> bool:
    """Whether a document may be one of these: Logfire says on each span which of its kinds it is."""
    some = document if isinstance(document, list) else [document]
    return any(isinstance(one, dict) and console.sniff(one) and _is_its_own(one["attributes"]) for one in some)


def _is_its_own(attributes: object) -> bool:
    return isinstance(attributes, dict) and "logfire.span_type" in attributes


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans. Raises InputError naming the place."""
    return trace(file, NAME, list(console.spans(documents)))
