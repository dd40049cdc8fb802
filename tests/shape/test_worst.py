from __future__ import annotations

import contextlib
import gc
import importlib
import json
import re
import sqlite3
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolpulse.shape.text
from toolpulse import Baseline, Limits, Monitor, Risk, shape_of
from toolpulse.shape import Walker
from toolpulse.shape.budget import LEAST_WORK
from toolpulse.shape.map_keys import data_keys
from toolpulse.shape.rows import TEXT_KEYED, has_text_keys, size_of
from toolpulse.shape.stream import StreamRecord
from toolpulse.shape.text import FREE, MOST, WORK, decoding_work
from toolpulse.stores import open_store

pytestmark = [pytest.mark.attack, pytest.mark.quick]

sys.path.insert(0, str(Path(__file__).parents[2]))
FAMILIES = importlib.import_module("benchmarks.bench_worst").families()
sys.path.pop(0)

CALLS = 300_000
"""Calls of functions, Python's own included, that a walk may make: a response met for the first time takes half."""


def calls(function):
    """How many functions were called."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in {"call", "c_call"}

    gc.disable()  # a collection calls what others registered with it
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("family", FAMILIES)
def test_no_response_costs_more_than_the_budget(family):
    """A response may come from anyone; what it costs its caller is bounded by counted work, met before or not."""
    value, walker = FAMILIES[family](), Walker()
    assert calls(lambda: walker.observe(value, "auto")) < CALLS
    assert calls(lambda: walker.observe(value, "auto")) < CALLS


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cut_does_not_depend_on_what_was_met_before(family):
    """One response has one shape in every process, though one remembers half of it and another nothing."""
    value, known = FAMILIES[family](), Walker()
    first = known.observe(value, "auto")
    assert known.observe(value, "auto") == first
    part = Walker()
    if isinstance(value, list):
        part.observe(value[len(value) // 2 :])
        assert part.observe(value, "auto") == first
    assert Walker().observe(value, "auto") == first


def distinct(count: int, fields: int = 1) -> list[list[dict[str, int]]]:
    """Lists of twenty records of which no two are alike."""
    records = [{f"k{n}x{field}": 1 for field in range(fields)} for n in range(count)]
    return [records[start : start + 20] for start in range(0, count, 20)]


def test_distinct_shapes_are_work():
    """Making a shape that was never seen costs many times what a look-up does, so fewer of them are looked at."""
    assert not [cut for cut in shape_of(distinct(800)).truncations if cut.limit == "work"]
    cut = shape_of(distinct(2_000)).truncations
    assert "work" in {one.limit for one in cut}
    assert re.search(r": \d+ of \d+ (parts|elements) seen", "\n".join(map(str, cut)))


def test_more_nodes_allow_more_work():
    """Who raises the limit of nodes wants more to be looked at, whatever it is."""
    assert not [
        cut for cut in shape_of(distinct(2_000), Limits(nodes=5 * LEAST_WORK)).truncations if cut.limit == "work"
    ]


def test_alike_records_are_no_work():
    """Ordinary responses are never cut by work: a record that is like the last one is a look-up."""
    record = {"id": 1, "tags": ["a"], "owner": {"name": "a", "teams": [{"id": 1}]}}
    assert not shape_of([[record] * 10] * 100).truncations


def test_too_many_cuts_are_one():
    """Telling of ten thousand cuts would cost more than the walk did."""
    wide = {f"a{n}b": {f"c{m}d": {"x" * 300: [1]} for m in range(250)} for n in range(80)}
    seen = shape_of(wide)
    assert [(cut.path, cut.limit) for cut in seen.truncations] == [("$", "work")]
    assert seen.shape.kind == "unknown"


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


def test_databases_written_before_there_was_a_limit_of_text_load(tmp_path):
    """A stored tool is older than the library that reads it; the limit its reading does not name is the usual one."""
    place = f"sqlite:///{tmp_path / 'calls.db'}"
    options = {"store": place, "sinks": [], "background": False}
    with Monitor(**options, limits=Limits(elements=7)) as monitor:
        for _ in range(30):
            monitor.observe("search", {"rows": [{"id": 1}]})
    with contextlib.closing(sqlite3.connect(tmp_path / "calls.db")) as database, database:
        [(state,)] = database.execute("select state from toolpulse_tools").fetchall()
        written = json.loads(state)
        assert written["reading"]["limits"].pop("text") == MOST
        database.execute("update toolpulse_tools set state = ?", (json.dumps(written),))
    store = open_store(place)
    try:
        held = store.load("search", "")
    finally:
        store.close()
    assert held.reading.limits == Limits(elements=7)


def test_baselines_written_before_there_was_a_limit_of_text_load(tmp_path):
    """A committed baseline is older than the library that reads it; the limit it does not name is the usual one."""
    path = tmp_path / "search.json"
    Baseline.learn([{"id": 1}] * 20, limits=Limits(elements=7)).save(path)
    written = json.loads(path.read_text("utf-8"))
    assert written["limits"].pop("text") == MOST
    path.write_text(json.dumps(written), "utf-8")
    loaded = Baseline.load(path)
    assert loaded.limits == Limits(elements=7)
    loaded.save(path)
    assert json.loads(path.read_text("utf-8"))["limits"]["text"] == MOST
    assert Baseline.load(path).limits == Limits(elements=7)


def test_a_stream_ends_within_the_budget_of_one_response():
    """The end of a stream sorts what its items showed; items that each stay within the budget must not add up there."""
    stream = StreamRecord(Walker(), "none")
    for item in range(100):
        stream.add({f"a{item}x{n}b": [{f"c{item}x{m}{'d' * 200}": 1} for m in range(20)] for n in range(30)})
    assert calls(lambda: stream.observation(complete=True)) < CALLS // 10
    seen = stream.observation(complete=True)
    assert "work" in {cut.limit for cut in seen.truncations}


def test_many_cuts_in_a_stream_are_one():
    """Each item may be cut in hundreds of places; all of them together are not kept."""
    stream = StreamRecord(Walker(Limits(depth=2)), "none")
    for item in range(100):
        stream.add({f"a{item}x{n}b": {"c": [[]]} for n in range(30)})
    seen = stream.observation(complete=True)
    assert [(cut.path, cut.limit) for cut in seen.truncations] == [("$", "work")]


def test_extra_fields_are_not_copied():
    """A model takes whatever fields a response has; reading it must not take time by their number."""
    pydantic = pytest.importorskip("pydantic")
    open_model = pydantic.create_model("Open", __config__=pydantic.ConfigDict(extra="allow"), id=(int, 1))
    large = open_model(**{f"{n}w": n for n in range(200_000)})
    walker = Walker()
    tracemalloc.start()
    try:
        seen = walker.observe(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert [cut.limit for cut in seen.truncations] == ["elements"]


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


def test_the_log_says_what_was_cut():
    """A tool whose responses outgrow a budget is told of as any other cut is."""
    told = []
    sink = type("Sink", (), {"emit": lambda self, event: told.append(event)})()
    with Monitor(store="memory:", sinks=[sink], background=False) as monitor:
        for _ in range(30):
            monitor.observe("search", '{"rows":[{"id":1}]}')
        monitor.observe("search", '{"rows":[' + '{"id":1},' * 100_000 + '{"id":1}]}')
        monitor.flush()
    rules = [change.rule_id for event in told for change in event.changes]
    assert rules == ["truncation-changed"]


def test_assertions_are_not_asked_of_text_that_was_not_read():
    """An assertion reads the payload; of one that was not decoded it would say something else."""
    from toolpulse import Consumer

    told = []
    sink = type("Sink", (), {"emit": lambda self, event: told.append(event)})()
    reader = Consumer("reader", assertions={"has rows": lambda payload: bool(payload["rows"])})
    with Monitor(store="memory:", sinks=[sink], consumers=[reader], background=False) as monitor:
        for _ in range(30):
            monitor.observe("search", '{"rows":[{"id":1}]}')
        monitor.observe("search", '{"rows":[' + '{"id":1},' * 100_000 + '{"id":1}]}')
        monitor.flush()
    assert "contract" not in [change.rule_id for event in told for change in event.changes]


@given(st.text(alphabet="a.@/ Z", max_size=12))
def test_an_email_address_is_told_as_documented(key):
    """The expression that is used reads a key once; the one of the documentation is easier to read."""
    documented = re.fullmatch(r"[^@\s/]+@[^@\s/]+\.[^@\s/]+", key, re.ASCII)
    assert data_keys([key]) == bool(documented)
