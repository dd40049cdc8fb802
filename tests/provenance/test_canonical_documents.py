from __future__ import annotations

import enum
import json
import math
from collections import OrderedDict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_documents import documents

from toolpulse._base.canonical import (
    CanonicalError,
    JSONError,
    canonical_utf8,
    digest,
    digest_of,
    load_exact,
    plain,
    same_digest,
)
from toolpulse.errors import ConfigurationError

# SHA-256 over the bytes on the left of JSON in raw UTF-8
CANONICAL = [
    (None, "null", "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
    (True, "true", "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b"),
    (False, "false", "fcbcf165908dd18a9e49f7ff27810176db8e9f63b4352213741664245224f8aa"),
    (0, "0", "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"),
    (1, "1", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"),
    (-1, "-1", "1bad6b8cf97131fceab8543e81f7757195fbb1d36b376ee994ad1cf17699c464"),
    (0.0, "0.0", "8aed642bf5118b9d3c859bd4be35ecac75b6e873cce34e7b6f554b06f75550d7"),
    (-0.0, "0.0", "8aed642bf5118b9d3c859bd4be35ecac75b6e873cce34e7b6f554b06f75550d7"),
    (1.0, "1.0", "d0ff5974b6aa52cf562bea5921840c032a860a91a3512f7fe8f768f6bbe005f6"),
    (0.1, "0.1", "14be4b45f18e0d8c67b4f719b5144eee88497e413709d11d85b096d8e2346310"),
    (1e15, "1000000000000000.0", "c02731631f61648f06ba5501a9c68e2b0a9186a934ff45f40ab28eb6f3673021"),
    (1e16, "1e+16", "a144838520595009e7daf5aff8472573f9ce6a4bcd8c30673675618883464ab0"),
    (0.0001, "0.0001", "e539aebac7fd2ed8aba8854fedeaa65436962f8ee1c82341b394698f085b6496"),
    (1e-05, "1e-05", "5a9530d3c6d5faad6ba8afe16fb8e438df23865128370b2ec14ef622bb5f2ec9"),
    (5e-324, "5e-324", "c46e7ca1be4c8734f373a56530787288fa2058d73d07855e9247e949f811a42a"),
    (
        1.7976931348623157e308,
        "1.7976931348623157e+308",
        "c2784e1abd6317452708f3fbf9641c16b959561bc621a1d408c23a20aa2cb585",
    ),
    (2**53, "9007199254740992", "c681da39d7273a6a24c15c9cac3a75526ff2ecf8ba4ee60346a0c70c8163bdb2"),
    (2**64, "18446744073709551616", "8b292fc2d32f1fd491784610c61b90dc4632a6e4add19261eca4c3979e4ea6d2"),
    ("", '""', "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126"),
    ("\xe9", '"\xe9"', "f2886017e9c7abacf804b54d64787dce2b611c9544ba21f3affdd126a6e50086"),
    ("e\u0301", '"e\u0301"', "3d68ce21f2899a475713cdbe7562ba9bdb6b1dfde8af1f221bdff4a0935b53b2"),
    ("\u2028", '"\u2028"', "8aa716ff98153a8b537e4e21f27cb75d7ebe92f4754aca11a38ee7a27b714941"),
    ("\x7f", '"\x7f"', "6fe76740e12a93d5598fe685cb6ad3d3c94e44609065a56866b69647772026ec"),
    ('\x00\n\t"\\/', '"\\u0000\\n\\t\\"\\\\/"', "d2768a4f525c5dce25a6523636e99d0dfa313387cd207ee6dd27481b1207e08b"),
    ("\U0001f600", '"\U0001f600"', "7a0c50b92434b015545fe93ab723db2d4b2cdd14a441405624a9ce8be29f1d5a"),
    ("trailing\n", '"trailing\\n"', "78fda2a08bb0e18f85eef57ab361772efe6ca01860cdd54d623b30c9c4b05f4c"),
    ([], "[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    ({}, "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
    ([1, [2, [3]]], "[1,[2,[3]]]", "515b8578d7e3f9401f4013b481191a4df6373a4b37fc3e565abd5085344c927f"),
    ({"b": 1, "a": 2}, '{"a":2,"b":1}', "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"),
    (
        {"\ufb33": 1, "\U0001f600": 2, "a": 3},
        '{"a":3,"\ufb33":1,"\U0001f600":2}',
        "0e89dd6dbd411216ebb883123d5e978e215dc53a3f6539077de33d54099a97cc",
    ),
    (
        {"A": 1, "a": 2, "_": 3},
        '{"A":1,"_":3,"a":2}',
        "2070bb215d4cd54a55bf9ae4ec237bb939345fd9ecc5dc793d482215737c8647",
    ),
]


def cycle():
    """A list that holds itself."""
    found = []
    found.append(found)
    return found


REJECT = [
    (math.nan, "$: nan is not representable in JSON"),
    ({"a": [1, {"b": math.inf}]}, "$.a[1].b: inf is not representable in JSON"),
    (json.loads("1e400"), "$: inf is not representable in JSON"),
    ({1: 2}, "$: object key 1 is not a string"),
    ({None: 1}, "$: object key None is not a string"),
    ({True: 1}, "$: object key True is not a string"),
    (b"x", "$: bytes is not a JSON type"),
    ({1, 2}, "$: set is not a JSON type"),
    ("\ud800", "$: lone surrogate in string"),
    (object(), "$: object is not a JSON type"),
    (cycle(), "$[0]: cycle"),
    ({"a.b": {"\ud800": 1}}, '$["a.b"]: lone surrogate in object key'),
    ({"x": 10**5000}, "$.x: an integer of more digits than Python converts"),
    ({b"secret": 1}, "$: object key of type bytes is not a string"),
]

texts = st.text(max_size=6)


def typed(value):
    """What a document is: equal for two documents exactly if they mean the same, types included."""
    if isinstance(value, dict):
        return ("object", frozenset((key, typed(inner)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return ("array", tuple(map(typed, value)))
    return (type(value).__name__, value)


def naive(document):
    """How it is usually done."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(("value", "text", "sha256"), CANONICAL)
def test_canonical_vectors(value, text, sha256):
    """Another language must come to the same bytes, so they are fixed."""
    assert canonical_utf8(value) == text.encode("utf-8")
    assert digest_of(value) == sha256


@pytest.mark.parametrize(("value", "message"), REJECT)
def test_what_is_no_document_is_refused_with_its_place(value, message):
    """A fingerprint of what only looks like JSON is worse than none; whoever gets the error needs the path."""
    with pytest.raises(CanonicalError) as caught:
        canonical_utf8(value)
    assert str(caught.value) == message


def test_depth_is_bounded():
    """200 levels are read and written, one more is refused before Python's own limit."""
    deep = []
    for _ in range(199):
        deep = [deep]
    assert len(canonical_utf8(deep)) == 400
    with pytest.raises(CanonicalError, match="nested more than 200 levels deep"):
        canonical_utf8([deep])


def test_subclasses_count_as_their_value():
    """An enum in a spec is what it stands for, and no cleverness of a class changes what is hashed."""

    class Model(enum.StrEnum):
        A = "a"

    class Size(enum.IntEnum):
        ONE = 1

    class Loud(str):
        __slots__ = ()

        def __str__(self):
            return "loud"

    class Pair(NamedTuple):
        x: int
        y: int

    value = OrderedDict(b=[Model.A, Size.ONE], a=Pair(1, 2), c=Loud("quiet"))
    assert canonical_utf8(value) == b'{"a":[1,2],"b":["a",1],"c":"quiet"}'
    assert type(plain(value)) is dict


def test_equal_parts_are_no_cycle():
    """One list used twice is ordinary."""
    shared = [1]
    assert canonical_utf8([shared, shared]) == b"[[1],[1]]"


@given(documents, documents)
def test_bytes_are_equal_exactly_if_the_typed_values_are(one, other):
    """The law a fingerprint rests on: no two meanings share one, and no meaning has two."""
    assert (canonical_utf8(one) == canonical_utf8(other)) is (typed(one) == typed(other))


@given(st.dictionaries(texts, st.integers(), min_size=2))
def test_key_order_is_irrelevant(document):
    """Two editors save one spec in different orders."""
    assert digest_of(dict(reversed(document.items()))) == digest_of(document)


@given(documents)
def test_canonical_bytes_read_back_exactly(document):
    """What was hashed can be read again as the same document."""
    assert typed(load_exact(canonical_utf8(document))) == typed(plain(document))


def test_lone_surrogates_are_not_merged_with_the_character():
    """The naive form takes two halves of an emoji for the emoji, and half of one for text."""
    halves, whole = "\ud83d" + "\ude00", "\U0001f600"
    assert halves != whole
    assert naive(halves) == naive(whole)
    assert naive("\ud800")
    with pytest.raises(CanonicalError, match="lone surrogate"):
        canonical_utf8(halves)


def test_nan_and_foreign_keys_are_not_let_through():
    """The naive form writes what is no JSON, and makes one key of two."""
    assert naive([math.nan]) == "[NaN]"
    assert naive({1: 0}) == naive({"1": 0})
    for bad in ([math.nan], {1: 0}):
        with pytest.raises(CanonicalError):
            digest_of(bad)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"temperature": NaN}', "$.temperature: nan is not representable in JSON"),
        ('{"a": [0, -Infinity]}', "$.a[1]: -inf is not representable in JSON"),
        ('{"a": {"b": 1e400}}', "$.a.b: inf is not representable in JSON"),
        ('{"a": {"b": 1, "c": 2, "b": 1}}', "$.a.b: key given twice"),
        ('{"a": "\\ud800"}', "$.a: lone surrogate in string"),
    ],
)
def test_exact_reading_refuses_what_others_forgive(text, message):
    """Two texts that a lenient reader takes for one would share a fingerprint."""
    json.loads(text)
    with pytest.raises(CanonicalError) as caught:
        load_exact(text)
    assert str(caught.value) == message


def test_exact_reading_names_the_line_of_what_is_no_json():
    """A person opens the file there."""
    with pytest.raises(JSONError, match="line 2 column 6"):
        load_exact('{"a": 1,\n "b" 2}')


def test_hmac_vector_and_lengths():
    """RFC 4231, test case 2; short forms are beginnings of the full one."""
    full = digest(b"what do ya want for nothing?", key="Jefe")
    assert full == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert digest(b"what do ya want for nothing?", key=b"Jefe", length=12) == full[:12]
    assert digest(b"", length=1) == "e"


@pytest.mark.parametrize(
    "wrong", [{"key": b""}, {"key": ""}, {"key": 1}, {"length": 0}, {"length": 65}, {"length": True}]
)
def test_wrong_settings_of_a_digest_are_refused(wrong):
    """An empty key is a key that was not found: fingerprints would look keyed and be none."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        digest(b"", **wrong)


def test_same_digest():
    """Comparison answers as ``==`` does, for text of any length."""
    assert same_digest("ab", "ab")
    assert not same_digest("ab", "abc")
    assert not same_digest("ab", "\xe4\ud800")
