"""Reading traces, whichever program wrote them: one file here for each format, told apart by what is in the file."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any, Final

import msgspec

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.readers.formats import console, langfuse, langsmith, logfire, native, openinference, otlp
from toolpulse.provenance.readers.json_documents import documents
from toolpulse.provenance.readers.records import Generation, ToolCall, Trace

__all__ = ["FORMATS", "Generation", "ToolCall", "Trace", "load_trace"]

_READERS: Final[tuple[ModuleType, ...]] = (otlp, langfuse, langsmith, openinference, logfire, console, native)
"""In the order in which they are asked; those further down also fit what others write."""

FORMATS: Final = ("auto", *sorted(reader.NAME for reader in _READERS))


def load_trace(path: str | os.PathLike[str], format: str = "auto") -> Trace:  # noqa: A002 - the word users type
    """Read a trace from a file.

    ``format`` is one of ``FORMATS``; ``auto`` tells it by what the file holds. Fingerprints that spans carry are read;
    those of other spans are computed from the content that was captured, as far as it is complete.

    Raises ConfigurationError for an unknown format; InputError that names file, line and what is wrong where the file
    cannot be read, is of no known format, or a span of it cannot be judged, and its children SchemaMissing and
    SchemaUnsupported for a run manifest in front of it.
    """
    if format not in FORMATS:
        raise ConfigurationError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    file = os.fspath(path)
    found = list(documents(path))
    if not found:
        raise InputError(f"{file}: empty: no trace in it")
    reader = _sniffed(found) if format == "auto" else next(one for one in _READERS if format == one.NAME)
    trace: Trace = reader.read(file, found)
    returned = {one.returned_model for one in trace.generations if one.returned_model}
    return msgspec.structs.replace(trace, returned_models=tuple(sorted(returned | set(trace.returned_models))))


def _sniffed(found: list[tuple[str, Any]]) -> ModuleType:
    """The first reader that knows one of the documents: a mark that few spans carry decides over one that all do."""
    for reader in _READERS:
        if any(reader.sniff(document) for _, document in found):
            return reader
    known = ", ".join(FORMATS[1:])
    raise InputError(f"{found[0][0]}: a trace of no known format ({known})")
