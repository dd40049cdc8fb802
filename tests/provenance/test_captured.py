from __future__ import annotations

import msgspec
import pytest
from foreign_traces import HASHES, NATIVE
from traces import GIVEN, SEARCH

from toolpulse.errors import InputError
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.model_calls.hashes import tuple_hash
from toolpulse.provenance.readers.captured import CapturedCall, generation_of, sampling_parameters
from toolpulse.provenance.readers.messages import conversation

CALL = CapturedCall(
    location="t:1",
    said=conversation([{"role": "system", "content": GIVEN["system"]}, {"role": "user", "content": GIVEN["user"]}]),
    tools=[SEARCH],
    model=GIVEN["model"],
    temperature="0",
)


def generation(**changes):
    """The generation of the usual call with changes."""
    return generation_of(msgspec.structs.replace(CALL, **changes))


@pytest.mark.parametrize(
    "tool",
    [
        SEARCH,
        {"type": "function", "function": SEARCH},
        {"name": "search_docs", "description": "Search docs", "input_schema": SEARCH["parameters"]},
    ],
    ids=["bare", "openai", "anthropic"],
)
def test_a_captured_call_is_the_call_that_its_source_stamped(tool):
    """Whichever provider's spelling the definitions had, and whatever type the temperature."""
    found = generation(tools=[tool]).fingerprint
    assert {name: found[name] for name in HASHES} == {name: NATIVE[name] for name in HASHES}
    assert found[names.TUPLE] == tuple_hash(found)
    assert found[names.TEMPERATURE] == 0.0


@pytest.mark.parametrize(
    "changes", [{"remarks": {"truncated"}}, {"said": conversation([])}], ids=["cut", "no messages"]
)
def test_incomplete_content_has_no_hash_of_the_prompt(changes):
    """Equal beginnings of two prompts would be equal hashes; what is known of the tools stays."""
    found = generation(**changes).fingerprint
    assert names.PROMPT_HASH not in found
    assert names.TEXT_HASH not in found
    assert found[names.TOOLS_HASH] == NATIVE[names.TOOLS_HASH]


def test_a_call_without_a_model_says_so():
    """Else a comparison of two such calls would vouch for their models."""
    found = generation(model=None).fingerprint
    assert names.MODEL not in found
    assert (found[names.MISSING_MODEL], found[names.MODEL_SOURCE]) == ("true", "absent")
    assert generation().fingerprint[names.MODEL_SOURCE] == "request"


def test_what_cannot_be_judged_is_named_by_its_place():
    """The call is one of thousands."""
    with pytest.raises(InputError, match=r"^t:1: temperature must be"):
        generation(temperature="hot")
    with pytest.raises(InputError, match=r"^t:2: "):
        sampling_parameters("t:2", {"max_tokens": "many"})


def test_parameters_have_one_type_and_none_is_null():
    """``"300"`` and ``300`` are one setting, and null is the provider's default."""
    assert sampling_parameters("t:1", {"max_tokens": "300", "top_p": 1, "seed": None}) == {
        "max_tokens": 300,
        "top_p": 1.0,
    }
