from __future__ import annotations

import copy
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import FETCH, GIVEN, SEARCH, renamed, stamped

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.generation import (
    completion_event,
    coverage,
    generation_fingerprint,
    read_temperature,
    stamp_model,
    tuple_hash,
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


def test_a_temperature_is_a_number_however_it_was_written():
    """As text "0" and "0.0" would be two set-ups; OpenTelemetry wants a double."""
    assert len({str(value) for value in (0, 0.0, "0", "0.0")}) > 1, "the naive way: text"
    spans = [fingerprint(temperature=value) for value in (0, 0.0, -0.0, "0", "0.0", "0e3")]
    assert all(span == spans[0] for span in spans)
    assert isinstance(spans[0]["gen_ai.request.temperature"], float)


@pytest.mark.parametrize("temperature", [True, "warm", "", float("nan"), float("inf"), "1e400", [], 10**400])
def test_what_is_no_temperature_is_refused(temperature):
    """A temperature nobody can mean must not become part of an identity."""
    with pytest.raises(ConfigurationError, match="temperature"):
        fingerprint(temperature=temperature)


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


@pytest.mark.parametrize(
    ("tools", "known"),
    [
        (None, "none"),
        ([], "full"),
        ([SEARCH], "full"),
        ([{"type": "function", "function": SEARCH}], "full"),
        ([{"name": "a", "input_schema": {}}], "full"),
        ([{"name": "a", "inputSchema": {}}], "full"),
        ([{"type": "function", "name": "a", "parameters": None}], "full"),
        ([{"type": "web_search_20250305", "name": "web_search"}], "full"),
        ([SEARCH, {"type": "function", "name": "a"}], "names"),
        ([{"name": "a"}], "names"),
        (["a"], "names"),
    ],
)
def test_coverage_says_how_much_of_the_tools_was_there(tools, known):
    """Names alone stay equal while the schemas change, so a hash of them would vouch for what it has not seen."""
    assert coverage(tools) == known
    found = fingerprint(tools=tools)
    assert found["fingerprint.tools.coverage"] == known
    assert ("tool.schema_hash" in found) == (known == "full")


def test_a_proxy_that_rewrites_numbers_changes_no_hash():
    """JSON Schema does not tell 1.0 from 1, and a JavaScript proxy rewrites one as the other."""
    tool = {"name": "a", "parameters": {"type": "object", "maxProperties": 1.0}}
    other = {"name": "a", "parameters": {"type": "object", "maxProperties": 1}}
    assert fingerprint(tools=[tool]) == fingerprint(tools=[other])


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


def test_two_tools_of_one_name_still_have_a_hash():
    """What the provider was sent is what is fingerprinted, also where it makes little sense."""
    found = fingerprint(tools=[SEARCH, SEARCH])
    assert "tool.schema_hash" in found
    assert "fingerprint.tools.digests" not in found


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


def bytes_of(*lines):
    """Lines of a trace as bytes."""
    return [json.dumps(line).encode() + b"\n" for line in lines]


def test_stamping_declares_a_model_and_says_where_it_is_from():
    """A model from configuration was not observed, and a reader has to know that."""
    (line,) = stamp_model(bytes_of(stamped(model=None)), "model-x-2025-01")
    span = json.loads(line)
    assert span["gen_ai.request.model"] == "model-x-2025-01"
    assert span["fingerprint.missing_model"] == "false"
    assert span["fingerprint.model_source"] == "config"


def test_stamping_computes_the_tuple_anew():
    """A model set beside a tuple that was taken without one leaves a span that contradicts itself."""
    before = stamped(model=None)
    naive = {**before, "gen_ai.request.model": "m", "fingerprint.missing_model": "false"}
    assert naive["fingerprint.tuple"] != tuple_hash(naive), "the naive way"
    (line,) = stamp_model(bytes_of(before), "m")
    after = json.loads(line)
    assert after["fingerprint.tuple"] == tuple_hash(after) == stamped(model="m")["fingerprint.tuple"]


def test_every_other_line_passes_byte_for_byte():
    """A blank line is no span and no error; order of keys, spaces and line ends are not ours to change."""
    lines = [
        b"\xef\xbb\xbf" + b'{ "span_type" : "run_manifest", "schema":1 }\r\n',
        b"\n",
        b'  {"kind":"tool" , "gen_ai.tool.name":"a", "x": 1.50}\n',
        *bytes_of(stamped()),
        b'{"kind":"event"}',
    ]
    assert list(stamp_model(lines, "m")) == lines


def test_a_response_is_never_read_for_the_model():
    """The model that answered is another fact than the one that was asked."""
    line = stamped(model=None) | {"gen_ai.response.model": "from-response", "model_returned": "from-response"}
    (done,) = stamp_model(bytes_of(line), "declared")
    assert json.loads(done)["gen_ai.request.model"] == "declared"


def test_text_lines_stay_text():
    """A program reads lines as text or as bytes, and gets back what it gave."""
    line = json.dumps(stamped(model=None) | {"name": "größer"})
    (done,) = stamp_model([line], "m")
    assert json.loads(done)["name"] == "größer"


@pytest.mark.parametrize("declared", ["", "  ", None])
def test_without_a_declared_model_nothing_is_stamped(declared):
    """A blank model would turn a gap into a false statement."""
    with pytest.raises(ConfigurationError, match="model"):
        stamp_model([], declared)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b'{"kind": NaN}',
        b'{"kind":"a","kind":"b"}',
        b"\xff",
        b'{"kind":"generation","prompt.hash":"a","gen_ai.request.temperature":"warm"}',
        b'{"kind":"generation","gen_ai.request.model":7}',
    ],
)
def test_a_line_that_is_none_is_named_by_its_number(line):
    """The line's number is what a person looks for."""
    with pytest.raises(InputError, match=r"^line 2: "):
        list(stamp_model([b"\n", line], "m"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_temperature_survives_its_text(value):
    """Exports carry numbers as text; reading them back must give the same number."""
    assert read_temperature(repr(value)) == read_temperature(value) == value
