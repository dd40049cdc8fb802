from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.shape.map_keys import data_keys, data_like


@given(st.text(alphabet="a.@/ Z", max_size=12))
def test_an_email_address_is_told_as_documented(key):
    """The expression that is used reads a key once; the one of the documentation is easier to read."""
    documented = re.fullmatch(r"[^@\s/]+@[^@\s/]+\.[^@\s/]+", key, re.ASCII)
    assert data_keys([key]) == bool(documented)


@pytest.mark.parametrize(
    ("names", "by_themselves", "beside_a_map"),
    [
        ([], False, False),
        (["17", "-3"], True, True),
        (["0f8fad5b-d9cb-469f-a165-70867728950e"], True, True),
        (["2024-05-17", "2024-05-17T10:00:00Z"], True, True),
        (["0123456789ab"], True, True),
        (["abcdefabcdef"], False, False),
        (["0123456789a"], False, False),
        (["https://example.com/a"], True, True),
        (["17", "name"], False, False),
        (["user_931", "user_932"], False, True),
        (["user_931", "user_932", "user_933"], True, True),
        (["user_93", "user_94", "user_95"], False, False),
        (["a100", "b100", "c100"], True, True),
        (["a100", "b100", "c100", "d100"], False, True),
        (["EUR", "USD"], False, True),
        (["EUR", "USD", "GBP"], True, True),
        (["EURO", "USD", "GBP"], False, False),
        (["1" * 5000], False, False),
    ],
    ids=[
        "none", "integers", "uuid", "dates", "hex", "hex without digits", "short hex", "url", "one is a name",
        "two numbered", "three numbered", "two digits", "three stems", "four stems", "two codes", "three codes",
        "no codes", "endless",
    ],
)  # fmt: skip
def test_which_keys_are_data(names, by_themselves, beside_a_map):
    """The documented table, at each of its bounds: a record taken for a map loses its fields, and the other way on."""
    assert data_keys(names) is by_themselves
    assert data_like(names) is beside_a_map
