"""Reading traces, whichever program wrote them.

``load_trace`` reads a file. What it does, in this order: ``json_documents`` reads the documents of the file, one module
of ``formats`` takes them apart, ``spans`` reads what a span of OpenTelemetry says, ``messages`` and ``captured`` turn
content into fingerprints, and ``records`` has what comes out. A new format is one module in ``formats`` and its name in
``_FORMATS``. Called by ``gate``, by ``environment`` and by the command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.readers.formats import console, langfuse, langsmith, logfire, native, openinference, otlp
from toolpulse.provenance.readers.json_documents import documents
from toolpulse.provenance.readers.records import Generation, ToolCall, Trace

__all__ = ["FORMATS", "Generation", "ToolCall", "Trace", "load_trace"]


class _Format(Protocol):
    """What a module of ``formats`` has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """The name by which users ask for the format."""

    def recognizes(self, document: object) -> bool:
        """Whether a document of a file may be in this format."""

    def read(self, file: str, documents: Iterable[tuple[str, Any]]) -> Trace:
        """The trace in a file's documents, each with its location. Raises InputError naming the location."""


_FORMATS: Final[tuple[_Format, ...]] = (otlp, langfuse, langsmith, openinference, logfire, console, native)
"""In the order in which they are asked; those further down also recognize what others write."""

FORMATS: Final = ("auto", *sorted(one.NAME for one in _FORMATS))
"""The names of formats, and ``auto``, which recognizes the format by what the file holds."""


def load_trace(path: str | os.PathLike[str], format: str = "auto") -> Trace:  # noqa: A002 - the word users type
    """Read a trace from a file.

    ``format`` is one of ``FORMATS``. Fingerprints that spans carry are read; those of other spans are computed from the
    content that was captured, as far as it is complete.

    Raises ConfigurationError for an unknown format; InputError that names file, line and what is wrong where the file
    cannot be read, is of no known format, or a span of it cannot be judged; SchemaMissing and SchemaUnsupported for a
    run manifest in front of it.
    """
    if format not in FORMATS:
        raise ConfigurationError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    file = os.fspath(path)
    located = list(documents(path))
    if not located:
        raise InputError(f"{file}: empty: no trace in it")
    reader = _recognized(located) if format == "auto" else next(one for one in _FORMATS if format == one.NAME)
    trace = reader.read(file, located)
    returned = {one.returned_model for one in trace.generations if one.returned_model}
    return msgspec.structs.replace(trace, returned_models=tuple(sorted(returned | set(trace.returned_models))))


def _recognized(located: list[tuple[str, Any]]) -> _Format:
    """The first format that recognizes any document of the file: a rare mark decides over one that all spans have."""
    for one in _FORMATS:
        if any(one.recognizes(document) for _, document in located):
            return one
    known = ", ".join(FORMATS[1:])
    raise InputError(f"{located[0][0]}: a trace of no known format ({known})")
