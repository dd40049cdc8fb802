"""What OpenTelemetry's console exporter for Python prints: spans as JSON objects, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.spans.trace import trace_of
from toolpulse.provenance.readers.values import list_or_empty, nanoseconds, required_object

NAME: Final = "console"


def recognizes(document: object) -> bool:
    """Whether a document may be a span in this format."""
    return isinstance(document, dict) and isinstance(document.get("context"), dict) and "attributes" in document


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in such spans, also where they are elements of arrays. Raises InputError naming the location."""
    return trace_of(file, NAME, list(spans(documents)))


def spans(documents: Iterable[tuple[str, Any]]) -> Iterator[Span]:
    """The spans in documents that are one each, or arrays of them. Raises InputError naming the location."""
    for location, document in documents:
        for one in document if isinstance(document, list) else [document]:
            yield _span(location, required_object(one, location, "a span"))


def _span(location: str, span: dict[str, Any]) -> Span:
    def part(holder: dict[str, Any], key: str, what: str) -> dict[str, Any]:
        return required_object(holder.get(key) or {}, location, what)

    status, context, resource = (part(span, key, key) for key in ("status", "context", "resource"))
    described = part(resource, "attributes", "resource.attributes")
    # of what describes the whole program, only what says whether spans were sampled
    about_sampling = {name: value for name, value in described.items() if "sampl" in name.lower()}
    dropped = span.get("dropped_attributes") or 0
    return Span(
        location=location,
        attributes=about_sampling | part(span, "attributes", "attributes"),
        events=tuple(
            (str(event.get("name")), part(event, "attributes", "attributes"))
            for event in list_or_empty(span.get("events"))
            if isinstance(event, dict)
        ),
        started=nanoseconds(span.get("start_time")),
        failed=status.get("status_code") == "ERROR",
        dropped=dropped if isinstance(dropped, int) else 1,
        state=_state(context.get("trace_state")),
    )


def _state(shown: object) -> str:
    """The exporter prints the trace state as Python shows a list of texts: ``['ot=th:8']``."""
    return shown.strip("[]").replace("'", "").replace(", ", ",") if isinstance(shown, str) else ""
