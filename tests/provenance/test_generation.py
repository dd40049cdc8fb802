from __future__ import annotations

import copy
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import FETCH, GIVEN, SEARCH, renamed

from toolpulse.errors import ConfigurationError
from toolpulse.provenance.generation import (
    completion_event,
    generation_fingerprint,
    read_temperature,
)

# from the vectors for this format: 16 digits each of prompt.hash, tool.schema_hash and fingerprint.tuple
VECTORS = {
    "query": ({}, "ee1443b7baec3bb1", "0533c10acf6c0c3b", "0d33a245d5728af9"),
    "q": ({"tools": [renamed()]}, "6d58df170d71391e", "c054c005df3a334d", "39a6af5c7d7aeb32"),
    "no model": ({"model": None, "temperature": None}, "ee1443b7baec3bb1", "0533c10acf6c0c3b", "054762a590f0cd9b"),
    "no tools": ({"tools": []}, "98e8094282d35084", "4f53cda18c2baa0c", "bc0e29de3b28e886"),
}


def fingerprint(**changes):
    """The fingerprint of the usual call with changes."""
    return generation_fingerprint(**(GIVEN | changes))


@pytest.mark.parametrize("name", VECTORS)
def test_published_hashes_are_met(name):
    """Spans stamped by the published recipe stay comparable with ours."""
    changes, prompt, tools, five = VECTORS[name]
    found = fingerprint(**changes)
    assert (found["prompt.hash"], found["tool.schema_hash"], found["fingerprint.tuple"]) == (prompt, tools, five)


def test_the_attributes_of_a_span():
    """What is set on a span is a contract with whoever reads it."""
    found = fingerprint(generation_id="g1", manifest_id="f1682b74cdeebdc4")
    assert {name for name in found if not name.startswith("fingerprint.")} == {
        "prompt.hash",
        "tool.schema_hash",
        "gen_ai.request.model",
        "gen_ai.request.temperature",
        "generation_id",
        "manifest_id",
    }
    assert found["fingerprint.schema"] == 1
    assert found["fingerprint.missing_model"] == "false"
    assert found["fingerprint.model_source"] == "request"
    assert found["fingerprint.tools.coverage"] == "full"
    assert json.loads(found["fingerprint.tools.digests"])[0][0] == "search_docs"
    assert all(isinstance(value, str | int | float) for value in found.values())


def test_an_argument_that_is_renamed_changes_the_tools_and_not_the_text():
    """Prompt.hash covers the tools, so the text needs a hash of its own to be acquitted."""
    one, other = fingerprint(), fingerprint(tools=[renamed()])
    assert one["prompt.hash"] != other["prompt.hash"], "the naive way: the prompt is blamed"
    assert one["fingerprint.text_hash"] == other["fingerprint.text_hash"]
    assert one["tool.schema_hash"] != other["tool.schema_hash"]


def test_tools_that_are_unknown_are_not_no_tools():
    """The digest of an empty list stands for an agent without tools, never for one whose tools were not seen."""
    naive = [hashlib.sha256(json.dumps(tools or []).encode()).hexdigest() for tools in (None, [])]
    assert naive[0] == naive[1], "the naive way"
    unknown, none = fingerprint(tools=None), fingerprint(tools=[])
    assert unknown["fingerprint.tools.coverage"] == "none"
    assert "tool.schema_hash" not in unknown
    assert "prompt.hash" not in unknown
    assert none["fingerprint.tools.coverage"] == "full"
    assert none["tool.schema_hash"] == "4f53cda18c2baa0c"


def test_parameters_have_one_type_each():
    """A Langfuse export writes 300 as text; that is no other run."""
    assert fingerprint(params={"max_tokens": "300"}) == fingerprint(params={"max_tokens": 300})
    assert fingerprint(params={"top_p": 1}) == fingerprint(params={"top_p": 1.0})
    hashes = [fingerprint(params=params).get("fingerprint.params_hash") for params in (None, {}, {"seed": 7})]
    assert hashes[0] is None
    assert len(set(hashes)) == 3


def test_the_temperature_is_no_parameter_beside_itself():
    """Two places for one number could disagree."""
    with pytest.raises(ConfigurationError, match="params: temperature"):
        fingerprint(params={"temperature": 0.0})


@pytest.mark.parametrize("model", [None, "", "  "])
def test_a_blank_model_is_a_missing_one(model):
    """An environment variable that is not set gives an empty text, not None."""
    found = fingerprint(model=model)
    assert found["fingerprint.missing_model"] == "true"
    assert found["fingerprint.model_source"] == "absent"
    assert "gen_ai.request.model" not in found


@pytest.mark.parametrize(
    ("model", "source"), [("m", "response"), ("m", "absent"), (None, "request"), (None, "config"), (7, None)]
)
def test_a_source_that_cannot_be_is_refused(model, source):
    """The source of a model decides whether anybody believes it."""
    with pytest.raises(ConfigurationError, match="model"):
        fingerprint(model=model, model_source=source)


def test_a_key_makes_every_hash_an_hmac_and_says_so():
    """A plain hash confirms whoever guesses the prompt; keyed and plain spans must not look like two prompts."""
    plain, keyed = fingerprint(), fingerprint(key=b"k")
    for name in ("prompt.hash", "tool.schema_hash", "fingerprint.text_hash", "fingerprint.params_hash"):
        assert plain[name] != keyed[name]
    assert "fingerprint.key_id" not in plain
    assert keyed["fingerprint.key_id"] == fingerprint(key="k")["fingerprint.key_id"]
    assert keyed["fingerprint.key_id"] != fingerprint(key="other")["fingerprint.key_id"]


def test_nothing_that_is_passed_in_is_changed():
    """The definitions go on to the model; a fingerprint that edits them changes the product."""
    given = copy.deepcopy(GIVEN) | {"tools": [SEARCH, {"name": "b", "parameters": {"a": 1.0}}]}
    before = copy.deepcopy(given)
    generation_fingerprint(**given)
    assert given == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(system=json_values, user=json_values)
def test_nothing_of_a_prompt_is_on_the_span(system, user):
    """A span carries hashes, and numbers and names that are no text of a prompt."""
    found = fingerprint(system={"canary-s": system}, user={"canary-u": user}, tools=[FETCH])
    assert "canary" not in json.dumps(found)


def test_a_completion_has_a_hash_on_an_event_of_its_own():
    """On the generation it would be a fingerprint of the response, which no set-up has."""
    event = completion_event("g1", "Three times.")
    expected = hashlib.sha256(b"Three times.").hexdigest()[:16]
    assert event == {
        "kind": "event",
        "name": "completion",
        "generation_id": "g1",
        "fingerprint.completion_hash": expected,
    }
    assert completion_event("g1", {"answer": 3}) == completion_event("g1", {"answer": 3})
    assert not any("completion" in name for name in fingerprint())


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_temperature_survives_its_text(value):
    """Exports carry numbers as text; reading them back must give the same number."""
    assert read_temperature(repr(value)) == read_temperature(value) == value
