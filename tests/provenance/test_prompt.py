from __future__ import annotations

import hashlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_specs import FULL, SPEC

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.prompt import (
    SpecError,
    prompt_diff,
    release_fingerprint,
    remarks,
    request_fingerprint,
    typed_parameters,
)


def naive(spec):
    """How a prompt's version is usually hashed."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("change", "full"),
    [
        ({}, FULL),
        ({"temperature": 0}, FULL),
        ({"temperature": "0"}, FULL),
        ({"temperature": -0.0}, FULL),
        ({"max_tokens": 300.0}, FULL),
        ({"temperature": 0.2}, "24676f5fcab99ea629611e0227e6c2a64496dc8c990fef1bc787dcb1ef51ecf9"),
        ({"system": SPEC["system"] + " "}, "57ed3161cb29246709513c2b0ff9620d875cb1a0f8d9ca0d6a1678dafa4d55a3"),
        ({"model": "model-x-2025-02"}, "258f1af6af2ee70131d4f55e4b7f5fe57db07ce9a629eb490c9fd53e35f17e68"),
    ],
)
def test_published_fingerprints(change, full):
    """These values are published; whoever recorded one finds it again, in any key order."""
    spec = {**SPEC, **change}
    assert release_fingerprint(spec) == full[:12]
    assert release_fingerprint(spec, length=64) == full
    assert release_fingerprint(dict(reversed(spec.items()))) == full[:12]


def test_without_typing_an_integer_zero_is_another_release():
    """The naive hash calls 0 and 0.0 two prompts, though no model can tell them apart."""
    spec = {**SPEC, "temperature": 0}
    assert naive(spec) == "07deb24f37cb" != naive(SPEC)
    assert release_fingerprint(spec, typed=False) == "07deb24f37cb"
    assert release_fingerprint(spec) == release_fingerprint(SPEC)


def test_an_hmac_confirms_no_guess():
    """With a key the digest is another, and the vector is fixed."""
    keyed = release_fingerprint(SPEC, length=64, key="k")
    assert keyed == "646beea99014a992cfa1d586a321e6e70d09dd46692809001e30d230f66a4d55"
    with pytest.raises(ConfigurationError, match="key must not be empty"):
        release_fingerprint(SPEC, key="")


@pytest.mark.parametrize("change", ["trailing\n", "NFC \xe9", "NFD e\u0301", "crlf\r\n", "crlf\n"])
def test_every_character_counts(change):
    """A model sees trailing breaks, composed letters and line ends, so the fingerprint does."""
    others = {"", "trailing", "trailing\n", "NFC \xe9", "NFC e\u0301", "NFD e\u0301", "NFD \xe9", "crlf\r\n", "crlf\n"}
    found = release_fingerprint({**SPEC, "system": change})
    assert all(found != release_fingerprint({**SPEC, "system": other}) for other in others - {change})


def test_absent_and_null_differ():
    """An API that is sent null is not an API that is sent nothing."""
    absent = {name: value for name, value in SPEC.items() if name != "temperature"}
    assert release_fingerprint({**SPEC, "temperature": None}) != release_fingerprint(absent)


@pytest.mark.parametrize("missing", ["model", "system", "template"])
def test_a_spec_without_its_main_parts_is_refused(missing):
    """Two prompts whose text was never captured would share a fingerprint."""
    spec = {name: value for name, value in SPEC.items() if name != missing}
    with pytest.raises(SpecError, match=missing):
        release_fingerprint(spec)
    assert len(release_fingerprint(spec, partial=True)) == 12


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"temperature": math.nan}, CanonicalError, r"\$\.temperature: nan"),
        ({"temperature": True}, SpecError, r"\$\.temperature: a number is needed, not bool"),
        ({"temperature": "hot"}, SpecError, r"\$\.temperature: a number is needed, not str"),
        ({"temperature": 10**400}, SpecError, r"\$\.temperature: not a number"),
        ({"max_tokens": True}, SpecError, r"\$\.max_tokens: a number is needed, not bool"),
        ({"max_tokens": 1.5}, SpecError, r"\$\.max_tokens: not a whole number"),
        ({"seed": "1_0"}, SpecError, r"\$\.seed: a number is needed"),
        ({"n": []}, SpecError, r"\$\.n: a number is needed, not list"),
        ({"extra": {1, 2}}, CanonicalError, r"\$\.extra: set"),
    ],
)
def test_a_bad_parameter_is_named(change, error, message):
    """The message names the field, never what was in it."""
    with pytest.raises(error, match=message) as caught:
        release_fingerprint({**SPEC, **change})
    assert isinstance(caught.value, InputError)
    assert "hot" not in str(caught.value)


def test_parameters_are_typed_and_nothing_else_is():
    """A number in a text field, or below, stays what it is; the input is not changed."""
    given_ = {"temperature": 1, "seed": "7", "top_p": "1e-1", "max_tokens": None, "stop": 1, "deep": {"temperature": 1}}
    found = typed_parameters(given_)
    assert found == {
        "temperature": 1.0, "seed": 7, "top_p": 0.1, "max_tokens": None, "stop": 1, "deep": {"temperature": 1},
    }  # fmt: skip
    assert [type(value) for value in found.values()] == [float, int, float, type(None), int, dict]
    assert given_["temperature"] == 1
    assert type(given_["temperature"]) is int


def test_a_spec_is_an_object():
    """A list of messages is no release."""
    with pytest.raises(SpecError, match="a spec is an object, not list"):
        release_fingerprint([])


def test_a_request_is_the_hash_of_its_text():
    """Of the UTF-8 text itself, not of its JSON string, so that any language's SHA-256 confirms it."""
    questions = ["When is a refund allowed?", "What is the shipping fee?"]
    rendered = [SPEC["template"].format(evidence="doc_1", question=question) for question in questions]
    found = [request_fingerprint(text) for text in rendered]
    assert found == [hashlib.sha256(text.encode()).hexdigest()[:12] for text in rendered]
    assert found[0] != found[1]
    assert request_fingerprint(rendered[0].encode()) == found[0]
    assert request_fingerprint(rendered[0] + "\n") != found[0]
    assert request_fingerprint(rendered[0], key="k", length=64) != request_fingerprint(rendered[0], length=64)
    with pytest.raises(SpecError, match="lone surrogate"):
        request_fingerprint("\ud800")


