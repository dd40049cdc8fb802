"""OTLP as JSON: the body of an export request, one a file or one a line, as the collector's file exporter writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolpulse.errors import InputError
from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.spans.trace import trace_of
from toolpulse.provenance.readers.values import nanoseconds, required_object

NAME: Final = "otlp"


def recognizes(document: object) -> bool:
    """Whether a document may be in this format."""
    return isinstance(document, dict) and bool({"resourceSpans", "resourceLogs", "resourceMetrics"} & document.keys())


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in export requests; logs and metrics among them are left out. Raises InputError naming the location."""
    spans = [
        _span(location, span, resource)
        for location, document in documents
        for resource, span in _spans(location, required_object(document, location, "an export request"))
    ]
    return trace_of(file, NAME, spans)


def _spans(location: str, request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each span of a request, with the attributes of its resource in front."""
    for group in _list(location, request, "resourceSpans"):
        resource = _attributes(location, required_object(group.get("resource") or {}, location, "resource"))
        for scope in _list(location, group, "scopeSpans"):
            for span in _list(location, scope, "spans"):
                yield resource, span


def _list(location: str, holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A field that must be an array of objects; an empty one where it is missing."""
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{location}: {name} must be an array, not {type(value).__name__}")
    return [required_object(one, location, f"an element of {name}") for one in value]


def _span(location: str, span: dict[str, Any], resource: dict[str, Any]) -> Span:
    status = required_object(span.get("status") or {}, location, "status")
    dropped = span.get("droppedAttributesCount") or 0
    return Span(
        location=location,
        # of what describes the whole program, only what says whether spans were sampled
        attributes={k: v for k, v in resource.items() if "sampl" in k.lower()} | _attributes(location, span),
        events=tuple((str(e.get("name")), _attributes(location, e)) for e in _list(location, span, "events")),
        started=nanoseconds(span.get("startTimeUnixNano")),
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        dropped=dropped if isinstance(dropped, int) else 1,
        state=str(span.get("traceState") or ""),
    )


def _attributes(location: str, holder: dict[str, Any]) -> dict[str, Any]:
    return {str(one.get("key")): _value(location, one.get("value")) for one in _list(location, holder, "attributes")}


def _value(location: str, value: Any) -> Any:
    """The plain value of an ``AnyValue``. Whole numbers may be text, and a double may have lost its point."""
    for name, inner in required_object(value or {}, location, "the value of an attribute").items():
        try:
            if name == "intValue":
                return int(inner)
            if name == "doubleValue":
                return float(inner)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{location}: {name} is no number") from None
        if name in {"arrayValue", "kvlistValue"}:
            held = _list(location, required_object(inner, location, name), "values")
            if name == "arrayValue":
                return [_value(location, one) for one in held]
            return {str(one.get("key")): _value(location, one.get("value")) for one in held}
        if name in {"stringValue", "boolValue", "bytesValue"}:
            return inner
    return None
