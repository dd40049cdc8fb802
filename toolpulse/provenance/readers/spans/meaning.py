"""What spans of OpenTelemetry say: a generation, a tool call, or something else that is passed over."""

from __future__ import annotations

from collections.abc import Sequence

from toolpulse.provenance.readers.records import Generation, ToolCall, Trace
from toolpulse.provenance.readers.spans import genai, openinference
from toolpulse.provenance.readers.spans.span import Span, in_order, is_sampled


def trace(file: str, format: str, spans: Sequence[Span]) -> Trace:  # noqa: A002 - it is the trace's word
    """The trace that spans make, in the order in which they started."""
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    for span in in_order(spans):
        found = read(span)
        if isinstance(found, Generation):
            generations.append(found)
        elif found is not None:
            calls.append(found)
    return Trace(
        file=file,
        format=format,
        generations=tuple(generations),
        tool_calls=tuple(calls),
        sampled=any(is_sampled(span.attributes, span.state) for span in spans),
    )


def read(span: Span) -> Generation | ToolCall | None:
    """What one span says, by the attributes it carries."""
    return openinference.read(span) if openinference.is_one(span.attributes) else genai.read(span)
