"""Fingerprints of tool definitions: for each tool, one of what it accepts and one of what is said about it.

A caller is an agent whose prompt, traces and cached calls were made for the old definitions, so a difference in the
arguments is judged for callers who still send what the old ones ask for. An output schema is judged as responses are.
Called by users' programs and by ``toolpulse tools``; reads and writes pin files.
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from toolpulse.errors import InputError
from toolpulse.provenance import record_files
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.result import Comparison
from toolpulse.provenance.schemas.functions import of_function as definition_of
from toolpulse.provenance.schemas.json_schema import whole_numbers
from toolpulse.provenance.schemas.tool_differences import causes, findings
from toolpulse.provenance.schemas.tool_set import SCHEMA, Tool, ToolSet

__all__ = [
    "PIN", "SCHEMA", "ToolSet", "check", "definition_of", "load_pin", "pin", "tools_diff", "tools_fingerprint",
    "whole_numbers",
]  # fmt: skip

PIN: Final = "tool pin"
"""The ``kind`` of a pin file."""


def tools_fingerprint(tools: object) -> dict[str, Any]:
    """The fingerprint of tool definitions: ``schema``, ``tools`` (name to ``contract`` and ``description``), ``order``
    (the names), ``digest``; digests are 64 hex digits.

    ``tools``: a list of definitions as OpenAI (chat, responses), Anthropic, MCP or OpenTelemetry write them, of live
    functions, or an MCP ``tools/list`` result as object or dict. A contract is the parameters (and the output schema)
    without descriptions, titles, examples and comments; key order is irrelevant, ``required``, ``enum`` and ``type``
    are sets, ``1.0`` is ``1``. The same tool has the same contract in every one of those forms. The description covers
    the words that were left out, and MCP's annotations. ``digest`` covers all of it and the order.

    Raises InputError for two tools of one name and for a tool whose parameters were not written down (OpenTelemetry
    leaves them out by default), CanonicalError where a schema is no JSON.
    """
    return ToolSet.of(tools).fingerprint()


def tools_diff(one: object, other: object) -> Comparison:
    """What differs between two sets of tools: ``one`` is what callers know, ``other`` what they meet now.

    Either is anything ``tools_fingerprint`` takes, or a ToolSet. The comparison is ``DIFFERENT`` with any difference,
    and then has at least one change: an argument's path begins with its tool (``search_docs.q``). ``primary`` is the
    first of the causes ``removed``, ``contract``, ``added``, ``description``, ``reordered``; each names its tools.
    Raises as ``tools_fingerprint``.
    """
    old, new = ToolSet.of(one), ToolSet.of(other)
    reasons = tuple(causes(old, new))
    if not reasons:
        return Comparison(Code.OK, "same", message="the same tools")
    changes = tuple(sorted(findings(old, new), key=lambda finding: finding.risk.rank))
    return Comparison(Code.DIFFERENT, reasons[0].reason, reasons, changes, message="; ".join(map(str, reasons)))


def pin(path: str | os.PathLike[str], tools: object) -> dict[str, Any]:
    """Write a pin file: the contracts, and digests of the words. It is made to be committed. Returns the fingerprint.

    Raises as ``tools_fingerprint``, and OSError where the file cannot be written.
    """
    known = ToolSet.of(tools)
    fingerprint = known.fingerprint()
    rows = {
        name: {**fingerprint["tools"][name], "accepts": tool.accepts, "words": tool.words}
        for name, tool in known.tools.items()
    }
    record_files.save(path, {**fingerprint, "tools": rows}, kind=PIN, schema=SCHEMA)
    return fingerprint


def load_pin(path: str | os.PathLike[str]) -> ToolSet:
    """Read a pin file.

    Raises InputError, the file's name in front, where it is none, or where its contracts no longer fit its digests;
    SchemaMissing and SchemaUnsupported.
    """
    document = record_files.load(path, kind=PIN, schema=SCHEMA)
    try:
        known = ToolSet({name: msgspec.convert(document["tools"][name], Tool) for name in document["order"]})
        written = {n: {k: row[k] for k in ("contract", "description")} for n, row in document["tools"].items()}
        fits = known.fingerprint() == {
            "schema": SCHEMA, "tools": written, "order": document["order"], "digest": document["digest"],
        }  # fmt: skip
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
        raise InputError(f"{os.fspath(path)}: not a {PIN}") from None
    if not fits:
        raise InputError(f"{os.fspath(path)}: edited: its digests are not those of its contracts; pin the tools anew")
    return known


def check(path: str | os.PathLike[str], tools: object) -> Comparison:
    """Compare tools with a pin file. Without the file the comparison is ``PRECONDITION``, ``no_pin``.

    Raises as ``load_pin`` and ``tools_fingerprint``.
    """
    known = ToolSet.of(tools)
    if not os.path.lexists(path):
        message = f"no pin at {os.fspath(path)}; toolpulse tools pin writes one"
        return Comparison(Code.PRECONDITION, "no_pin", message=message)
    return tools_diff(load_pin(path), known)
