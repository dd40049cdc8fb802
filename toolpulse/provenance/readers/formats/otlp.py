"""OTLP as JSON: the body of an export request, one a file or one a line, as the collector's file exporter writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolpulse.errors import InputError
from toolpulse.provenance.readers.records import Trace
from toolpulse.provenance.readers.spans.meaning import trace
from toolpulse.provenance.readers.spans.span import Span, mapping, nanoseconds

NAME: Final = "otlp"


def sniff(document: object) -> bool:
    """Whether a document may be one of these."""
    return isinstance(document, dict) and bool({"resourceSpans", "resourceLogs", "resourceMetrics"} & document.keys())


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in export requests; logs and metrics among them are passed over. Raises InputError naming the place."""
    spans = [
        _span(place, span, resource)
        for place, document in documents
        for resource, span in _spans(place, mapping(document, place, "an export request"))
    ]
    return trace(file, NAME, spans)


def _spans(place: str, request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for group in _list(place, request, "resourceSpans"):
        resource = _attributes(place, mapping(group.get("resource") or {}, place, "resource"))
        for scope in _list(place, group, "scopeSpans"):
            for span in _list(place, scope, "spans"):
                yield resource, span


def _list(place: str, holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = holder.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(f"{place}: {name} must be an array, not {type(found).__name__}")
    return [mapping(one, place, f"an element of {name}") for one in found]


def _span(place: str, span: dict[str, Any], resource: dict[str, Any]) -> Span:
    status = mapping(span.get("status") or {}, place, "status")
    dropped = span.get("droppedAttributesCount") or 0
    return Span(
        place=place,
        attributes={k: v for k, v in resource.items() if "sampl" in k.lower()} | _attributes(place, span),
        events=tuple((str(e.get("name")), _attributes(place, e)) for e in _list(place, span, "events")),
        started=nanoseconds(span.get("startTimeUnixNano")),
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        dropped=dropped if isinstance(dropped, int) else 1,
        state=str(span.get("traceState") or ""),
    )


def _attributes(place: str, holder: dict[str, Any]) -> dict[str, Any]:
    return {str(one.get("key")): _value(place, one.get("value")) for one in _list(place, holder, "attributes")}


def _value(place: str, value: Any) -> Any:
    """The plain value of an ``AnyValue``. Whole numbers may be text, and a double may have lost its point."""
    for name, inner in mapping(value or {}, place, "the value of an attribute").items():
        try:
            if name == "intValue":
                return int(inner)
            if name == "doubleValue":
                return float(inner)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{place}: {name} is no number") from None
        if name in {"arrayValue", "kvlistValue"}:
            held = _list(place, mapping(inner, place, name), "values")
            if name == "arrayValue":
                return [_value(place, one) for one in held]
            return {str(one.get("key")): _value(place, one.get("value")) for one in held}
        if name in {"stringValue", "boolValue", "bytesValue"}:
            return inner
    return None
