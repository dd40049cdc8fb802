"""Traces as ToolPulse writes them: JSON lines, attributes flat on each span, a run manifest first where there is one.

A line with ``span_type`` ``run_manifest`` is the head; ``kind`` ``generation`` and ``tool`` are what they say; lines of
any other kind are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.files import named
from toolpulse.errors import InputError
from toolpulse.provenance import attributes as names
from toolpulse.provenance.manifest import Manifest, manifest_of
from toolpulse.provenance.readers import stamped
from toolpulse.provenance.readers.base import Generation, ToolCall, Trace, text_or_none
from toolpulse.provenance.readers.span import Span, is_sampled, mapping

NAME: Final = "native"
HEAD: Final = "run_manifest"


def sniff(document: object) -> bool:
    """Whether a line may be one of these."""
    return isinstance(document, dict) and (
        isinstance(document.get("kind"), str) or "span_type" in document or stamped.is_one(document)
    ) and not {"context", "resourceSpans"} & document.keys()  # fmt: skip


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in a file's lines. Raises InputError naming file and line where one cannot be judged."""
    head: Manifest | None = None
    run: object = None
    sampled = False
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    returned: set[str] = set()
    for number, (place, document) in enumerate(documents):
        line = mapping(document, place, "a span")
        sampled = sampled or is_sampled(line)
        if line.get("span_type") == HEAD:
            head = _head(place, line, first=number == 0)
            run = line.get(names.MANIFEST_ID, head.manifest_id)
            continue
        run = _same_run(place, line, run)
        returned |= {model} if (model := text_or_none(line.get(names.NATIVE_RETURNED_MODEL))) else set()
        kind = _kind(place, line)
        if kind == "generation":
            generations.append(stamped.read(Span(place=place, attributes=line), line, coverage="full"))
        elif kind == "tool":
            calls.append(_tool_call(place, line))
    return Trace(
        file=file,
        format=NAME,
        manifest=head,
        generations=tuple(generations),
        tool_calls=tuple(calls),
        returned_models=tuple(sorted(returned)),
        sampled=sampled,
    )


def _head(place: str, line: dict[str, Any], *, first: bool) -> Manifest:
    if not first:
        raise InputError(f"{place}: a run manifest stands on the first line only: this trace mixes runs")
    try:
        return manifest_of(line)
    except InputError as error:
        raise named(place, error) from None


def _same_run(place: str, line: Mapping[str, Any], run: object) -> object:
    """The manifest that the spans of a trace name, the first line's or the first that is named; one trace, one run."""
    found = line.get(names.MANIFEST_ID)
    if run is not None and found is not None and found != run:
        raise InputError(f"{place}: {names.MANIFEST_ID} is not that of the lines before: this trace mixes runs")
    return found if run is None else run


def _kind(place: str, line: Mapping[str, Any]) -> str:
    kind = line.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise InputError(f"{place}: kind must be text, not {type(kind).__name__}")
    if kind != "tool" and stamped.is_one(line):  # whatever its kind became, a comparison must not lose it
        return "generation"
    return kind or ""


def _tool_call(place: str, line: Mapping[str, Any]) -> ToolCall:
    name = line.get(names.TOOL_NAME, line.get("name"))
    if not isinstance(name, str):
        raise InputError(f"{place}: {names.TOOL_NAME} must be text")
    return ToolCall(
        place=place,
        name=name,
        arguments=line.get(names.TOOL_ARGUMENTS, msgspec.UNSET),
        result=line.get(names.TOOL_RESULT, msgspec.UNSET),
        failed=line.get(names.ERROR) is not None or line.get("status") in ("error", "ERROR"),
        generation_id=text_or_none(line.get(names.GENERATION_ID)),
        manifest_id=text_or_none(line.get(names.MANIFEST_ID)),
    )
