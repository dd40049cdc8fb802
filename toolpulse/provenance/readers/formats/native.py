"""Traces as ToolPulse writes them: JSON lines, attributes flat on each span, a run manifest first where there is one.

A line with ``span_type`` ``run_manifest`` has the manifest. Lines of ``kind`` ``generation`` are calls to models, those
of ``kind`` ``tool`` are calls of tools, and all others are left out. ``toolpulse.provenance.writer`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from toolpulse._base.files import named
from toolpulse.errors import InputError
from toolpulse.provenance.manifest import Manifest, manifest_of
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.readers.records import Generation, ToolCall, Trace
from toolpulse.provenance.readers.sampling import is_sampled
from toolpulse.provenance.readers.spans import stamped
from toolpulse.provenance.readers.spans.span import Span
from toolpulse.provenance.readers.values import required_object, text_or_none

NAME: Final = "native"
MANIFEST: Final = "run_manifest"


def recognizes(document: object) -> bool:
    """Whether a line may be in this format."""
    return isinstance(document, dict) and (
        isinstance(document.get("kind"), str) or "span_type" in document or stamped.is_stamped(document)
    ) and not {"context", "resourceSpans"} & document.keys()  # fmt: skip


def read(file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
    """The trace in a file's lines. Raises InputError naming file and line where one cannot be judged."""
    manifest: Manifest | None = None
    run: object = None  # the manifest id of the lines so far
    sampled = False
    generations: list[Generation] = []
    calls: list[ToolCall] = []
    returned: set[str] = set()
    for number, (location, document) in enumerate(documents):
        line = required_object(document, location, "a span")
        sampled = sampled or is_sampled(line)
        if line.get("span_type") == MANIFEST:
            manifest = _manifest(location, line, first=number == 0)
            run = line.get(names.MANIFEST_ID, manifest.manifest_id)
            continue
        run = _same_run(location, line, run)
        returned |= {model} if (model := text_or_none(line.get(names.NATIVE_RETURNED_MODEL))) else set()
        kind = _kind(location, line)
        if kind == "generation":
            generations.append(stamped.read(Span(location=location, attributes=line), line, coverage="full"))
        elif kind == "tool":
            calls.append(_tool_call(location, line))
    return Trace(
        file=file,
        format=NAME,
        manifest=manifest,
        generations=tuple(generations),
        tool_calls=tuple(calls),
        returned_models=tuple(sorted(returned)),
        sampled=sampled,
    )


def _manifest(location: str, line: dict[str, Any], *, first: bool) -> Manifest:
    if not first:
        raise InputError(f"{location}: a run manifest stands on the first line only: this trace mixes runs")
    try:
        return manifest_of(line)
    except InputError as error:
        raise named(location, error) from None


def _same_run(location: str, line: Mapping[str, Any], run: object) -> object:
    """The manifest id of the run after one more line: the first that is named. Raises InputError for a second one."""
    named_here = line.get(names.MANIFEST_ID)
    if run is not None and named_here is not None and named_here != run:
        raise InputError(f"{location}: {names.MANIFEST_ID} is not that of the lines before: this trace mixes runs")
    return named_here if run is None else run


def _kind(location: str, line: Mapping[str, Any]) -> str:
    kind = line.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise InputError(f"{location}: kind must be text, not {type(kind).__name__}")
    if kind != "tool" and stamped.is_stamped(line):  # whatever its kind became, a comparison must not lose it
        return "generation"
    return kind or ""


def _tool_call(location: str, line: Mapping[str, Any]) -> ToolCall:
    name = line.get(names.TOOL_NAME, line.get("name"))
    if not isinstance(name, str):
        raise InputError(f"{location}: {names.TOOL_NAME} must be text")
    return ToolCall(
        location=location,
        name=name,
        arguments=line.get(names.TOOL_ARGUMENTS, msgspec.UNSET),
        result=line.get(names.TOOL_RESULT, msgspec.UNSET),
        failed=line.get(names.ERROR) is not None or line.get("status") in ("error", "ERROR"),
        generation_id=text_or_none(line.get(names.GENERATION_ID)),
        manifest_id=text_or_none(line.get(names.MANIFEST_ID)),
    )
