"""Native traces for tests: a generation as the library stamps it, with single fields changed or taken away."""

from __future__ import annotations

import json
from pathlib import Path

from toolpulse.provenance.generation import generation_fingerprint

SEARCH = {
    "name": "search_docs",
    "description": "Search docs",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
FETCH = {"name": "fetch", "description": "Fetch a page", "parameters": {"type": "object", "properties": {}}}

GIVEN = {
    "system": "Answer only from the supplied evidence.",
    "user": "retry policy?",
    "tools": [SEARCH],
    "model": "model-x-2025-01",
    "temperature": 0.0,
    "params": {"max_tokens": 300},
}
GONE = object()


def renamed(tool=SEARCH, old="query", new="q"):
    """The tool with its one argument renamed."""
    return json.loads(json.dumps(tool).replace(f'"{old}"', f'"{new}"'))


def stamped(**given):
    """A generation's line, from what the model was given."""
    return {"kind": "generation", **generation_fingerprint(**(GIVEN | given))}


def changed(line, **fields):
    """The line with fields set, or taken away where they are GONE; ``__`` stands for a dot."""
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return {name: value for name, value in (line | named).items() if value is not GONE}


def write(path: Path, *lines) -> Path:
    """Write lines as a native trace."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def reasons(comparison):
    """The reasons of a comparison, with what they name."""
    return [(cause.reason, cause.names) for cause in comparison.causes]


def naive_gate(one, other):
    """The template's comparison: each attribute with ``get``, the first that differs is the reason."""
    for name in ("prompt.hash", "tool.schema_hash", "gen_ai.request.model", "gen_ai.request.temperature"):
        if one.get(name) != other.get(name):
            return f"mismatch:{name}"
    return "comparable"
