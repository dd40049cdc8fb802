"""What OpenTelemetry's console exporter for Python prints: spans as JSON objects, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.meaning import trace
from toolpulse.provenance.readers.spans.span import Span, mapping, nanoseconds

NAME: Final = "console"


def sniff(document: object) -> bool:
    """Whether a document may be one of these."""
    return isinstance(document, dict) and isinstance(document.get("context"), dict) and "attributes" in document


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans; also where they are the elements of arrays. Raises InputError naming the place."""
    return trace(file, NAME, list(spans(documents)))


def spans(documents: Iterable[tuple[str, Any]]) -> Iterator[Span]:
    """The spans in documents that are one each, or arrays of them."""
    for place, document in documents:
        for one in document if isinstance(document, list) else [document]:
            yield _span(place, mapping(one, place, "a span"))


def _span(place: str, span: dict[str, Any]) -> Span:
    status = mapping(span.get("status") or {}, place, "status")
    context = mapping(span.get("context") or {}, place, "context")
    resource = mapping(span.get("resource") or {}, place, "resource")
    described = mapping(resource.get("attributes") or {}, place, "resource.attributes")
    events = span.get("events") or []
    dropped = span.get("dropped_attributes") or 0
    return Span(
        place=place,
        attributes={k: v for k, v in described.items() if "sampl" in k.lower()}
        | mapping(span.get("attributes") or {}, place, "attributes"),
        events=tuple(
            (str(e.get("name")), mapping(e.get("attributes") or {}, place, "attributes"))
            for e in (events if isinstance(events, list) else [])
            if isinstance(e, dict)
        ),
        started=nanoseconds(span.get("start_time")),
        failed=status.get("status_code") == "ERROR",
        dropped=dropped if isinstance(dropped, int) else 1,
        state=_state(context.get("trace_state")),
    )


def _state(shown: object) -> str:
    """The exporter prints the trace state as Python shows a list of texts: ``['ot=th:8']``."""
    return shown.strip("[]").replace("'", "").replace(", ", ",") if isinstance(shown, str) else ""