def test_remarks():
    """What makes a fingerprint less than it looks is said, and refused is nothing."""
    assert remarks({"model": "m-2025-01", "schema": {"type": "object"}}) == ()
    found = remarks({"model": "m-latest", "schema": "v1", "question": "?", "evidence": "", "messages": [], "user": ""})
    assert len(found) == 6
    assert sum("data of one request" in one for one in found) == 4


def test_a_diff_is_told_by_path():
    """Which field moved is the question; its text stays out."""
    found = prompt_diff(SPEC, {**SPEC, "system": "secret", "temperature": 0, "top_p": 1})
    assert [(c.where, c.fact, c.before, c.after) for c in found] == [
        ("system", "value", "string", "string"),
        ("top_p", "added", "missing", "number"),
    ]
    assert "secret" not in repr(found)
    assert prompt_diff(SPEC, {**SPEC, "temperature": 0}) == ()


specs = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["a", "b"]),
        "system": st.sampled_from(["", " "]),
        "template": st.just("{q}"),
    },
    optional={
        "temperature": st.sampled_from([None, 0, 0.0, "0", 0.5, "0.5", 1]),
        "max_tokens": st.sampled_from([1, 1.0, "1", 2]),
        "other": st.sampled_from([1, 1.0, [], {}]),
    },
)


@given(specs, specs)
def test_a_diff_is_empty_exactly_if_the_fingerprints_are_equal(one, other):
    """A changed fingerprint without a reason, or a reason without one, would end the trust in both."""
    digests = [release_fingerprint(spec, length=64) for spec in (one, other)]
    assert (not prompt_diff(one, other)) is (digests[0] == digests[1])
