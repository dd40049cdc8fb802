from __future__ import annotations

import json
import math
from contextlib import suppress

import pytest
from corpus import shared
from hypothesis import given
from hypothesis import strategies as st

from toolpulse._base.canonical import JSONError, ascii_json, digest, escape, load_strict, load_tolerant
from toolpulse.errors import InputError

texts = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def refusal(data: bytes | str) -> JSONError:
    """What strict reading refuses ``data`` with."""
    with pytest.raises(JSONError) as caught:
        load_strict(data)
    return caught.value


def test_digest_is_sha256_in_hex():
    """Another language must reach the same fingerprint: the vector is FIPS 180-4's for "abc"."""
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": [1, "x"], "a": {"d": None, "c": True}}, b'{"a":{"c":true,"d":null},"b":[1,"x"]}'),
        ({"\u00e9": "\U0001f600"}, b'{"\\u00e9":"\\ud83d\\ude00"}'),
        ("\ud800\x7f/\n", b'"\\ud800\\u007f/\\n"'),
        ([], b"[]"),
    ],
)
def test_ascii_json_vectors(value, expected):
    """The canonical bytes are fixed once and for all: every stored fingerprint depends on them."""
    assert ascii_json(value) == expected


@given(json_values)
def test_ascii_json_reads_back(value):
    """Canonical bytes are strict JSON and lose nothing, whatever the keys hold."""
    assert load_strict(ascii_json(value)) == value


@given(st.dictionaries(texts, st.integers(), min_size=2))
def test_ascii_json_does_not_depend_on_key_order(value):
    """Two servers may send the same object in any order."""
    assert ascii_json(dict(reversed(value.items()))) == ascii_json(value)


@given(texts)
def test_escape_is_the_string_of_ascii_json(text):
    """Paths and shapes must spell a key alike."""
    assert escape(text).encode("ascii") == ascii_json(text)


@given(json_values)
def test_both_readers_agree_with_the_standard_library(value):
    """Two parsers stand behind one function; which of them ran must not show."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        expected = json.loads(text)
        for load in (load_strict, load_tolerant):
            got = load(text)
            assert got == expected
            assert repr(got) == repr(expected)


@pytest.mark.parametrize("load", [load_strict, load_tolerant])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'"\\ud800"', "\ud800"),
        (b'["\\udc00\\ud800"]', ["\udc00\ud800"]),
        ('"\ud800"', "\ud800"),
        (b"1e400", math.inf),
        (b"-1e400", -math.inf),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":1,"\\ud800":0,"a":2}', {"a": 2, "\ud800": 0}),
        (b" \t\r\n1 ", 1),
        (b"[" * 200 + b"]" * 200, json.loads("[" * 200 + "]" * 200)),
    ],
)
def test_what_the_fast_parser_refuses_is_still_read(load, data, expected):
    """All of these are RFC 8259 JSON, though not every parser takes them."""
    assert load(data) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 column 1: not JSON: Expecting value"),
        (b'{"a": 1,\n "b" 2}', "line 2 column 6: not JSON: Expecting ':' delimiter"),
        (b'{"\\ud800": 1,\n\n"b": ]}', "line 3 column 6: not JSON: Expecting value"),
        (b'"a\tb"', "line 1 column 3: not JSON: Invalid control character"),
        (b'\n["\\x"]', "line 2 column 3: not JSON: Invalid \\escape"),
        (b"{}\n{}", "line 2 column 1: not JSON: Extra data"),
        (b"[1]\x00", "line 1 column 4: not JSON: Extra data"),
        (b'[1,\n"NaN",\n NaN]', "line 3 column 2: NaN is not JSON"),
        (b'["\\"NaN", Infinity]', "line 1 column 11: Infinity is not JSON"),
        (b"-Infinity", "line 1 column 1: -Infinity is not JSON"),
        (b'["a",\n"\xff"]', "line 2: not UTF-8 (byte 7)"),
        (b'"\xed\xa0\x80"', "line 1: not UTF-8 (byte 1)"),
        (b"[" * 100_000, "nested too deeply to read"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply to read"),
        (b"1" * 5000, "an integer of more digits than Python converts"),
    ],
)
def test_refusals_name_the_place(data, message):
    """Somebody will look for the line, so the message carries it; it is an InputError like all bad input."""
    error = refusal(data)
    assert isinstance(error, InputError)
    assert str(error) == message


def test_a_byte_order_mark_is_refused():
    """RFC 8259 lets a parser pass over it; whoever reads files may do so, a document inside a response may not."""
    assert refusal(b"\xef\xbb\xbf{}").line == 1
    with pytest.raises(JSONError):
        load_tolerant("\ufeff{}")


@given(json_values, st.data())
def test_only_what_more_text_could_complete_is_unfinished(value, data):
    """Readers of lines rely on it: True for a document cut between tokens, False where no text can mend it."""
    lines = json.dumps(value, indent=0).split("\n")
    head = "\n".join(lines[: data.draw(st.integers(1, len(lines)))]) + "\n"
    if head.rstrip("\n") != "\n".join(lines):
        assert refusal(head).unfinished
    assert not refusal(head + "]" + "x").unfinished


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[-Infinity]"])
def test_tolerant_reading_takes_what_python_writes(text):
    """Tools written in Python send NaN inside text, and the consumer's parser takes it."""
    (number,) = load_tolerant(text)
    assert type(number) is float
    with pytest.raises(JSONError):
        load_strict(text)


SECRET = "hunter2"


@pytest.mark.parametrize(
    "data",
    [f'{{"{SECRET}": {SECRET}}}', f'["{SECRET}', f'{{"{SECRET}" "{SECRET}"}}', f'"\\{SECRET}"', f"{SECRET}"],
)
def test_a_refusal_never_quotes_the_text(data):
    """The text is a response, and errors reach logs."""
    error = refusal(data)
    assert SECRET not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(data):
    """No input may raise anything else."""
    for load in (load_strict, load_tolerant):
        with suppress(JSONError):
            load(data)


def test_the_json_test_suite_is_judged_as_it_says():
    """Nicolas Seriot's suite: y_ is read as the standard library reads it, n_ is refused, i_ is either."""
    suite = shared("corpus", "JSONTestSuite", "test_parsing")
    read = refused = 0
    for file in sorted(suite.glob("*.json")):
        data = file.read_bytes()
        try:
            value = load_strict(data)
        except JSONError:
            assert not file.name.startswith("y_"), file.name
            refused += 1
        else:
            assert not file.name.startswith("n_"), file.name
            assert repr(value) == repr(json.loads(data)), file.name
            read += 1
    assert read > 90
    assert refused > 180
