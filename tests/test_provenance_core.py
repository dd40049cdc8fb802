from __future__ import annotations

import enum
import json
import math
import os
import stat
from collections import OrderedDict
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Baseline
from toolpulse._base import files
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
from toolpulse.documents import compare
from toolpulse.errors import ConfigurationError, InputError, SchemaMismatch, SchemaMissing, SchemaUnsupported
from toolpulse.judgement.consumer import Finding
from toolpulse.judgement.diff import Change
from toolpulse.judgement.rules import RULES, SCHEMA_RULES, Risk, classify_schema
from toolpulse.stores import files
from toolpulse.verdicts import Cause, Code, Ruling

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
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e16])
    | st.sampled_from(["", "a", "0", "\xe9"])
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", "c.d", "\xe9"]), inner, max_size=3)
    ),
    max_leaves=8,
)


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


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1}, {"a": 2}, [("a", "value", "integer", "integer")]),
        ({"a": 0}, {"a": 0.0}, [("a", "kind", "integer", "number")]),
        ({"a": 1}, {"a": True}, [("a", "kind", "integer", "boolean")]),
        ({"a": None}, {"a": "x"}, [("a", "refined", "null", "string")]),
        ({"a": {}}, {"a": None}, [("a", "null", "object", "null")]),
        ({"a": {}}, {"a": []}, [("a", "container", "object", "array")]),
        ({"a": {"b": 1}}, {}, [("a", "missing", "object", "missing")]),
        ({}, {"a.b": {"b": 1}}, [('["a.b"]', "added", "missing", "object")]),
        ([1, 2, 3], [1, 3], [("[]", "missing", "integer", "missing")]),
        ([1, 3], [1, "2", 3], [("[]", "added", "missing", "string")]),
        ("x", "y", [("$", "value", "string", "string")]),
        ({"a": None}, {}, [("a", "missing", "null", "missing")]),
    ],
)
def test_what_a_comparison_says(one, other, expected):
    """The facts are those of the diff of responses, with one more for a value; absence is no null."""
    assert [(c.where, c.fact, c.before, c.after) for c in compare(one, other)] == expected


def test_a_comparison_tells_no_value_unless_asked():
    """A prompt must not reach a log because it changed."""
    before, after = {"system": "secret one"}, {"system": "secret two", "more": ["secret three"]}
    assert "secret" not in repr(compare(before, after))
    shown = compare(before, after, values=True)
    assert [(c.before, c.after) for c in shown] == [("missing", '["secret three"]'), ('"secret one"', '"secret two"')]


def test_a_comparison_says_which_element():
    """Ten examples in a prompt: the third one changed."""
    (change,) = compare({"examples": [1, 2, 3, 4]}, {"examples": [1, 2, 9, 4]})
    assert change.evidence == "the value differs, element 3 of 4"


def test_a_renamed_field_is_told_as_that():
    """One gone, one new of the same value; with a rival nothing is guessed."""
    gone, new = sorted(compare({"q": {"type": "string"}}, {"query": {"type": "string"}}), key=lambda c: c.where)
    assert (gone.pattern, gone.counterpart) == ("renamed", "query")
    assert (new.pattern, new.counterpart) == ("renamed", "q")
    assert all(c.pattern is None for c in compare({"q": 1}, {"a": 1, "b": 1}))


@given(documents, documents)
def test_a_comparison_is_empty_exactly_if_the_digests_are_equal(one, other):
    """A verdict and its reasons must not contradict each other."""
    assert (not compare(one, other)) is (digest_of(one) == digest_of(other))


@given(documents, documents)
def test_a_comparison_is_symmetric_in_what_differs(one, other):
    """Which run is called the first is chance."""
    there, back = compare(one, other), compare(other, one)
    assert sorted((c.where, c.before, c.after) for c in there) == sorted((c.where, c.after, c.before) for c in back)


