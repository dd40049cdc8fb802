"""A prompt's spec and its published fingerprint."""

from __future__ import annotations

SPEC = {
    "model": "model-x-2025-01",
    "system": "Answer only from the supplied evidence.",
    "template": "Evidence: {evidence}\nQuestion: {question}",
    "temperature": 0.0,
    "max_tokens": 300,
    "examples": [],
    "schema": "answer-v1",
}
FULL = "11ea553565b5b03c9f7b98a150a4142c3d4a11f0f46cf4f432908adf23ebbf00"
