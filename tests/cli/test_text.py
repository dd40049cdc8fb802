from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from toolpulse.cli._kit.text import (
    file_label,
    listed,
    percent,
    plural,
    safe,
    safe_json,
    without_secrets,
)


def test_words_and_figures():
    """A share is never rounded to all or nothing, and a count agrees with its noun."""
    assert [percent(n, 1000) for n in (0, 1, 10, 994, 999, 1000)] == ["0%", "<1%", "1%", ">99%", ">99%", "100%"]
    assert percent(1, 0) == "0%"
    assert [plural(n, word) for n, word in ((1, "call"), (0, "call"), (1200, "reply"), (2, "key"))] == [
        "1 call", "0 calls", "1,200 replies", "2 keys",
    ]  # fmt: skip
    assert safe("a\tb\x00\u200b\u2028\xa0\ud800") == "a\\tb\\x00\\u200b\\u2028\\xa0\\ud800"
    assert json.loads(safe_json('{"\U0001f600":\t"\x7f"}')) == {"\U0001f600": "\x7f"}


def test_lists_say_how_many_they_leave_out():
    """A list that was cut reads as the whole where nothing says that it is not."""
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed([*"abcd"], 2, "pair") == "a, b and 2 more pairs"
    assert listed([*"abc"], 2, "pair") == "a, b and 1 more pair"


def test_secrets_in_messages():
    """Only what is a password goes."""
    assert without_secrets("at postgresql://me:pw@h:5/d?x=1 x") == "at postgresql://me:***@h:5/d?x=1 x"
    assert without_secrets("postgresql://h/d?user=me&PASSWORD=pw&x=1") == "postgresql://h/d?user=me&PASSWORD=***&x=1"
    assert without_secrets("postgresql://:pw@h") == "postgresql://:***@h"
    for text in ("postgresql://me@h/d", "sqlite:////a/b@c", "http://127.0.0.1:8000/x", "a: b@c"):
        assert without_secrets(text) == text


@given(st.text())
def test_labels_of_files_are_printable(name):
    """Whatever a file is called, printing it is safe."""
    assert file_label(name).isprintable()
