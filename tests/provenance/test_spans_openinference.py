from __future__ import annotations

from foreign_traces import console, only
from traces import GIVEN

from toolpulse.provenance.generation import generation_fingerprint


def test_messages_are_put_together_by_number(tmp_path):
    """As text, 10 comes before 2."""
    said = [f"message {number}" for number in range(12)]
    attributes = {"openinference.span.kind": "LLM"}
    for number, text in sorted(enumerate(said), key=lambda pair: str(pair[0])):
        attributes[f"llm.input_messages.{number}.message.role"] = "user"
        attributes[f"llm.input_messages.{number}.message.content"] = text
    expected = generation_fingerprint(**(GIVEN | {"system": None, "user": said, "tools": None}))
    found = only(tmp_path, console(attributes))
    assert found.fingerprint["fingerprint.text_hash"] == expected["fingerprint.text_hash"]
    del attributes["llm.input_messages.7.message.role"], attributes["llm.input_messages.7.message.content"]
    cut = only(tmp_path, console(attributes))
    assert cut.remarks == ("truncated",)
    assert "fingerprint.text_hash" not in cut.fingerprint
