from __future__ import annotations

import json

import pytest
from foreign_traces import ATTRIBUTES, MESSAGES, NATIVE, console, only
from traces import SEARCH

from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.gate import gate

INCOMPLETE = {
    "cut text of messages": ({"gen_ai.input.messages": json.dumps(MESSAGES)[:-9]}, ("truncated",)),
    "cut text of tools": ({"gen_ai.tool.definitions": json.dumps([SEARCH])[:40]}, ("truncated",)),
    "text left out": ({"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text"}]}]}, ()),
    "no messages": ({"gen_ai.input.messages": None}, ()),
    "the end of a conversation": (
        {"gen_ai.input.messages": [{"role": "tool", "parts": []}]},
        ("partial_input",),
    ),
    "a previous response": ({"gen_ai.request.previous_response.id": "resp_1"}, ("partial_input",)),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_a_hash_is_of_complete_content_or_there_is_none(tmp_path, case):
    """Equal beginnings of two prompts would be equal hashes."""
    changes, remarks = INCOMPLETE[case]
    one = only(tmp_path, console(ATTRIBUTES | changes))
    assert one.remarks == remarks
    assert "prompt.hash" not in one.fingerprint
    comparison = gate(tmp_path / "t.json", tmp_path / "t.json")
    assert comparison.code is Code.INCOMPARABLE


def said_by(tmp_path, *messages):
    """The fingerprint of a call with these messages."""
    return only(tmp_path, console(ATTRIBUTES | {"gen_ai.input.messages": list(messages)})).fingerprint


ASKED = {"role": "user", "content": "retry policy?"}


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "search_docs"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"results": []}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "Three times."}]},
    ],
)
def test_what_was_answered_is_no_part_of_the_prompt(tmp_path, answer):
    """Else the second step of every run has another prompt, because the first one went otherwise."""
    found = said_by(tmp_path, ASKED, answer)
    assert found["prompt.hash"] == NATIVE["prompt.hash"]
    beside = {"role": "user", "content": [{"type": "tool_result"}, {"type": "text", "text": "retry policy?"}]}
    assert said_by(tmp_path, beside)["prompt.hash"] == NATIVE["prompt.hash"]


@pytest.mark.parametrize("stranger", [{"role": "usr", "content": "x"}, {"content": "x"}, {"role": []}, "x", None])
def test_a_message_of_nobody_knows_whom_is_not_passed_over(tmp_path, stranger):
    """It may be what the model was asked; left out, two prompts would look equal."""
    assert "prompt.hash" not in said_by(tmp_path, ASKED, stranger)


def test_a_text_that_is_a_list_of_texts_is_another(tmp_path):
    """Two messages, and one of two parts, are sent differently."""
    parts = [{"type": "text", "text": text} for text in ("a", "b")]
    one = said_by(tmp_path, {"role": "user", "content": parts})
    two = said_by(tmp_path, *({"role": "user", "content": [part]} for part in parts))
    assert one["prompt.hash"] != two["prompt.hash"]
