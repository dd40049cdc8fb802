from __future__ import annotations

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
