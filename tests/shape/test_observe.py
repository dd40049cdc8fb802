from __future__ import annotations

import ast
import datetime
import decimal
import hashlib
import pathlib
import re
import uuid
from pathlib import Path

import pytest

from toolpulse import fingerprint, register, shape_of
from toolpulse._base.canonical import load_tolerant
from toolpulse.errors import ConfigurationError

DOC = Path(__file__).parents[2] / "docs" / "fingerprint.md"
NAMES = {
    "datetime": datetime,
    "Decimal": decimal.Decimal,
    "UUID": uuid.UUID,
    "PurePosixPath": pathlib.PurePosixPath,
    "inf": float("inf"),
}


def vectors():
    """The rows of the document's tables of vectors: an expression, a normal form, a fingerprint."""
    return re.findall(r"^\| `(.+?)` \| `(.+?)` \| `([0-9a-f]{64})` \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE)


def evaluate(expression):
    """The value of an expression of the document, which names a few types of the standard library."""
    ast.parse(expression, mode="eval")
    return eval(expression, {**NAMES})


def text(value, **options):
    """The normal form."""
    return shape_of(value, **options).shape.text


def cuts(value, *limits, **options):
    """The truncations of a walk, as (path, limit) pairs."""
    return {(cut.path, cut.limit) for cut in shape_of(value, *limits, **options).truncations}


def test_the_fingerprint_of_the_specification():
    """One vector stands in the test itself, so that document and code cannot drift together unnoticed."""
    response = {"results": [{"id": "doc_812", "score": 0.91, "title": "Retry budgets"}], "request_id": "req_f31a"}
    assert text(response) == '{"request_id":"string","results":[{"id":"string","score":"number","title":"string"}]}'
    assert fingerprint(response) == "a7736e5c61ee0744090f4c146b1865d8c460d82e98e53cd60724c9f76010c98c"


@pytest.mark.parametrize(("expression", "normal", "digest"), vectors())
def test_every_vector_of_the_document_is_reproduced(expression, normal, digest):
    """Another language is written from the document alone, so each line of it must be true."""
    value = evaluate(expression)
    assert text(value) == normal
    assert fingerprint(value) == digest
    assert hashlib.sha256(normal.encode("ascii")).hexdigest() == digest


def test_the_document_has_vectors_for_every_sort_of_shape():
    """A document without its tables would make the test above pass without looking at anything."""
    normals = [normal for _, normal, _ in vectors()]
    assert len(normals) >= 30
    for part in ("[0,", '"unknown"', '"decimal"', '"uuid"', '"sha256:', "\\u"):
        assert any(part in normal for normal in normals), part


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "[]"),
        ({}, "{}"),
        ([1, 2, 3], '["integer"]'),
        ([1, "a", None, 1.0], '["integer","null","number","string"]'),
        ([[], {}], "[[],{}]"),
        ([[1], [2], ["a"]], '[["integer"],["string"]]'),
        ((1, [2]), '["integer",["integer"]]'),
        (True, '"boolean"'),
        (1, '"integer"'),
        (1.0, '"number"'),
        (float("nan"), '"number"'),
        (10**400, '"integer"'),
        ({"b": 1, "a": None}, '{"a":"null","b":"integer"}'),
        ({"é": 1}, '{"\\u00e9":"integer"}'),
        ({"Z": 1, "a": 1, "é": 1, "😀": 1, "ﬀ": 1},
         '{"Z":"integer","a":"integer","\\u00e9":"integer","\\ufb00":"integer","\\ud83d\\ude00":"integer"}'),
    ],
)  # fmt: skip
def test_normal_form(value, expected):
    """Order and length are dropped, kinds stay apart, names are sorted by code point and escaped."""
    assert text(value) == expected


