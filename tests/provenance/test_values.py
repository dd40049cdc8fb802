from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import plain_json

from toolpulse.errors import InputError
from toolpulse.provenance.readers.values import (
    UNFINISHED,
    list_or_empty,
    list_or_none,
    nanoseconds,
    object_or_empty,
    required_object,
    structure,
    structure_or_text,
    text_or_none,
)


@pytest.mark.parametrize(
    ("value", "read", "lenient"),
    [
        ('{"a": [1]}', {"a": [1]}, {"a": [1]}),
        ('{"a": [1', UNFINISHED, '{"a": [1'),
        ("", UNFINISHED, ""),
        ("plain words", UNFINISHED, "plain words"),
        ([1], [1], [1]),
        (None, None, None),
    ],
    ids=["json", "cut", "empty", "words", "a list", "nothing"],
)
def test_a_structure_may_be_json_text(value, read, lenient):
    """Exporters write structures as text, and cut them; a beginning must not pass for the whole."""
    assert structure(value) == read
    assert structure_or_text(value) == lenient


@given(plain_json)
def test_what_is_of_another_type_is_nothing(value):
    """Formats change, and whatever stands in a field, the type that is asked for comes out."""
    assert list_or_empty(value) == (value if isinstance(value, list) else [])
    assert list_or_none(value) == (value if isinstance(value, list) else None)
    assert object_or_empty(value) == (value if isinstance(value, dict) else {})
    assert text_or_none(value) == (value if isinstance(value, str) and value.strip() else None)
    if isinstance(value, dict):
        assert required_object(value, "t:1", "a span") is value
    else:
        with pytest.raises(InputError, match=f"t:1: a span must be an object, not {type(value).__name__}"):
            required_object(value, "t:1", "a span")


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (12, 1, 12),
        ("12", 1, 12),
        (12, 1_000_000, 12_000_000),
        ("1970-01-01T00:00:01Z", 1, 10**9),
        ("1970-01-01T00:00:01.000002", 1_000_000, 10**9 + 2000),
        ("1970-01-02T01:00:00+01:00", 1, 86_400 * 10**9),
        ("yesterday", 1, 0),
        ("9" * 40, 1, 0),
        (True, 1, 0),
        (None, 1, 0),
    ],
    ids=["number", "text", "milliseconds", "iso", "without zone", "other zone", "words", "endless", "flag", "nothing"],
)
def test_a_time_is_nanoseconds_however_it_is_written(value, unit, expected):
    """Spans of two exporters are put in one order, so a zone or a unit that is lost would swap them."""
    assert nanoseconds(value, unit) == expected


@given(st.integers(0, 2**62))
def test_no_nanosecond_is_lost(moment):
    """Calls of one agent start within a microsecond, which a float would not keep apart."""
    assert nanoseconds(str(moment)) == nanoseconds(moment) == moment
