from __future__ import annotations

import io
import logging
import pickle
from contextlib import suppress

import msgspec
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

import toolpulse
from toolpulse import Baseline, Monitor, shape_of
from toolpulse.errors import DriftError
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.stores.memory import MemoryStore
from toolpulse.testing import CANARY, RecordingMonitor, assert_no_canary, canaries

pytestmark = [pytest.mark.attack, pytest.mark.quick]

WHOLE = {
    "text": CANARY,
    "number": 7340917263518449,
    "flag": True,
    "rows": [{"a": CANARY, "b": [CANARY]}],
    "people": {f"{CANARY}@example.org": 1},
}


@pytest.fixture
def heard(caplog, capsys):
    """What was logged and printed, by any way."""
    caplog.set_level(logging.DEBUG)
    stream = io.StringIO()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(stream))
    yield lambda: (caplog.text, stream.getvalue(), *capsys.readouterr())
    structlog.reset_defaults()


def _monitors(folder):
    """A monitor for each way to judge, with all sinks."""
    for background in (False, True):
        sinks = [JsonlSink(folder / f"{background}.jsonl"), LogSink()]
        yield RecordingMonitor(store=MemoryStore(), sinks=sinks, background=background, flush_interval=10_000.0)


@pytest.mark.swallows
@pytest.mark.parametrize("name", canaries())
def test_no_value_and_no_map_key_is_kept_told_or_logged(name, tmp_path, heard):
    """A response holds whatever the tool's users wrote; of that nothing may be found anywhere."""
    for monitor in _monitors(tmp_path):

        @monitor.watch(tool="t")
        def tool(response, question):
            if isinstance(response, Exception):
                raise response
            return response

        for n in range(40):
            # learned from it, drifted into it, drifted away from it
            response = canaries()[name] if n < 12 or n % 2 else {"other": n}
            with suppress(ValueError):
                tool(response, f"what about {CANARY}?")
            del response
        assert monitor.flush()
        assert monitor.health().tools["t"].calls == 40
        store = monitor._flusher.link.store
        snapshots = [store.load(tool, key) for tool, key in store.tools()]
        assert_no_canary(monitor.events, monitor.health(), monitor.incidents(), snapshots, store)
        assert_no_canary(pickle.dumps(snapshots), msgspec.json.encode(monitor.events), monitor)
        monitor.close()
    assert_no_canary(tmp_path, *heard())


@pytest.mark.parametrize("name", canaries())
def test_no_value_and_no_map_key_is_in_a_baseline_file(name, tmp_path):
    """A baseline is made to be committed."""
    baseline = Baseline.learn([canaries()[name]] * 3, unwrap="none")
    baseline.save(tmp_path / "baseline.json")
    verdict = baseline.check([canaries()[other] for other in canaries()])
    assert_no_canary(tmp_path, baseline, verdict, baseline.to_json())


def _places():
    """Responses with a canary somewhere, and the path from it to the root known to nobody."""
    leaf = st.sampled_from([CANARY, CANARY.encode(), {f"{CANARY}@example.org": 1}, [CANARY], {5: CANARY}])
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner | st.none() | st.integers(0, 9), min_size=1, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner | st.booleans(), min_size=1, max_size=3)
            | st.tuples(inner)
            | st.dictionaries(st.integers(0, 99), inner, min_size=1, max_size=2)
        ),
        max_leaves=4,
    )


@settings(max_examples=50)
@given(st.lists(_places(), min_size=1, max_size=3), st.sampled_from(["log", "raise"]))
def test_no_value_is_kept_wherever_it_stands(places, on_drift):
    """The walk, the fold, the diff and the sentences about them see every placement of a value."""
    with RecordingMonitor(on_drift=on_drift) as monitor:
        for n in range(20):
            try:
                monitor.observe("t", places[n % len(places)] if n >= 10 else {"a": places[0]})
            except DriftError as error:
                assert_no_canary(str(error), error.findings)
        del places[:]
        assert_no_canary(monitor.events, monitor.incidents(), monitor.health(), monitor)


def _stock(n, value):
    """A map that shows only with time that it is one: four names a call, most of them new."""
    return {"stock": {f"{CANARY}_{chr(97 + (n + i) % 26)}{chr(97 + n % 26)}": value for i in range(4)}}


@pytest.mark.parametrize("value", [1, {"count": 1}], ids=["scalars", "records"])
@pytest.mark.parametrize("before", [0, 10], ids=["in the warm-up", "after it"])
def test_keys_of_a_map_that_was_learned_are_gone(value, before):
    """Before they were known to be data they were field names; the decision removes them everywhere."""
    store = MemoryStore()
    with RecordingMonitor(store=store) as monitor:
        for _ in range(before):
            monitor.observe("t", {"id": 1})
        monitor.observe("t", {"id": 1, **_stock(0, value)} if before else _stock(0, value))
        with pytest.raises(AssertionError, match="a canary"):
            assert_no_canary(monitor._channels["t", ""])
        for n in range(1, 30):
            monitor.observe("t", {"id": 1, **_stock(n, value)} if before else _stock(n, value))
        assert [d.path for d in monitor._channels["t", ""].state.baseline.maps_learned.values()] == [("stock",)]
        assert monitor.flush()
        assert_no_canary(store, monitor.health(), monitor._channels["t", ""])


@pytest.mark.swallows
def test_what_goes_wrong_tells_no_value(heard, tmp_path):
    """An error's text and its locals may hold a response."""

    class Telling:
        def emit(self, event):
            raise ValueError(CANARY)

    class Store(MemoryStore):
        def save(self, tool, key, snapshot):
            raise ValueError(CANARY)

    with Monitor(Store(), sinks=[Telling()], background=False) as monitor:

        @monitor.watch(tool="t", key=lambda question: 1 / 0 if question else CANARY * 9)
        def tool(question):
            return WHOLE

        for _ in range(12):
            tool(CANARY)
            tool("")
        assert_no_canary(monitor.health())
    assert_no_canary(*heard())


@pytest.mark.parametrize(
    "thing",
    [
        CANARY,
        f"... {CANARY} ...",
        CANARY.encode(),
        {"a": [1, (CANARY,)]},
        {CANARY: 1},
        {"n": 7340917263518449},
        [7340917263.518449],
        ValueError(CANARY),
        [canaries()["a dataclass"]],
        lambda: None,
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_a_canary_is_found(thing, tmp_path):
    """A proof that can find nothing proves nothing."""
    if callable(thing):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "file").write_bytes(b"\x00" + CANARY.encode())
        thing = tmp_path
    with pytest.raises(AssertionError, match="a canary"):
        assert_no_canary("nothing", thing)


def test_a_canary_is_found_deep_inside_an_object():
    """An attribute of an attribute of a monitor is where a leak would be."""
    with RecordingMonitor() as monitor:
        monitor.observe("t", 1)
        assert_no_canary(monitor)
        monitor._channels["t", ""].state.walker._plans.known["x"] = CANARY
        with pytest.raises(AssertionError, match=r"a canary .* in what RecordingMonitor refers to"):
            assert_no_canary(monitor)


def test_every_planted_response_holds_a_canary():
    """A sample that holds none would be passed over in silence."""
    for name, response in canaries().items():
        with pytest.raises(AssertionError, match="a canary"):
            assert_no_canary(response)
        assert_no_canary(name)


def test_a_field_name_is_kept():
    """What is a name and what is data is decided by the shape; names are what drift is told by."""
    assert CANARY in shape_of({CANARY: 1}).shape.text
    assert toolpulse.shape_of({f"{CANARY}@example.org": 1}).shape.text == shape_of({"x@example.org": 1}).shape.text
