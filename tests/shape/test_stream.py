from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Limits
from toolpulse.shape import Walker, shape_of
from toolpulse.shape.stream import StreamRecord
from toolpulse.testing import RecordingMonitor, responses


def _record(items, limits=None, unwrap="none"):
    record = StreamRecord(Walker(limits or Limits()), unwrap)
    for item in items:
        record.add(item)
    return record


@given(st.lists(responses(max_leaves=4), max_size=10))
def test_a_stream_has_the_shape_of_its_items_in_an_array(items):
    """Whether a tool returns a list or yields its elements, the structure is the same."""
    assert _record(items).observation(complete=True).shape is shape_of(items).shape


def test_items_beyond_the_limit_are_counted_and_not_looked_at():
    """A stream without end must not cost more than a long list."""
    seen = _record([{"a": 1}] * 2 + ["x"] * 3, Limits(elements=2)).observation(complete=True)
    assert seen.shape is shape_of([{"a": 1}]).shape
    assert [str(cut) for cut in seen.truncations] == ["$: 2 of 5 elements seen"]


def test_cuts_inside_items_are_told_at_their_place():
    """Where something was not looked at, absence is not judged, so the place has to be right."""
    seen = _record([{"rows": [1, 2, 3]}], Limits(elements=2)).observation(complete=True)
    assert [str(cut) for cut in seen.truncations] == ["[].rows: 2 of 3 elements seen"]


def test_too_many_shapes_are_cut_like_an_array_s():
    """The same bound as for a list."""
    items = [{f"f{n}x": 1} for n in range(30)]
    seen = _record(items).observation(complete=True)
    assert seen.shape is shape_of(items).shape
    assert [cut.limit for cut in seen.truncations] == ["shapes"]


def test_a_stream_left_before_its_first_item_shows_nothing():
    """It is not empty; nobody looked."""
    assert _record([]).observation(complete=False) is None
    assert _record([]).observation(complete=True).shape is shape_of([]).shape
    assert _record([1]).observation(complete=False).shape is shape_of([1]).shape


def test_a_stream_in_which_an_item_is_an_error_is_an_error():
    """Half an answer and an error teach nothing."""
    failed = {"content": [{"type": "text", "text": "no"}], "isError": True}
    seen = _record([{"a": 1}, failed], unwrap="auto").observation(complete=True)
    assert seen.outcome == "error"


def test_a_stream_of_which_an_item_could_not_be_seen_is_not_judged():
    """The rest of it would be taken for all there was."""

    class Broken(Walker):
        def observe(self, response, unwrap="none"):
            if response == "broken":
                raise LookupError
            return super().observe(response, unwrap)

    record = StreamRecord(Broken(), "none")
    record.add({"a": 1})
    with pytest.raises(LookupError):
        record.add("broken")
    record.add({"a": 1})
    assert record.observation(complete=True) is None


WAYS = {
    "to its end": (list, (1, 0, 0), {}),
    "and closed early": (lambda stream: (next(stream), stream.close()), (1, 0, 0), {}),
    "and dropped": (next, (1, 0, 0), {}),
    "and thrown into": (lambda stream: (next(stream), _throw(stream)), (1, 1, 0), {"LookupError": 1}),
    "and never begun": (lambda stream: None, (0, 0, 0), {}),
}


def _throw(stream):
    with pytest.raises(LookupError):
        stream.throw(LookupError())


@pytest.mark.parametrize("name", WAYS)
def test_a_generator_is_counted_once_however_it_is_read(name):
    """One call, one count, at the end."""
    read, (calls, errors, unjudged), types = WAYS[name]
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool():
            yield from [{"a": 1}, {"a": 2}, {"a": 3}]

        read(tool())
        gc.collect()
        told = monitor.health().tools.get("t")
        counted = (told.calls, told.errors, told.unjudged) if told else (0, 0, 0)
        assert counted == (calls, errors, unjudged)
        assert (told.error_types if told else {}) == types


def test_an_async_generator_is_counted_once():
    """Streams of tokens are mostly these."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        async def tool(n):
            for number in range(n):
                yield {"a": number}

        async def main():
            assert [item async for item in tool(3)] == [{"a": 0}, {"a": 1}, {"a": 2}]
            early = tool(3)
            await anext(early)
            await early.aclose()

        asyncio.run(main())
        assert monitor.health().tools["t"].calls == 2


def test_a_stream_drifts_like_a_list():
    """Its items' fields are what the agent reads."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool(value):
            yield {"a": value}
            yield {"a": value}

        for _ in range(10):
            list(tool(1))
        list(tool("x"))
        (event,) = monitor.drift
        assert [(change.path, change.rule_id) for change in event.changes] == [("[].a", "kind-changed")]
        assert event.encoding == "stream"


def test_a_stream_holds_no_item():
    """A response of a gigabyte that is streamed is streamed because nobody can hold it."""

    class Item(dict):
        pass

    record = StreamRecord(Walker(), "auto")
    items = [Item(a=1) for _ in range(50)]
    known = [weakref.ref(item) for item in items]
    for item in items:
        record.add(item)
    del item, items
    gc.collect()
    assert [one for one in known if one() is not None] == []
    assert record
