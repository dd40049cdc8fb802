from __future__ import annotations

import pytest

import toolpulse.shape.text
from toolpulse import Baseline, Limits, Risk, shape_of
from toolpulse.shape import Walker
from toolpulse.shape.text import FREE, WORK, decoding_work


def test_texts_of_a_response_share_one_budget(monkeypatch):
    """Blocks, envelopes in envelopes and second attempts are all decoded in the caller's thread."""
    spent = 0
    a_list = decoding_work("[]," * 1_000, WORK) / 3_000
    most = FREE + WORK / a_list

    def counting(decode, times):
        def counted(text):
            nonlocal spent
            spent += times * len(text)
            return decode(text)

        return counted

    for name, times in (("_decode", 1), ("_decode_floats_apart", 1), ("load_tolerant", 3)):
        monkeypatch.setattr(toolpulse.shape.text, name, counting(getattr(toolpulse.shape.text, name), times))
    lists = "[" + "[]," * 5_000
    for last in ("1]", "NaN]", "!]"):
        block = {"type": "text", "text": lists + last}
        Walker().observe({"content": [block] * 900, "isError": False}, "auto")
        assert most / 2 < spent <= most
        spent = 0


ORDINARY = '{"id":"doc_17","title":"Retry budgets, and how to spend them","score":0.25,"clicks":812,"parent":null},'


def test_a_megabyte_of_ordinary_text_is_read():
    """A tool that answers with a long page of records is looked at; it is what a text holds that makes it slow."""
    long = "[" + ORDINARY * 10_000 + "1]"
    assert len(long) > 1_000_000
    seen = shape_of(long, unwrap="auto")
    assert [cut.limit for cut in seen.truncations] == ["elements"]
    assert seen.shape.kind == "array"
    dense = "[" + "[]," * 200_000 + "1]"
    assert [cut.limit for cut in shape_of(dense, unwrap="auto").truncations] == ["text"]


def test_a_refused_text_leaves_room_for_a_short_one():
    """A block that is too long to be read must not hide the short ones after it."""
    dense, short = "[" + "[]," * 200_000 + "1]", '{"id":1}'
    content = [{"type": "text", "text": text} for text in (dense, short)]
    seen = shape_of({"content": content, "isError": False}, unwrap="auto")
    assert seen.shape.text == '["unknown",{"id":"integer"}]'


@pytest.mark.parametrize("number", ["1e300", "1.7976931348623157E+308", "1e289"])
def test_great_numbers_are_read_by_the_parser_that_is_quick_with_them(number, monkeypatch):
    """One parser takes 20 microseconds for each of them, so a text that is full of them goes to the other."""
    used = []
    quick = toolpulse.shape.text._decode_floats_apart
    monkeypatch.setattr(toolpulse.shape.text, "_decode_floats_apart", lambda text: used.append(1) or quick(text))
    text = "[" + f"{number}," * 2_000 + "1]"
    assert shape_of(text, unwrap="auto").shape.text == '["number"]'
    assert used
    used.clear()
    shape_of("[" + ORDINARY * 200 + "1]", unwrap="auto")
    assert not used


def test_more_text_is_decoded_where_a_user_says_so():
    """A tool that answers with megabytes of JSON text is looked at where its user accepts what that costs."""
    text = "[" + '{"id":1},' * 100_000 + "1]"
    cut = shape_of(text, unwrap="auto")
    assert (cut.shape.kind, cut.encoding) == ("unknown", "json-text")
    assert [str(one) for one in cut.truncations] == [f"$: 0 of {len(text):,} characters of text seen"]
    whole = shape_of(text, Limits(text=20_000_000), unwrap="auto")
    assert whole.shape.kind == "array"


def test_text_that_was_not_read_breaks_nothing():
    """A response that is merely large must not be told as one that changed its type."""
    usual = ['{"rows":[{"id":1}]}'] * 20
    baseline = Baseline.learn(usual, unwrap="auto")
    large = '{"rows":[' + '{"id":1},' * 100_000 + '{"id":1}]}'
    verdict = baseline.check([large])
    assert verdict.risk in {Risk.QUIET, Risk.INFO}, verdict.findings
    assert [cut.limit for cut in verdict.truncations] == ["text"]
