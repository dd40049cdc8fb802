"""One tool's definition in each provider's form, and edits of it."""

from __future__ import annotations

import copy
import hashlib
import json
from types import SimpleNamespace

from toolpulse.provenance.tools import (
    tools_diff,
)

PARAMETERS = {
    "type": "object",
    "properties": {"q": {"type": "string", "description": "What to look for"}, "limit": {"type": "integer"}},
    "required": ["q"],
}
WORDS = {"name": "search_docs", "description": "Search docs"}
SEARCH = {**WORDS, "parameters": PARAMETERS}

SHAPES = {
    "openai chat": {"type": "function", "function": {**SEARCH, "strict": True}},
    "openai responses": {"type": "function", **SEARCH, "strict": True},
    "anthropic": {**WORDS, "input_schema": PARAMETERS},
    "anthropic custom": {"type": "custom", **WORDS, "input_schema": PARAMETERS},
    "mcp": {**WORDS, "inputSchema": PARAMETERS},
    "opentelemetry": {"type": "function", **SEARCH},
    "mcp object": SimpleNamespace(**WORDS, inputSchema=PARAMETERS, title=None, outputSchema=None, annotations=None),
    "fastmcp object": SimpleNamespace(**WORDS, parameters=PARAMETERS, output_schema=None, fn=print),
}


def tool(parameters=PARAMETERS, **more):
    """A set of one tool."""
    return [{**SEARCH, "parameters": parameters, **more}]


def edited(edit):
    """The tool after an edit of its parameters."""
    parameters = copy.deepcopy(PARAMETERS)
    edit(parameters)
    return tool(parameters)


def told(old, new):
    """What a diff says, without the evidence."""
    return [(c.risk.value, c.rule_id, c.path, c.before, c.after) for c in tools_diff(old, new).changes]


Q = "search_docs.q"


def naive(tools):
    """One hash over all definitions."""
    return hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()
