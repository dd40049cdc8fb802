from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import shape_of
from toolpulse._base.paths import format_path
from toolpulse.evidence.chance import improbable
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.evidence.quarantine import QuarantineLog
from toolpulse.evidence.silence import error_rate, optional_parts, shows_silence, silences
from toolpulse.testing import RecordingMonitor


def profile_of(*runs):
    """The profile of (response, count) blocks, one after the other."""
    rows, now = [], 0
    for response, count in runs:
        rows.append((shape_of(response).shape, Sightings(count, now + 1, now + count), "native", frozenset()))
        now += count
    return fold(rows), now


def asked(runs, newest, *, silent=0, held=0, among=1):
    """What is found to be away, as path and fact, where ``held`` of the silent observations did not teach."""
    profile, now = profile_of(*runs)
    back = QuarantineLog()
    if held:
        back.add(held, now + held)
    changes = silences(profile, shape_of(newest).shape, now=now + silent, parts=among, quarantine=back)
    return [(format_path(change.path), change.fact) for change in changes]


BOTH = ({"id": 1, "note": "n"}, 50), ({"id": 1}, 1), ({"id": 1, "note": "n"}, 1)


def test_a_field_is_missed_when_its_silence_is_improbable_and_not_before():
    """The rule says so of exactly the silences that the formula does."""
    said = [bool(asked(BOTH, {"id": 1}, silent=m)) for m in range(60)]
    assert said == [improbable(51, 52, m) for m in range(60)]
    assert any(said)
    assert not all(said)


def test_only_the_outermost_path_is_asked():
    """Whoever misses a parent need not be told of its children."""
    whole = {"id": 1, "box": {"in": {"a": 1, "b": [1]}, "x": 1}}
    runs = (whole, 50), ({"id": 1}, 1), (whole, 1)
    assert asked(runs, {"id": 1}, silent=40) == [("box", "vanished")]


@pytest.mark.parametrize("newest", [{"id": 1}, {"id": 1, "box": None}, {"id": 1, "box": []}, {"id": 1, "box": "text"}])
def test_only_where_the_newest_shows_the_parent(newest):
    """A child of what is not there is not missing; the box may be asked for, not what is in it."""
    runs = ({"id": 1, "box": {"a": 1, "b": 1}}, 50), ({"id": 1, "box": {"a": 1}}, 1), ({"id": 1, "box": None}, 5)
    assert ("box.b", "vanished") not in asked(runs, newest, silent=40)
    assert ("box.b", "vanished") in asked(runs, {"id": 1, "box": {"a": 1}}, silent=40)


def test_what_the_newest_shows_is_never_missed():
    """Whatever the counts say."""
    assert asked(BOTH, {"id": 1, "note": "n"}, silent=10_000) == []


def test_a_held_observation_is_no_silence():
    """What it lacked is told with it; but it must not hide what the others lack."""
    assert asked(BOTH, {"id": 1}, silent=40)
    assert asked(BOTH, {"id": 1}, silent=40, held=38) == []
    assert asked(BOTH, {"id": 1}, silent=78, held=38)


def test_more_parts_that_come_and_go_make_it_stricter():
    """Each has its chances."""
    first = [next(m for m in range(1, 500) if asked(BOTH, {"id": 1}, silent=m, among=among)) for among in (1, 20, 400)]
    assert first == sorted(first)
    assert len(set(first)) == 3


@pytest.mark.parametrize(
    ("runs", "newest", "found"),
    [
        ((({"v": 1}, 50), ({"v": None}, 1), ({"v": 1}, 1)), {"v": None}, [("v", "valueless")]),
        ((({"v": [1]}, 50), ({"v": []}, 1), ({"v": [1]}, 1)), {"v": []}, [("v", "empty")]),
        ((({"v": {"1": 1, "2": 1}}, 50), ({"v": {"3": 1}}, 1)), {"v": {"4": 1}}, []),
        ((([1], 50), ([], 1), ([1], 1)), [], [("$", "empty")]),
        ((([1], 50), (None, 1), ([1], 1)), None, [("$", "empty")]),
        ((({"r": [{"a": 1, "b": 1}]}, 50), ({"r": [{"a": 1}]}, 1)), {"r": [{"a": 1}]}, [("r[].b", "vanished")]),
        ((({"r": [{"l": [1]}]}, 50), ({"r": [{"l": []}]}, 1)), {"r": [{"l": []}]}, []),
        ((({"r": [{"v": 1}]}, 50), ({"r": [{"v": None}]}, 1)), {"r": [{"v": None}]}, [("r[].v", "valueless")]),
    ],
)
def test_what_is_asked_where(runs, newest, found):
    """Values and members, at the root, in arrays and maps; emptiness in arrays is ordinary."""
    assert asked(runs, newest, silent=60) == found


def test_what_never_came_and_went_is_no_part():
    """The bound is divided among the parts that can be away, and no others."""
    steady, _ = profile_of(({"a": 1, "b": {"c": [1]}, "d": [{"e": 1}]}, 20))
    assert optional_parts(steady.root) == 0
    moving, _ = profile_of(
        ({"a": 1, "b": {"c": [1]}, "d": [{"e": 1, "f": [1]}], "m": {"1": {"x": 1}}}, 20),
        ({"a": None, "b": {"c": []}, "d": [{"e": None, "f": []}], "m": {"2": {"x": 1, "y": 2}}}, 20),
        ({"a": 1, "d": [{"e": 1, "f": [1]}], "m": {"1": {"x": 1}}}, 1),
    )
    # a and e are null at times, b comes and goes, c is empty at times, y is in some of the map's values
    assert optional_parts(moving.root) == 5