SCHEMAS = [
    ({}, {"schema": 1}, SchemaMissing),
    ({"schema": 1}, {}, SchemaMissing),
    ({}, {}, SchemaMissing),
    ({"schema": True}, {"schema": 1}, SchemaMissing),
    ({"schema": "1"}, {"schema": 1}, SchemaMissing),
    ({"schema": 3}, {"schema": 3}, SchemaUnsupported),
    ({"schema": 1}, {"schema": 3}, SchemaUnsupported),
    ({"schema": 1}, {"schema": 2}, SchemaMismatch),
    ([], {"schema": 1}, InputError),
]


@pytest.mark.parametrize(("one", "other", "error"), SCHEMAS)
def test_schemas_are_checked_before_anything_is_compared(one, other, error):
    """Two versions compared field by field look equal where a meaning changed: present, integer, supported, equal."""
    fields = {"model": "m"}
    left, right = ({**side, **fields} if isinstance(side, dict) else side for side in (one, other))
    with pytest.raises(error) as caught:
        files.check_schemas(left, right, (1, 2), "manifest")
    assert type(caught.value) is error
    assert "manifest" in str(caught.value)


def test_fields_alone_do_not_show_two_versions():
    """The naive way compares the fields it knows and finds nothing."""
    one, other = {"schema": 1, "model": "m"}, {"schema": 2, "model": "m"}
    assert all(one[name] == other[name] for name in ("model",))
    with pytest.raises(SchemaMismatch):
        files.check_schemas(one, other, (1, 2), "manifest")


def test_both_sides_without_a_schema_are_told_apart():
    """Two voids must not look equal, and the message says that both are void."""
    with pytest.raises(SchemaMissing, match="on both sides"):
        files.check_schemas({}, {}, 1, "manifest")
    files.check_schemas({"schema": 1}, {"schema": 1}, 1, "manifest")


def test_errors_of_a_schema_carry_the_versions():
    """A program that migrates needs the numbers, not the sentence."""
    with pytest.raises(SchemaUnsupported) as unsupported:
        files.check_schema({"schema": 7}, (1, 2), "pin")
    assert (unsupported.value.found, unsupported.value.supported) == (7, (1, 2))
    with pytest.raises(SchemaMismatch) as unequal:
        files.check_schemas({"schema": 1}, {"schema": 2}, (1, 2), "pin")
    assert (unequal.value.one, unequal.value.other) == (1, 2)


