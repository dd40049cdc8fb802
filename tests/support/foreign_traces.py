"""The same call to a model in each format that is read, so that one reading can be held against the others."""

from __future__ import annotations

import base64
import json

from traces import GIVEN, SEARCH, write

from toolpulse.provenance.generation import generation_fingerprint
from toolpulse.provenance.readers import load_trace

HASHES = ("prompt.hash", "tool.schema_hash", "fingerprint.text_hash")
NATIVE = generation_fingerprint(**GIVEN)


MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": GIVEN["user"]}]}]
INSTRUCTIONS = [{"type": "text", "content": GIVEN["system"]}]
ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "model-x-2025-01",
    "gen_ai.request.temperature": 0.0,
    "gen_ai.request.max_tokens": 300,
    "gen_ai.system_instructions": json.dumps(INSTRUCTIONS),
    "gen_ai.input.messages": json.dumps(MESSAGES),
    "gen_ai.tool.definitions": json.dumps([SEARCH]),
}


def console(attributes, **more):
    """A span as the console exporter prints it."""
    return {"context": {"span_id": "0x1"}, "start_time": "2026-01-01T00:00:00Z", "attributes": attributes} | more


def otlp_value(value):
    """A value as OTLP's JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": int(value) if value.is_integer() else value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": otlp_value(v)} for k, v in value.items()]}}
    return {"stringValue": value}


def otlp(attributes, **more):
    """An export request with one span."""
    pairs = [{"key": name, "value": otlp_value(value)} for name, value in attributes.items()]
    span = {"spanId": base64.b64encode(b"12345678").decode(), "attributes": pairs, **more}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def only(tmp_path, document, **options):
    """The one generation of a document."""
    (one,) = load_trace(write(tmp_path / "t.json", document), **options).generations
    return one


def flattened():
    """The usual call as OpenInference writes it."""
    return {
        "openinference.span.kind": "LLM",
        "llm.model_name": "model-x-2025-01",
        "llm.invocation_parameters": json.dumps({"model": "model-x-2025-01", "temperature": 0, "max_tokens": 300}),
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": GIVEN["system"],
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": GIVEN["user"],
        "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": SEARCH}),
    }


LANGFUSE = {
    "trace": {},
    "observations": [
        {
            "type": "GENERATION",
            "model": "model-x-2025-01-0315",
            "modelParameters": {"temperature": "0", "max_tokens": "300"},
            "input": [{"role": "system", "content": GIVEN["system"]}, {"role": "user", "content": GIVEN["user"]}],
            "metadata": json.dumps(
                {
                    "attributes": {
                        "gen_ai.request.model": "model-x-2025-01",
                        "gen_ai.request.temperature": "0.0",
                        "gen_ai.tool.definitions": [{"type": "function", "function": SEARCH}],
                        "gen_ai.response.model": "model-x-2025-01-0315",
                    }
                }
            ),
        }
    ],
}
LANGSMITH = {
    "run_type": "llm",
    "extra": {
        "invocation_params": {
            "model": "model-x-2025-01",
            "temperature": 0,
            "max_tokens": 300,
            "tools": [{"name": "search_docs", "description": "Search docs", "input_schema": SEARCH["parameters"]}],
        }
    },
    "inputs": {
        "messages": [
            [
                {"lc": 1, "id": ["langchain", "schema", "SystemMessage"], "kwargs": {"content": GIVEN["system"]}},
                {"lc": 1, "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": GIVEN["user"]}},
            ]
        ]
    },
    "outputs": {"model": "model-x-2025-01-0315"},
}  # fmt: skip
