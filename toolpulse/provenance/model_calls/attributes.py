"""The names of the span attributes that provenance reads and writes, all in this one table.

``prompt.hash`` and ``tool.schema_hash`` were published before there was a prefix; what came later has ``fingerprint.``.
Those under ``gen_ai.`` are OpenTelemetry's GenAI conventions, which are still in development: names that changed stand
beside those they replaced.
"""

from __future__ import annotations

from typing import Final

PROMPT_HASH: Final = "prompt.hash"
TOOLS_HASH: Final = "tool.schema_hash"
TEXT_HASH: Final = "fingerprint.text_hash"
"""Of system and user alone: ``prompt.hash`` covers the tools too, so it does not show which of them changed."""
PARAMS_HASH: Final = "fingerprint.params_hash"
TUPLE: Final = "fingerprint.tuple"
COVERAGE: Final = "fingerprint.tools.coverage"
DIGESTS: Final = "fingerprint.tools.digests"
"""JSON text ``[[name, digest of the contract, digest of the description], ...]``, in the order of the tools."""
MISSING_MODEL: Final = "fingerprint.missing_model"
MODEL_SOURCE: Final = "fingerprint.model_source"
SCHEMA: Final = "fingerprint.schema"
KEY_ID: Final = "fingerprint.key_id"
TRUNCATED: Final = "fingerprint.truncated"
SAMPLED: Final = "fingerprint.sampled"
COMPLETION_HASH: Final = "fingerprint.completion_hash"

GENERATION_ID: Final = "generation_id"
MANIFEST_ID: Final = "manifest_id"
SPAN_MANIFEST_ID: Final = "fingerprint.manifest_id"
"""``manifest_id`` as it is written on a span of OpenTelemetry, where attributes have a prefix."""

OPERATION: Final = "gen_ai.operation.name"
MODEL: Final = "gen_ai.request.model"
TEMPERATURE: Final = "gen_ai.request.temperature"
RETURNED_MODEL: Final = "gen_ai.response.model"
NATIVE_RETURNED_MODEL: Final = "model_returned"
REQUEST: Final = "gen_ai.request."
PREVIOUS_RESPONSE: Final = "gen_ai.request.previous_response.id"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT: Final = "gen_ai.input.messages"
OLD_INPUT: Final = "gen_ai.prompt"
TOOLS: Final = "gen_ai.tool.definitions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
ERROR: Final = "error.type"

TUPLE_OF: Final = (PROMPT_HASH, TOOLS_HASH, MODEL, TEMPERATURE, MISSING_MODEL)
"""What ``fingerprint.tuple`` is the digest of."""

GENERATING: Final = frozenset({"chat", "generate_content", "text_completion"})
"""The operations that ask a model for text."""

RENAMED: Final = {
    "gen_ai.openai.request.seed": "gen_ai.request.seed",
    "gen_ai.request.choice.count": "gen_ai.request.n",
}
"""Older or longer names, and what they stand for here."""

# which type each sampling parameter has, whatever it was written as
FLOATS: Final = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})
INTEGERS: Final = frozenset({"max_tokens", "max_output_tokens", "seed", "top_k", "n"})
PARAMETERS: Final = (FLOATS | INTEGERS) - {"temperature"} | {"stop_sequences"}
"""The sampling parameters that are looked for on a span, beside the temperature."""
