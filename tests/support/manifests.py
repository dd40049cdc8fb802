"""Manifests for tests: one with known fields and a known id, and one that is built from files."""

from __future__ import annotations

from toolpulse.provenance.manifest import build_manifest, manifest_of

# the vector for this format; its id is f1682b74cdeebdc4
FIELDS = {
    "model_requested": "m-alias",
    "model_returned": "m-2025-01",
    "model_params": {"temperature": 0.0, "max_tokens": 1024},
    "tool_timeout_s": 30,
    "tool_schemas": "a" * 64,
    "prompts": "b" * 64,
    "lockfile": "c" * 64,
    "python": "3.11.7",
}
DOCUMENT = {"schema": 1, **FIELDS}


def recorded(**changes):
    """The usual manifest with changes."""
    return manifest_of(DOCUMENT | changes)


def naive_classify(recorded, current):
    """The template's comparison: every key of either side with ``get``, one verdict."""
    keys = {*recorded, *current} - {"schema", "manifest_id"}
    differing = [key for key in keys if recorded.get(key) != current.get(key)]
    if not differing:
        return "SAME_ENV"
    return "MODEL_DRIFT" if any(key.startswith("model") for key in differing) else "ENV_DRIFT"


def built(parts, **changes):
    """A manifest of the folder, with changes."""
    settings = {
        "model_requested": "m",
        "model_params": {"temperature": 0},
        "tool_timeout_s": 30,
        "tools": parts / "tools",
        "prompts": parts / "prompts",
        "lockfile": parts / "lock",
        "python": "3.11.7",
    }
    return build_manifest(**(settings | changes))
