"""The trace that spans of OpenTelemetry make: each is a generation, a tool call, or something else that is left out."""

from __future__ import annotations

from collections.abc import Sequence

from toolpulse.provenance.readers.records import Generation, ToolCall, Trace, in_order
from toolpulse.provenance.readers.sampling import is_sampled
from toolpulse.provenance.readers.spans import genai, openinference
from toolpulse.provenance.readers.spans.span import Span


def trace_of(file: str, format: str, spans: Sequence[Span]) -> Trace:  # noqa: A002 - it is the trace's word
    """The trace in some spans, ordered by the times at which they started.

    Raises InputError, the location in front, where a span cannot be judged.
    """
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    for span in in_order(spans):
        record = _read(span)
        if isinstance(record, Generation):
            generations.append(record)
        elif record is not None:
            calls.append(record)
    return Trace(
        file=file,
        format=format,
        generations=tuple(generations),
        tool_calls=tuple(calls),
        sampled=any(is_sampled(span.attributes, span.state) for span in spans),
    )


def _read(span: Span) -> Generation | ToolCall | None:
    return openinference.read(span) if openinference.is_openinference(span.attributes) else genai.read(span)