def test_names_that_json_text_would_read_back_as_one_are_one():
    """Two surrogates in a Python string print as the character they spell; two names for it would break the bytes."""
    split = {"\ud83d\ude00": 1}
    assert shape_of(split).shape is shape_of({"😀": 1}).shape
    assert text({"\ud83d\ude00": 1, "😀": 1}) == '{"\\ud83d\\ude00":"integer"}'


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (7, "7"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_keys_that_are_no_text_are_named_as_json_names_them(key, name):
    """``json.dumps`` writes such keys as text; a tool's answer must not differ from what arrives over the wire."""
    assert shape_of({key: 1, "other": 2}).shape is shape_of({name: 1, "other": 2}).shape


def test_keys_of_other_types_make_a_map():
    """JSON has no name for them, so they can only be data; they must not be printed either."""
    assert text({(1, 2): "x", (3, 4): "y"}) == '[0,"string"]'
    assert text({b"a": 1}) == '[0,"integer"]'


def test_a_whole_number_too_long_to_print_is_a_key_like_another():
    """Python refuses to print integers of more than 4,300 digits; a key may be one."""
    assert shape_of({10**5000: 1, "a": 2}).shape.kind == "object"


class TestMapsAndRecords:
    def test_named_maps_and_records(self):
        """The application knows best which keys are data."""
        value = {"totals": {"north": 1, "south": 2}, "byId": {"1": {"x": 1}}}
        assert text(value, maps=["totals"]) == '{"byId":[0,{"x":"integer"}],"totals":[0,"integer"]}'
        assert text(value, records=["byId"]) == (
            '{"byId":{"1":{"x":"integer"}},"totals":{"north":"integer","south":"integer"}}'
        )
        assert text([{"a": 1}], maps=["[]"]) == '[[0,"integer"]]'

    @pytest.mark.parametrize(
        ("settings", "word"),
        [
            ({"maps": "totals"}, "maps"),
            ({"records": "totals"}, "records"),
            ({"maps": ["a["]}, "a\\["),
            ({"maps": ["a"], "records": ["a"]}, "both name a"),
            ({"limits": 5}, "limits"),
            ({"unwrap": "always"}, "unwrap"),
        ],
    )
    def test_a_bad_setting_is_named(self, settings, word):
        """What cannot be meant fails at once and says which setting it was."""
        with pytest.raises(ConfigurationError, match=word):
            shape_of({}, **settings)


class TestRegister:
    def test_a_registered_type_is_read_as_it_says(self):
        """Mappings that may do I/O are opaque until the application says how they are read."""

        class Rows:
            def __init__(self, rows):
                self.rows = rows

        value = {"rows": Rows([{"id": 1}])}
        assert "other:" in text(value)
        register(Rows, lambda rows: rows.rows)
        assert text(value) == '{"rows":[{"id":"integer"}]}'

    def test_a_reader_that_fails_is_shown(self):
        """The rest of the response still counts, and the cut is said."""

        class Broken:
            pass

        register(Broken, lambda value: value.nothing)
        seen = shape_of({"a": 1, "b": Broken()})
        assert seen.shape.text == '{"a":"integer","b":"unknown"}'
        assert [str(cut) for cut in seen.truncations] == ["b: reading it failed"]

    def test_readers_that_give_ever_new_objects_end(self):
        """A reader's result may need a reader again; the walk counts those steps too."""

        class Endless:
            pass

        register(Endless, lambda value: Endless())
        assert cuts([Endless()]) == {("[]", "depth")}

    @pytest.mark.parametrize("arguments", [("x", repr), (5, repr), (complex, 3), (dict, repr), (list, repr)])
    def test_what_cannot_be_registered_is_refused(self, arguments):
        """``dict`` and ``list`` are read before any table is asked, so a reader for them would never run."""
        with pytest.raises(ConfigurationError, match="register"):
            register(*arguments)


def test_the_response_is_left_as_it_was():
    """The tool's caller gets the very object, and nothing in it may differ."""
    from collections import OrderedDict, defaultdict, deque

    value = {"d": defaultdict(list, {"a": [1]}), "o": OrderedDict(b=1, a=2), "q": deque([1, 2]), "n": [{"x": {}}]}
    before = repr(value)
    shape_of(value)
    assert repr(value) == before


def test_json_text_is_read_as_it_is_meant():
    """Duplicate keys, NaN and numbers beyond a double arrive in text from real services."""
    value = load_tolerant('{"a": [1], "a": NaN, "b": 1e999, "c": 5.0}')
    assert text(value) == '{"a":"number","b":"number","c":"number"}'