def test_a_file_is_sorted_and_reads_back(tmp_path):
    """It is committed: the same document gives the same bytes, one line a fact."""
    path = tmp_path / "a.json"
    files.save(path, {"b": [1], "a": "\xe9"}, kind="pin")
    assert path.read_text("ascii") == ('{\n "a": "\\u00e9",\n "b": [\n  1\n ],\n "kind": "pin",\n "schema": 1\n}\n')
    assert files.load(path, kind="pin") == {"a": "\xe9", "b": [1], "kind": "pin", "schema": 1}
    assert files.encode({"a": "\xe9", "b": [1]}, kind="pin") == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", InputError),
        ('{"kind": "pin"}', SchemaMissing),
        ('{"schema": 2, "kind": "pin"}', SchemaUnsupported),
        ('{"schema": 1, "kind": "ledger"}', InputError),
        ('{"schema": 1, "schema": 1, "kind": "pin"}', CanonicalError),
        ("[]", InputError),
    ],
)
def test_what_is_no_such_file_is_refused_by_name(tmp_path, text, error):
    """The message begins with the file, for whoever passed five of them."""
    path = tmp_path / "a.json"
    path.write_text(text, "utf-8")
    with pytest.raises(error, match=r"a\.json: ") as caught:
        files.load(path, kind="pin")
    assert isinstance(caught.value, InputError)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path):
    """So is a folder in its place."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError):
            files.load(path, kind="pin")


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    """A full disk must not cost the old file, nor leave a draft behind."""
    path = tmp_path / "a.json"
    files.save(path, {"a": 1}, kind="pin")
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.save(path, {"a": 2}, kind="pin")
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    """A file that only its owner may read stays so."""
    path = tmp_path / "a.json"
    path.write_bytes(b"")
    path.chmod(0o600)
    files.replace(path, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"x"


def test_baselines_are_written_by_the_one_writer(tmp_path, monkeypatch):
    """Two writers would come to differ in what they survive."""
    written = []
    monkeypatch.setattr(files, "replace", lambda path, data: written.append((path, data)))
    baseline = Baseline.learn([{"a": 1}])
    baseline.save(tmp_path / "b.json")
    files.save(tmp_path / "c.json", {}, kind="pin")
    assert [path.name for path, _ in written] == ["b.json", "c.json"]
    assert written[0][1] == baseline.to_json()


def test_a_ruling_as_json():
    """Scripts read it: integer schema first, paths printed, a risk where there is one."""
    fact = Change(("a", "b"), "value", "string", "string", "the value differs")
    finding = Finding("q", "field-removed", "string", "missing", Risk.HIGH, "gone", "renamed", "query")
    cause = Cause("contract", "search", ("q",))
    ruling = Ruling(Code.DIFFERENT, "changed", (cause,), (fact, finding), ("temperature",), "words")
    assert ruling.exit_code == 1
    assert json.loads(json.dumps(ruling.to_json())) == {
        "schema": 1,
        "code": 1,
        "primary": "changed",
        "causes": [{"reason": "contract", "where": "search", "names": ["q"]}],
        "changes": [
            {"path": "a.b", "fact": "value", "before": "string", "after": "string", "evidence": "the value differs"},
            {
                "path": "q", "rule_id": "field-removed", "risk": "high", "before": "string", "after": "missing",
                "evidence": "gone", "pattern": "renamed", "counterpart": "query",
            },
        ],
        "unverified": ["temperature"],
        "message": "words",
    }  # fmt: skip
    assert next(iter(ruling.to_json())) == "schema"
    assert str(cause) == "contract at search: q"


def test_codes_are_the_ones_every_command_ends_with():
    """Scripts branch on the numbers."""
    assert {code.name: code.value for code in Code} == {
        "OK": 0, "DIFFERENT": 1, "INCOMPARABLE": 2, "PRECONDITION": 3, "INPUT": 4, "USAGE": 64, "INTERNAL": 70,
        "INTERRUPTED": 130,
    }  # fmt: skip
    assert all(code.meaning for code in Code)


MIRRORED = {
    "field-removed": ("missing", {}, Risk.HIGH),
    "field-absent-in-some": ("missing", {"partly": True}, Risk.INFO),
    "field-added": ("added", {}, Risk.HIGH),
    "field-added-in-some": ("added", {"partly": True}, Risk.INFO),
    "kind-changed": ("kind", {"before": "string", "after": "integer"}, Risk.HIGH),
    "number-widened": ("kind", {"before": "integer", "after": "number"}, Risk.INFO),
    "number-narrowed": ("kind", {"before": "number", "after": "integer"}, Risk.HIGH),
    "container-changed": ("container", {}, Risk.HIGH),
    "container-null": ("null", {"before": "object"}, Risk.HIGH),
    "null-first-seen": ("null", {"partly": True}, Risk.INFO),
    "null-refined": ("refined", {}, Risk.HIGH),
    "schema-required": ("required", {}, Risk.HIGH),
    "schema-narrowed": ("narrowed", {}, Risk.HIGH),
    "schema-widened": ("widened", {}, Risk.INFO),
    "schema-changed": ("value", {}, Risk.INVESTIGATE),
    "description-changed": ("text", {}, Risk.INVESTIGATE),
    "tools-reordered": ("order", {}, Risk.INFO),
}


def test_the_input_column():
    """What breaks a reader of responses does not break a caller, and the other way round: each row is decided."""
    with_column = {rule.id for rule in (*RULES, *SCHEMA_RULES) if rule.input_risk is not None}
    assert MIRRORED.keys() == with_column
    for rule_id, (fact, more, risk) in MIRRORED.items():
        change = msgspec.structs.replace(Change(("a",), fact, "x", "y", ""), **more)
        rule = classify_schema(change)
        assert (rule.id, rule.input_risk) == (rule_id, risk)


def test_rules_of_schemas_are_like_other_rules():
    """Ids are unique over both tables, and every row names its mirror."""
    ids = [rule.id for rule in (*RULES, *SCHEMA_RULES)]
    assert len(ids) == len(set(ids))
    assert all(rule.mirror in ids for rule in SCHEMA_RULES)