shown = st.recursive(
    st.sampled_from([None, 1, "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(shown, st.integers(1, 40)), min_size=1, max_size=5), shown, st.integers(1, 300))
def test_what_is_missed_is_shown_to_be_missing_by_the_newest(runs, newest, silent):
    """A silence is counted on by asking the response; both must read it alike, and only outermost paths are told."""
    profile, now = profile_of(*runs)
    shape = shape_of(newest).shape
    changes = silences(profile, shape, now=now + silent, parts=1, quarantine=QuarantineLog())
    assert all(shows_silence(shape, change.path, change.fact) for change in changes)
    found = [change.path for change in changes]
    assert len(set(found)) == len(found)
    assert not any(one != other and other[: len(one)] == one for one in found for other in found)


def test_emptiness_is_shown_by_containers_only():
    """Null and a missing field are other facts."""
    for value, empty in (([], True), ({}, True), ([1], False), (None, False), ("", False)):
        assert shows_silence(shape_of({"v": value}).shape, ("v",), "empty") is empty


class TestErrors:
    def fail(self, monitor, times=1):
        """Calls that raise."""

        @monitor.watch(tool="t")
        def broken():
            raise OSError("no")

        for _ in range(times):
            with pytest.raises(OSError, match="no"):
                broken()

    def good(self, monitor, times=1, **more):
        """Calls that answer."""
        for _ in range(times):
            monitor.observe("t", {"id": 1, **more})

    def test_a_run_is_told_of_once(self):
        """A service that is down."""
        monitor = RecordingMonitor()
        self.good(monitor, 100)
        self.fail(monitor, 50)
        (event,) = monitor.drift
        assert (event.status, event.risk, event.changes[0].rule_id) == ("open", "availability", "error-rate")
        assert "in a row" in event.changes[0].evidence

    def test_a_tool_that_fails_now_and_then_is_quiet(self):
        """Its own rate is what counts."""
        monitor = RecordingMonitor()
        for call in range(600):
            self.fail(monitor) if call % 5 == 3 else self.good(monitor)
        assert monitor.drift == []

    def test_a_share_of_the_last_hundred_is_told_of(self):
        """A service that is half down never fails long in a row."""
        monitor = RecordingMonitor()
        self.good(monitor, 400)
        for call in range(60):
            self.fail(monitor) if call % 3 == 0 else self.good(monitor)
        (event,) = monitor.drift
        assert event.changes[0].rule_id == "error-rate"
        assert "of the last 100" in event.changes[0].evidence

    @pytest.mark.parametrize("failures", [1, 9, 300])
    def test_a_tool_that_fails_from_the_first_call_is_quiet(self, failures):
        """There is no rate to break yet, and errors do not warm up."""
        monitor = RecordingMonitor()
        self.fail(monitor, failures)
        assert monitor.events == []
        assert monitor.health().tools["t"].state == "learning"
        self.good(monitor, 9)
        self.fail(monitor, 2)
        assert monitor.health().tools["t"].state == "learning"
        self.good(monitor)
        assert [event.status for event in monitor.events] == ["learned"]
        assert monitor.health().tools["t"].errors == failures + 2

    def test_errors_neither_teach_nor_count_in_a_silence(self):
        """What an error lacks is not missing."""
        quiet, noisy = RecordingMonitor(), RecordingMonitor()
        for call in range(200):
            for monitor in (quiet, noisy):
                self.good(monitor, **({"note": "n"} if call < 150 and call % 2 else {}))
            self.fail(noisy, 1 if call % 4 else 0)
        told = [[(e.summary, e.changes[0].evidence) for e in m.drift if "note" in e.summary] for m in (quiet, noisy)]
        assert told[0] == told[1] != []
        assert [[row.count for row in m._channels["t", ""].state.rows] for m in (quiet, noisy)] == [[125, 75]] * 2

    def test_an_outage_resolves_and_a_second_one_joins_it(self):
        """Twenty answers after fifty failures are an end, and the next outage is no other incident."""
        monitor = RecordingMonitor()
        self.good(monitor, 100)
        self.fail(monitor, 50)
        self.good(monitor, 60)
        assert [event.status for event in monitor.drift] == ["open", "resolved"]
        self.fail(monitor, 500)
        assert [event.status for event in monitor.drift] == ["open", "resolved", "reopened"]
        assert len(monitor.incidents()) == 1

    def test_results_that_say_they_are_errors_are_counted_alike(self):
        """An MCP server does not raise."""
        monitor = RecordingMonitor()
        self.good(monitor, 100)
        for _ in range(20):
            monitor.observe("t", {"isError": True, "content": [{"type": "text", "text": "no"}]})
        assert [event.changes[0].rule_id for event in monitor.drift] == ["error-rate"]
        assert len(monitor._channels["t", ""].state.rows) == 1

    @given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 100))
    def test_a_longer_run_is_never_less_of_a_failure(self, good, errors, run, recent):
        """And none is found where nothing ever worked, or nothing failed."""
        run = min(run, errors)
        recent = min(recent, errors)
        calls = good + errors
        found = error_rate(calls=calls, errors=errors, run=run, recent=recent)
        longer = error_rate(calls=calls + 1, errors=errors + 1, run=run + 1, recent=recent)
        if found is not None:
            assert good > 0
            assert errors > 0
        if found is not None and found.in_a_row:
            assert longer is not None
