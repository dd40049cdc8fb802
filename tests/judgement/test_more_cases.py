from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from toolpulse import Baseline, Consumer, Limits
from toolpulse._base.canonical import load_tolerant

HIGH, AVAILABILITY, INVESTIGATE, INFO = "high", "availability", "investigate", "info"
NEW = "new element shape"
QUIET = ()

U1, U2 = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
U3 = "{AAAAAAAA-AAAA-AAAA-AAAA-111111111111}"


def days(names):
    """A record for each day."""
    return {name: {"open": "9"} for name in names.split()}


def nest(levels, leaf, key="a"):
    """Records within records."""
    value = leaf
    for _ in range(levels):
        value = {key: value}
    return value


def words(prefix, count=300):
    """So many words as keys."""
    return {f"{prefix}{n}{chr(97 + n % 26)}": n for n in range(count)}


# name: (learned, observed, findings as (path, change, risk))
CASES = {
    # arrays of arrays
    "matrix grows": ([{"m": [[1, 2], [3]]}], [{"m": [[1], [2], [3, 4, 5]]}], QUIET),
    "matrix cell becomes text": ([{"m": [[1], [2]]}], [{"m": [["1"], ["2"]]}], [("m[][]", "integer -> string", HIGH)]),
    "text joins matrix cells": ([{"m": [[1], [2]]}], [{"m": [[1, "x"], [2]]}], [("m[][]", NEW, INVESTIGATE)]),
    "text joins one matrix row alone": ([{"m": [[1], [2]]}], [{"m": [[1], ["x"]]}], [("m[][]", NEW, INVESTIGATE)]),
    "matrix row becomes object": ([[[1], [2]]], [[{"x": 1}]], [("[]", "array -> object", HIGH)]),
    "object joins matrix rows": ([[[1], [2]]], [[[1], {"x": 1}]], [("[]", NEW, INVESTIGATE)]),
    "inner arrays empty inside an array": ([{"m": [[1], [2]]}], [{"m": [[], []]}], QUIET),
    "three deep": ([[[[1.5]]]], [[[[None]]]], [("[][][]", "number -> null", INVESTIGATE)]),
    "coordinates of another nesting": (
        [{"c": [1.5, 2.5]}],
        [{"c": [[1.5, 2.5]]}],
        [("c[]", "number -> array", HIGH)],
    ),
    # arrays of maps and maps of arrays
    "array of maps by id": ([[{"17": {"n": 1}}]], [[{"18": {"n": 2}}, {"19": {"n": 3}}]], QUIET),
    "field of values in an array of maps": (
        [[{"17": {"n": 1}}]],
        [[{"18": {"n": "2"}}]],
        [("[].*.n", "integer -> string", HIGH)],
    ),
    "map of arrays, one empty": ([{"17": [1], "18": [2]}], [{"19": [], "20": [3]}], QUIET),
    "map of arrays, all empty": ([{"by": {"17": [1]}}], [{"by": {"18": []}}], QUIET),
    "map of arrays of text": ([{"17": [1]}], [{"18": ["x"]}], [("*[]", "integer -> string", HIGH)]),
    "map of maps": (
        [{U1: {"2024-01-01": 1}}],
        [{U2: {"2024-01-02": "1"}}],
        [("*.*", "integer -> string", HIGH)],
    ),
    "map value null among others": (
        [{"17": 1, "18": 2}],
        [{"17": 1, "18": None}],
        [("*", "integer -> null", INVESTIGATE)],
    ),
    "text joins map values": ([{"17": 1, "18": 2}], [{"17": 1, "18": "x"}], [("*", "integer -> string", HIGH)]),
    "object joins map values": ([{"17": 1, "18": 2}], [{"17": 1, "18": {"a": 1}}], [("*", "integer -> object", HIGH)]),
    "all map values null": ([{"17": 1, "18": 2}], [{"17": None}], [("*", "integer -> null", INVESTIGATE)]),
    "all object map values null": ([{"17": {"a": 1}}], [{"17": None}], [("*", "object -> null", HIGH)]),
    "union inside map values": (
        [{"17": {"t": 1, "a": 1}, "18": {"t": 1, "b": 1}}],
        [{"19": {"t": 1, "a": 1}, "20": {"t": 1, "c": 1}}],
        [("*.c", "missing -> integer", INVESTIGATE)],
    ),
    "known union member alone in a map": (
        [{"17": {"t": 1, "a": 1}, "18": {"t": 1, "b": 1}}],
        [{"19": {"t": 1, "b": 1}}],
        QUIET,
    ),
    "map empties": ([{"by": {"17": 1, "18": 2}}], [{"by": {}}], [("by", "non-empty -> empty", AVAILABILITY)]),
    "map at the root empties": ([{"17": 1, "18": 2}], [{}], [("$", "non-empty -> empty", AVAILABILITY)]),
    "empty map learns its values": (
        [{"by": {}}, {"by": {}}],
        [{"by": {"17": 1}}],
        [("by.*", "missing -> integer", INFO)],
    ),
    "map becomes array": ([{"by": {"17": 1}}], [{"by": [1]}], [("by", "object -> array", HIGH)]),
    "map becomes null": ([{"by": {"17": 1}}], [{"by": None}], [("by", "object -> null", HIGH)]),
    # three union members
    "each of three union members alone": (
        [[{"t": 1, "a": 1}, {"t": 1, "b": 1}, {"t": 1, "c": 1}]],
        [[{"t": 1, "c": 1}], [{"t": 1, "a": 1}]],
        QUIET,
    ),
    "fourth union member": (
        [[{"t": 1, "a": 1}, {"t": 1, "b": 1}, {"t": 1, "c": 1}]],
        [[{"t": 1, "a": 1}, {"t": 1, "d": 1}]],
        [("[]", NEW, INVESTIGATE)],
    ),
    "fourth union member and a broken known one": (
        [[{"t": 1, "a": 1}, {"t": 1, "b": 1}]],
        [[{"t": 1, "a": "1"}, {"t": 1, "d": 1}]],
        [("[]", NEW, INVESTIGATE), ("[].a", "integer -> string", HIGH)],
    ),
    "common field gone from the whole union": (
        [[{"t": 1, "a": 1}, {"t": 1, "b": 1}]],
        [[{"a": 1}, {"b": 1}]],
        [("[].t", "integer -> missing", HIGH)],
    ),
    "union of text, number and object": ([["x", 1, {"a": 1}]], [[1], ["x"], [{"a": 2}]], QUIET),
    "boolean joins a union of scalars": ([["x", 1]], [["x", True]], [("[]", NEW, INVESTIGATE)]),
    "union replaced by booleans": ([["x", "y", 1]], [[True]], [("[]", "integer -> boolean", HIGH)]),
    "required in one union member only": (
        [[{"t": 1, "a": 1, "x": 1}, {"t": 1, "b": 1}]],
        [[{"t": 1, "a": 1}, {"t": 1, "b": 1}]],
        QUIET,
    ),
    "new member among more than twenty": (
        [[{f"k{c}": 1} for c in "abcdefghijklmnopqrstuvwxy"]],
        [[{"aa": 1}, *({f"k{c}": 1} for c in "abcdefghijklmnopqrstuvwxy")]],
        [("[]", NEW, INFO)],
    ),
    # what joins arrays
    "object joins text": ([{"tags": ["a"]}], [{"tags": ["a", {"n": "b"}]}], [("tags[]", NEW, INVESTIGATE)]),
    "objects replace text": ([{"tags": ["a"]}], [{"tags": [{"n": "b"}]}], [("tags[]", "string -> object", HIGH)]),
    "array joins objects": ([[{"a": 1}]], [[{"a": 1}, []]], [("[]", NEW, INVESTIGATE)]),
    "null joins objects": ([[{"a": 1}]], [[None, {"a": 1}]], [("[]", NEW, INVESTIGATE)]),
    "only nulls where objects were": ([{"r": [{"a": 1}]}], [{"r": [None]}], [("r[]", "object -> null", HIGH)]),
    "only nulls where numbers were": ([[1, 2]], [[None, None]], [("[]", "integer -> null", INVESTIGATE)]),
    "only nulls so far": ([[None, None]], [[1]], [("[]", "null -> integer", INFO)]),
    "numbers join integers": ([[1, 2]], [[1, 2.5]], QUIET),
    "integers among numbers": ([[1.5]], [[1]], QUIET),
    # null and absence
    "container null in some elements": (
        [[{"o": {"x": 1}}, {"o": {"x": 2}}]],
        [[{"o": None}, {"o": {"x": 1}}]],
        [("[].o", "object -> null", INVESTIGATE)],
    ),
    "container null in all elements": ([[{"o": {"x": 1}}]], [[{"o": None}]], [("[].o", "object -> null", HIGH)]),
    "array null in some elements": (
        [[{"o": [1]}]],
        [[{"o": None}, {"o": [1]}]],
        [("[].o", "array -> null", INVESTIGATE)],
    ),
    "scalar null in all elements": ([[{"o": 1}]], [[{"o": None}]], [("[].o", "integer -> null", INVESTIGATE)]),
    "known null": ([{"a": 1}, {"a": None}], [{"a": None}], QUIET),
    "null refined to object": ([{"a": None}], [{"a": {"b": 1}}], [("a", "null -> object", INFO)]),
    "null refined to two kinds": (
        [[{"a": None}]],
        [[{"a": "x"}, {"a": 1}]],
        [("[].a", "null -> integer", INFO), ("[].a", "null -> string", INFO)],
    ),
    "null and array known, object arrives": (
        [{"a": None}, {"a": [1]}],
        [{"a": {"b": 1}}],
        [("a", "array -> object", HIGH)],
    ),
    "null instead of absent": ([{"a": 1}, {}], [{"a": None}], [("a", "integer -> null", INVESTIGATE)]),
    "absent instead of null": (
        [{"a": 1, "b": 1}, {"a": None, "b": 1}],
        [{"b": 1}],
        [("a", "integer -> missing", HIGH)],
    ),
    "always null and gone": ([{"a": None, "b": 1}], [{"b": 1}], [("a", "null -> missing", HIGH)]),
    "missing in some elements": (
        [[{"a": 1, "b": 1}] * 2],
        [[{"a": 1}, {"a": 1, "b": 1}]],
        [("[].b", "integer -> missing", INVESTIGATE)],
    ),
    "missing in all elements": ([[{"a": 1, "b": 1}]], [[{"a": 1}]], [("[].b", "integer -> missing", HIGH)]),
    "absent in some known, now in all": ([[{"a": 1, "b": 1}, {"a": 1}]], [[{"a": 1}]], QUIET),
    "absent once known": ([{"a": 1}, {"a": 1, "b": 1}], [{"a": 1}], QUIET),
    "optional parent with a required child": ([{"a": 1}, {"a": 1, "p": {"c": 1, "d": 1}}], [{"a": 1}], QUIET),
    "required child of an optional parent goes": (
        [{"a": 1}, {"a": 1, "p": {"c": 1, "d": 1}}],
        [{"a": 1, "p": {"d": 1}}],
        [("p.c", "integer -> missing", HIGH)],
    ),
    "nullable parent with a required child": (
        [{"p": None}, {"p": {"c": 1, "d": 1}}],
        [{"p": {"d": 1}}],
        [("p.c", "integer -> missing", HIGH)],
    ),
    "only the outermost of a removed subtree": (
        [{"p": {"q": {"r": 1}}, "x": 1}],
        [{"x": 1}],
        [("p", "object -> missing", HIGH)],
    ),
    "only the outermost of an added subtree": (
        [{"x": 1}],
        [{"x": 1, "p": {"q": [1]}}],
        [("p", "missing -> object", INFO)],
    ),
    "added and null": ([{"x": 1}], [{"x": 1, "n": None}], [("n", "missing -> null", INFO)]),
    "added in all elements": ([[{"x": 1}]], [[{"x": 1, "y": 1}] * 2], [("[].y", "missing -> integer", INFO)]),
    "added in some, null in others": (
        [[{"x": 1}]],
        [[{"x": 1, "y": None}, {"x": 1, "y": "s"}]],
        [("[].y", "missing -> string", INFO)],
    ),
    "added with integers and numbers": (
        [[{"x": 1}]],
        [[{"x": 1, "y": 1}, {"x": 1, "y": 1.5}]],
        [("[].y", "missing -> number", INFO)],
    ),
    # root
    "root scalar changes": ([5], ["x"], [("$", "integer -> string", HIGH)]),
    "root scalar widened": ([5], [5.5], QUIET),
    "root text becomes none": (["x"], [None], [("$", "string -> null", AVAILABILITY)]),
    "root none known": (["x", None], [None], QUIET),
    "root only none so far": ([None], [{"a": 1}], [("$", "null -> object", INFO)]),
    "root text becomes object": (["x"], [{"a": 1}], [("$", "string -> object", HIGH)]),
    "root text becomes empty object": (["x"], [{}], [("$", "non-empty -> empty", AVAILABILITY)]),
    "root text becomes empty text": (["x"], [""], QUIET),
    "root object empties": ([{"a": 1, "b": [1]}], [{}], [("$", "non-empty -> empty", AVAILABILITY)]),
    "root object was empty before": ([{"a": 1}, {}], [{}], QUIET),
    "root array empties": ([[1]], [[]], [("$", "non-empty -> empty", AVAILABILITY)]),
    "root object becomes empty array": ([{"a": 1}], [[]], [("$", "non-empty -> empty", AVAILABILITY)]),
    "root array becomes empty object": ([[1]], [{}], [("$", "non-empty -> empty", AVAILABILITY)]),
    "root becomes a number": ([{"a": 1}], [5], [("$", "object -> integer", HIGH)]),
    "root was always empty": ([{}], [{}], QUIET),
    "root empty so far learns": ([{}], [{"a": 1}], [("a", "missing -> integer", INFO)]),
    "root empty array so far learns": ([[]], [[{"a": 1}]], [("[]", "missing -> object", INFO)]),
    # emptiness within
    "nested object empties": (
        [{"o": {"a": 1, "b": 1}, "x": 1}],
        [{"o": {}, "x": 1}],
        [("o.a", "integer -> missing", HIGH), ("o.b", "integer -> missing", HIGH)],
    ),
    "nested array empties": ([{"o": {"l": [1]}}], [{"o": {"l": []}}], [("o.l", "non-empty -> empty", AVAILABILITY)]),
    "nested array was empty once": ([{"l": [1]}, {"l": []}], [{"l": []}], QUIET),
    "array inside elements empties": ([[{"l": [1]}]], [[{"l": []}]], QUIET),
    "array becomes empty object": ([{"l": [1]}], [{"l": {}}], [("l", "array -> object", HIGH)]),
    # records that look like maps
    "shipping and billing": (
        [{"shipping": {"zip": "1"}, "billing": {"zip": "2"}}],
        [{"shipping": {"zip": "1"}}],
        [("billing", "object -> missing", HIGH)],
    ),
    "weekdays": (
        [days("mon tue wed thu fri sat sun")] * 3,
        [days("mon tue wed thu fri sat")],
        [("sun", "object -> missing", HIGH)],
    ),
    "windows with digits": (
        [{"1d": 1, "7d": 2, "ytd": 3}],
        [{"1d": 1, "7d": 2}],
        [("ytd", "integer -> missing", HIGH)],
    ),
    "resolutions": ([{"720p": 1, "1080p": 2}], [{"720p": 1}], [('["1080p"]', "integer -> missing", HIGH)]),
    "two stem keys are a record": (
        [{"user_93117": 1, "user_20455": 2}],
        [{"user_93117": 1}],
        [("user_20455", "integer -> missing", HIGH)],
    ),
    "stems with two digits are a record": (
        [{"h01": 1, "h02": 2, "h03": 3}],
        [{"h01": 1, "h02": 2}],
        [("h03", "integer -> missing", HIGH)],
    ),
    "two currencies are a record": ([{"USD": 1.0, "EUR": 2.0}], [{"USD": 1.0}], [("EUR", "number -> missing", HIGH)]),
    "codes in small letters are a record": (
        [{"usd": 1.0, "eur": 2.0, "gbp": 3.0}],
        [{"usd": 1.0, "eur": 2.0}],
        [("gbp", "number -> missing", HIGH)],
    ),
    "five words of stems are a record": (
        [{f"{c}100": 1 for c in "abcde"}],
        [{f"{c}100": 1 for c in "abcd"}],
        [("e100", "integer -> missing", HIGH)],
    ),
    "one data key beside a name is a record": (
        [{"2024": 1, "total": 2}],
        [{"2025": 1, "total": 2}],
        [('["2024"]', "integer -> missing", HIGH), ('["2025"]', "missing -> integer", INFO)],
    ),
    "short hex is a record": (
        [{"cafe12": 1}],
        [{"beef34": 1}],
        [("cafe12", "integer -> missing", HIGH), ("beef34", "missing -> integer", INFO)],
    ),
    "hex of letters is a record": (
        [{"abcdefabcdef": 1}],
        [{"fedcbafedcba": 1}],
        [("abcdefabcdef", "integer -> missing", HIGH), ("fedcbafedcba", "missing -> integer", INFO)],
    ),
    # maps by their keys
    "uuid keys": ([{U1: {"n": 1}}], [{U2: {"n": 2}, U3: {"n": 1}}], QUIET),
    "date keys": ([{"2024-01-01": 1}], [{"2024-02-30": 2}], QUIET),
    "month and time keys": ([{"2024-01": 1}], [{"12:30": 2, "2024-01-01T10:00:00Z": 3}], QUIET),
    "hex keys": ([{"9f86d081884c": 1}], [{"60303AE22B99": 1}], QUIET),
    "e-mail keys": ([{"a@example.com": 1}], [{"b.c+d@example.co.uk": 1}], QUIET),
    "url keys": ([{"https://a.example/x?y=1": {"s": 1}}], [{"ftp://b.example": {"s": 2}}], QUIET),
    "status code keys": (
        [{"responses": {"200": {"d": 1}}}],
        [{"responses": {"404": {"d": 1}, "200": {"d": 2}}}],
        QUIET,
    ),
    "stem keys": (
        [{f"user_{n}": n for n in (93117, 20455, 77102)}],
        [{f"user_{n}": n for n in (1000, 2000, 3000)}],
        QUIET,
    ),
    "a single stem key beside a map": ([{f"user_{n}": n for n in (93117, 20455, 77102)}], [{"user_555": 1}], QUIET),
    "currency keys": ([{"USD": 1.0, "EUR": 0.9, "GBP": 0.8}], [{"CHF": 1.0, "JPY": 150.5, "SEK": 10.5}], QUIET),
    "one currency beside a map": ([{"USD": 1.0, "EUR": 0.9, "GBP": 0.8}], [{"CHF": 1.0}], QUIET),
    "negative and leading zero keys": ([{"-1": 1, "007": 2}], [{"0": 3}], QUIET),
    "wide objects are maps": ([words("a")], [words("b")], QUIET),
    "key renamed in map values": (
        [{"17": {"name": "x", "n": 1}}],
        [{"18": {"title": "x", "n": 1}}],
        [("*.name", "string -> missing", HIGH), ("*.title", "missing -> string", INFO)],
    ),
    "field missing in some map values": (
        [{"17": {"a": 1, "b": 1}}],
        [{"17": {"a": 1, "b": 1}, "18": {"a": 1}}],
        [("*.b", "integer -> missing", INVESTIGATE)],
    ),
    "stable record becomes a map": (
        [{"by": {"total": 1, "mean": 2}}],
        [{"by": {"17": 1}}],
        [("by", "object -> object", HIGH)],
    ),
    # learned maps
    "keys that come and go": (
        [{"by": {f"k{n}": {"v": 1}, f"m{n}": {"v": 1}}} for n in "abcdefg"],
        [{"by": {"kz": {"v": 1}, "mz": {"v": 2}}}],
        QUIET,
    ),
    "value changes under keys that come and go": (
        [{"by": {f"k{n}": {"v": 1}, f"m{n}": {"v": 1}}} for n in "abcdefg"],
        [{"by": {"kz": {"v": "1"}}}],
        [("by.*.v", "integer -> string", HIGH)],
    ),
    "no key returns": (
        [{f"k{n}": {"v": n} for n in "abc"}, {f"m{n}": {"v": n} for n in "def"}],
        [{f"z{n}": {"v": n} for n in "uvw"}],
        QUIET,
    ),
    "four observations are too few": (
        [{"by": {f"k{n}": n}, "x": 1} for n in "abcd"],
        [{"by": {"kz": "a"}, "x": 1}],
        [("by.kz", "missing -> string", INFO)],
    ),
    # recursion
    "comments deeper than before": (
        [{"c": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}],
        [{"c": [{"id": 1, "replies": [{"id": 2, "replies": [{"id": 3, "replies": [{"id": 4, "replies": []}]}]}]}]}],
        QUIET,
    ),
    "comments deeper and broken": (
        [{"c": [{"id": 1, "replies": [{"id": 2, "replies": []}]}]}],
        [{"c": [{"id": 1, "replies": [{"id": 2, "replies": [{"id": "3", "replies": []}]}]}]}],
        [("c[].replies[].replies[]", "missing -> object", INFO)],
    ),
    # odd keys
    "empty key removed": ([{"": 1, "a": 1}], [{"a": 1}], [('[""]', "integer -> missing", HIGH)]),
    "dots and brackets": ([{"a.b": {"[]": 1}}], [{"a.b": {"[]": "x"}}], [('["a.b"]["[]"]', "integer -> string", HIGH)]),
    "dotted key is no nesting": (
        [{"a": {"b": 1}, "a.b": 1}],
        [{"a": {"b": 1}, "a.b": "x"}],
        [('["a.b"]', "integer -> string", HIGH)],
    ),
    "unicode and newline": ([{"é\n": 1}], [{"é\n": "x"}], [('["\\u00e9\\n"]', "integer -> string", HIGH)]),
    "two spellings of one letter": (
        [{"é": 1}],
        [{"e\u0301": 1}],
        [('["\\u00e9"]', "integer -> missing", HIGH), ('["e\\u0301"]', "missing -> integer", INFO)],
    ),
    "case of a key": (
        [{"userId": 1}],
        [{"userid": 1}],
        [("userId", "integer -> missing", HIGH), ("userid", "missing -> integer", INFO)],
    ),
    "star as a key": ([{"*": 1, "b": 1}], [{"*": "x", "b": 1}], [('["*"]', "integer -> string", HIGH)]),
    # numbers and kinds
    "big integers": ([{"id": 1}], [{"id": 2**80}], QUIET),
    "NaN for a number": ([{"x": 1.5}], [load_tolerant('{"x": NaN}')], QUIET),
    "infinity for an integer": ([{"x": 1}], [load_tolerant('{"x": -Infinity}')], QUIET),
    "duplicate keys": ([{"x": 1}], [load_tolerant('{"x": "a", "x": 2}')], QUIET),
    "5.0 for 5": ([{"x": 5}], [load_tolerant('{"x": 5.0}')], QUIET),
    "boolean for integer": ([{"x": 1}], [{"x": True}], [("x", "integer -> boolean", HIGH)]),
    "integer for boolean": ([{"x": True}], [{"x": 0}], [("x", "boolean -> integer", HIGH)]),
    "number for boolean": ([{"x": True}], [{"x": 0.5}], [("x", "boolean -> number", HIGH)]),
    "decimal for number": ([{"x": 1.5}], [{"x": Decimal("1.5")}], [("x", "number -> decimal", HIGH)]),
    "datetime for text": (
        [{"x": "2024-01-01"}],
        [{"x": datetime.datetime(2024, 1, 1)}],
        [("x", "string -> datetime", HIGH)],
    ),
    "date for datetime": (
        [{"x": datetime.datetime(2024, 1, 1)}],
        [{"x": datetime.date(2024, 1, 1)}],
        [("x", "datetime -> date", HIGH)],
    ),
    "bytes for text": ([{"x": "a"}], [{"x": b"a"}], [("x", "string -> bytes", HIGH)]),
    "tuple for list": ([{"x": [1]}], [{"x": (1,)}], QUIET),
    "generator for list": ([{"x": [1]}], [{"x": iter([1])}], [("x", "array -> other:builtins.list_iterator", HIGH)]),
    "kind changed in some elements": (
        [[{"i": 1}] * 2],
        [[{"i": 1}, {"i": "x"}]],
        [("[].i", "integer -> string", HIGH)],
    ),
    "text known beside integer, number arrives": ([{"x": 1}, {"x": "a"}], [{"x": 1.5}], QUIET),
    "two kinds arrive": (
        [[{"x": "a"}]],
        [[{"x": 1}, {"x": True}]],
        [("[].x", "string -> boolean", HIGH), ("[].x", "string -> integer", HIGH)],
    ),
    "integer and number arrive": ([[{"x": "a"}]], [[{"x": 1}, {"x": 1.5}]], [("[].x", "string -> number", HIGH)]),
    "scalar becomes container": ([{"x": "a"}], [{"x": {"y": 1}}], [("x", "string -> object", HIGH)]),
    "container becomes scalar": ([{"x": [1]}], [{"x": "a,b"}], [("x", "array -> string", HIGH)]),
    "known union of text and object": ([{"x": "a"}, {"x": {"y": 1}}], [{"x": {"y": 2}}, {"x": ""}], QUIET),
    "known union meets array": (
        [{"x": "a"}, {"x": "b"}, {"x": {"y": 1}}],
        [{"x": []}],
        [("x", "string -> array", HIGH)],
    ),
    "removal inside a known union": (
        [{"x": "a"}, {"x": {"y": 1, "z": 1}}],
        [{"x": {"y": 1}}],
        [("x.z", "integer -> missing", HIGH)],
    ),
    # wrappers
    "pagination around a list": (
        [[{"id": 1}]],
        [{"items": [{"id": 1}], "next": None}],
        [("$", "array -> object", HIGH)],
    ),
    "pagination taken away": ([{"items": [{"id": 1}], "next": None}], [[{"id": 1}]], [("$", "object -> array", HIGH)]),
    "data around everything": (
        [{"id": 1, "name": "x"}],
        [{"data": {"id": 1, "name": "x"}}],
        [("id", "integer -> missing", HIGH), ("name", "string -> missing", HIGH), ("data", "missing -> object", INFO)],
    ),
    "single element collapsed": ([{"i": [{"a": 1}]}], [{"i": {"a": 1}}], [("i", "array -> object", HIGH)]),
    "nothing changed": ([{"a": [1, {"b": None}], "c": {"d": "x"}}], [{"c": {"d": ""}, "a": [{"b": None}, 7]}], QUIET),
    "new combination of known parts": (
        [{"a": 1, "b": 1}, {"a": 1, "c": 1}],
        [{"a": 1}, {"a": 1, "b": 1, "c": 1}],
        QUIET,
    ),
    # what was cut
    "absence in a cut array, gone everywhere": (
        [[{"a": 1, "b": 1}] * 200],
        [[{"a": 1}] * 200],
        [("[].b", "integer -> missing", HIGH)],
    ),
    "absence beyond the first hundred": ([[{"a": 1, "b": 1}] * 200], [[{"a": 1, "b": 1}] * 150 + [{"a": 1}]], QUIET),
    "missing in some, where the first hundred were all": (
        [[{"a": 1, "b": 1}] * 200],
        [[{"a": 1}, {"a": 1, "b": 1}]],
        QUIET,
    ),
    "new member in a cut array": ([[1] * 200], [[1] * 50 + ["x"] + [1] * 200], [("[]", NEW, INFO)]),
    "new member, cut before": ([[1] * 200], [[1, "x"]], [("[]", NEW, INFO)]),
    "all changed kind in a cut array": ([[1] * 200], [["x"] * 200], [("[]", "integer -> string", HIGH)]),
    "depth cut, nothing to judge": ([nest(40, 1)], [nest(50, "x")], QUIET),
    "depth cut now, whole before": (
        [nest(10, 1)],
        [nest(9, nest(60, 1))],
        [(".".join(["a"] * 10), "integer -> object", HIGH)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    """Each line is a change that somebody meets, judged as the table of rules has it, and nothing beside it."""
    learned, observed, expected = CASES[name]
    verdict = Baseline.learn(learned).check(observed)
    assert {(f.path, f.change, str(f.risk)) for f in verdict.findings} == set(expected)
    order = [HIGH, AVAILABILITY, INVESTIGATE, INFO]
    assert verdict.risk == min((risk for *_, risk in expected), key=order.index, default="quiet")


@pytest.mark.parametrize(
    ("learned", "observed", "lenient", "strict", "exact"),
    [
        (1, 1.5, None, HIGH, HIGH),
        (1.5, 1, None, None, HIGH),
        (1, 1, None, None, None),
        (1.5, 2.5, None, None, None),
    ],
)
def test_numeric_policies(learned, observed, lenient, strict, exact):
    """Whether 5 and 5.0 are one is the reader's affair."""
    baseline = Baseline.learn([{"x": learned}])
    for policy, risk in (("lenient", lenient), ("strict", strict), ("exact", exact)):
        found = baseline.check([{"x": observed}], consumer=Consumer("c", numeric=policy)).findings
        assert [str(f.risk) for f in found] == ([risk] if risk else [])


@pytest.mark.parametrize(
    ("limits", "learned", "observed", "expected"),
    [
        (
            Limits(fields=2),
            {"r": {"a": 1, "b": 1}},
            {"r": {"a": 1, "c": 1, "d": 1}},
            {("r.c", "missing -> integer", INFO)},
        ),
        (
            Limits(shapes=2),
            [{"a": 1, "b": 1}],
            [{"a": 1, f"c{n}": 1} for n in "xyz"],
            {(f"[].c{n}", "missing -> integer", INVESTIGATE) for n in "xy"},
        ),
        (Limits(nodes=4), {"a": [1], "b": {"c": {"d": 1}, "e": 1}}, {"a": [1] * 9, "b": {"e": []}}, set()),
    ],
)
def test_where_something_was_cut_absence_is_not_judged(limits, learned, observed, expected):
    """What the walk did not see may be there."""
    baseline = Baseline.learn([learned], limits=limits, records=["r"])
    verdict = baseline.check([observed])
    assert {(f.path, f.change, str(f.risk)) for f in verdict.findings} == expected
    assert verdict.truncations


def test_there_are_enough_cases():
    """The table is what holds the rules in place; it must not shrink by accident."""
    assert len(CASES) >= 120
