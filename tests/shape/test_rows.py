from __future__ import annotations

import json

from toolpulse.shape.rows import TEXT_KEYED, has_text_keys, size_of


def test_only_dicts_of_plain_text_are_told_by_their_size():
    """A key that hashes or compares by code of its own must never pass for plain text, however the dict was made."""
    own = type("Own", (str,), {"__hash__": str.__hash__})
    for count in range(340):
        text = {f"k{n}": n for n in range(count)}
        for key in (own("k"), 1, None, ("k",), b"k"):
            first, last = {key: 0} | text, text | {key: 0}
            replaced = dict(last)
            replaced["later"] = replaced.pop("k0", 0)
            for mixed in (first, last, replaced, dict(last), last.copy(), {**text, key: 0}):
                assert size_of(mixed) not in TEXT_KEYED
                assert not has_text_keys(mixed)
        assert has_text_keys(text)


def test_records_of_text_keys_are_told_in_one_step():
    """What makes it quick rests on how CPython keeps such dicts; where that changes, this says so."""
    made = [{"a": 1}, json.loads('{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}'), {f"k{n}": n for n in range(256)}]
    assert [size_of(one) in TEXT_KEYED for one in made] == [True] * 3
