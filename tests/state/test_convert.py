from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest
import snapshots
from hypothesis import example, given
from hypothesis import strategies as st
from snapshots import happenings, readable_paths, some_shapes
from strategies import json_with_maps, tool_responses

from toolpulse import Baseline, Limits, shape_of
from toolpulse.errors import InputError
from toolpulse.evidence.profile import fold
from toolpulse.evidence.profile_json import dense, sparse
from toolpulse.evidence.rows import Row
from toolpulse.judgement.consumer import DEFAULT
from toolpulse.shape import Walker
from toolpulse.state.convert import MOST_OBSERVATIONS, baseline_of, has_baseline, snapshot_of
from toolpulse.state.learning.live_baseline import MOST_SHAPES
from toolpulse.state.pending import Tally
from toolpulse.state.snapshot import EMPTY
from toolpulse.state.tool_state import ToolState

replace = msgspec.structs.replace

encodings = st.sampled_from(["native", "json-text", "mcp-text"])
taught = st.tuples(
    st.just("taught"), some_shapes, st.integers(1, 5), encodings, st.frozensets(readable_paths, max_size=2)
)
others = happenings.filter(lambda happened: happened[0] != "taught")
lives = st.lists(taught | others, max_size=8)
"""What may happen to a tool, by whose encodings responses really come."""


@given(st.lists(taught, min_size=1, max_size=3), lives)
@example([("taught", snapshots.POOL[4], 2, "native", frozenset())], [(snapshots.let_go,), (snapshots.read,)])
def test_what_is_exported_is_imported_without_loss(first, then):
    """A committed baseline that lost something on its way would make production learn it again, or tell of it."""
    known = snapshots.after(EMPTY, [*first, *then], "t", "")
    data = baseline_of(known).to_json()
    again = snapshot_of(Baseline.from_json(data))
    assert baseline_of(again).to_json() == data
    assert again.rows == known.rows
    assert again.maps_learned == known.maps_learned
    assert again.merged == known.merged
    assert (again.quarantined, again.incidents, again.decisions) == ({}, {}, {})
    learned = max(
        [row.last for row in known.rows.values()] + ([known.merged.observations.last] if known.merged else [])
    )
    assert again.observations == learned
    if known.reading is not None:
        assert again.reading == known.reading


@given(st.lists(st.tuples(tool_responses | json_with_maps, st.integers(1, 50)), max_size=6))
def test_a_profile_in_a_file_is_the_same_profile(responses):
    """It stands for shapes that nobody has any more; what is lost of it is lost for good."""
    rows = []
    for response, count in responses:
        seen = shape_of(response)
        rows.append((seen.shape, Row(seen.shape, count, 1, count).sightings, seen.encoding, frozenset()))
    profile = fold(rows)
    read = dense(json.loads(json.dumps(sparse(profile))))
    assert read == profile
    assert read.has_maps == profile.has_maps
    assert sparse(read) == sparse(profile)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"encodings": {}},
        {"encodings": {}, "root": []},
        {"encodings": {"native": [1, 2]}, "root": {}},
        {"encodings": {"native": [1, 2, 1]}, "root": {}},
        {"encodings": {}, "root": {"seen": [1, 1, "1"]}},
        {"encodings": {}, "root": {"seen": [-1, 1, 1]}},
        {"encodings": {}, "root": {"seen": [0, 1, 1]}},
        {"encodings": {}, "root": {"kinds": {"object": [3, 0, 0]}}},
        {"encodings": {}, "root": {"lacking": -1}},
        {"encodings": {}, "root": {"pairs": [["a"]]}},
        {"encodings": {}, "root": {"seeen": [1, 1, 1]}},
        {"encodings": {}, "root": {"fields": {"a": {"items": {"values": {"always": [1, 0, 1]}}}}}},
        {"encodings": {}, "root": {}, "more": 1},
    ],
)
def test_evidence_that_is_none_is_refused(wrong):
    """What is read from a file is folded into judgements; nonsense must end there, in one line."""
    data = json.loads(Baseline.learn([{"a": 1}]).to_json())
    with pytest.raises(InputError, match="not a baseline"):
        Baseline.from_json(json.dumps({**data, "merged": wrong}).encode())


def test_files_without_evidence_stay_as_they_are():
    """Whoever committed a baseline must not find it changed by an upgrade."""
    data = Baseline.learn([{"a": 1}, {"a": 2, "b": []}]).to_json()
    assert b"merged" not in data
    assert Baseline.from_json(data).to_json() == data


def test_evidence_counts_in_a_verdict():
    """A field that only shapes let go had is known, and what they all had is required."""
    rows = [Row(shape_of({"id": 1}).shape, 20, 1, 20)]
    gone = fold((shape_of({"id": 1, "rare": "x"}).shape, Row(rows[0].shape, 5, 21, 25).sightings, "native", frozenset())
                for _ in range(1))  # fmt: skip
    baseline = Baseline.from_json(Baseline(rows, merged=gone).to_json())
    assert baseline.observations == 25
    assert not baseline.check([{"id": 1, "rare": "y"}]).findings
    (finding,) = baseline.check([{"id": 1, "rare": 5}]).findings
    assert finding.path == "rare"


def live_on(known, *responses):
    """Let a tool go on from what is known; the state and the events it tells."""
    live = ToolState("t", "", Walker(), (DEFAULT,))
    live.follow(known)
    events = []
    for response in responses:
        seen = live.walker.observe(response, "auto")
        at = live.observations + 1
        events += live.apply([Tally(seen.shape, seen.encoding, 1, at, at, datetime.now(UTC).isoformat())])
    return live, events


def test_a_tool_goes_on_from_an_imported_baseline():
    """It was learned elsewhere: nothing is announced again, ordinals go on, and a break is a break at once."""
    learned = Baseline.learn([{"id": n, "name": "x"} for n in range(30)])
    live, events = live_on(snapshot_of(learned), {"id": 1, "name": "y"})
    assert events == []
    assert not live.learning
    assert live.observations == 31
    live, events = live_on(snapshot_of(learned), {"id": "1", "name": "y"})
    assert [(event.status, event.risk) for event in events] == [("open", "high")]


def test_a_short_baseline_goes_on_learning():
    """Three responses are no baseline to judge by; the warm-up counts them and goes on."""
    learned = Baseline.learn([{"id": n} for n in range(3)])
    live, events = live_on(snapshot_of(learned), *[{"id": n} for n in range(7)])
    assert [event.status for event in events] == ["learned"]
    assert not live.learning


def test_an_import_over_more_traffic_is_no_silence():
    """The baseline's observations are the last ones there were: nothing it knows has been away since."""
    half = [{"id": 1, "note": "x"} if n % 2 else {"id": 1} for n in range(60)]
    known = snapshots.taught(snapshots.held(EMPTY, "t", ""), count=10_000)
    after = snapshot_of(Baseline.learn(half), known)
    assert after.observations == 60
    _, events = live_on(after, {"id": 1})
    assert events == []


def test_incidents_and_decisions_stay():
    """The audit trail outlives a baseline; incidents are counted on in the sequence that goes on."""
    before = snapshots.everything()
    after = snapshot_of(Baseline.learn([{"id": 1}] * 3), before)
    assert after.decisions == before.decisions
    assert after.incidents.keys() == before.incidents.keys()
    for name, incident in after.incidents.items():
        known = before.incidents[name]
        assert replace(incident, opened=0, last=0) == replace(known, opened=0, last=0)
        assert incident.opened <= incident.last <= after.observations
    assert not after.quarantined
    assert after.calls == before.calls


def test_the_bound_of_a_store_holds():
    """A file learned offline may hold any number of shapes; the profile stays the same, however few are kept."""
    responses = [{"id": 1, f"f{n}": n} for n in range(MOST_SHAPES + 40)] + [{"id": 1, "f3": 3}] * 5
    baseline = Baseline.learn(responses, limits=Limits(fields=300))
    known = snapshot_of(baseline)
    assert len(known.rows) == MOST_SHAPES
    assert baseline_of(known).profile == baseline.profile
    assert known.merged.observations.count == 40
    assert shape_of({"id": 1, "f3": 3}).shape in {row.shape for row in known.rows.values()}


def test_rows_that_are_one_are_joined():
    """A merge of two branches may leave the same shape twice in a file."""
    row = Row(shape_of({"id": 1}).shape, 3, 1, 3)
    known = snapshot_of(Baseline([row, replace(row, count=2, first=4, last=5)]))
    assert [(row.count, row.first, row.last) for row in known.rows.values()] == [(5, 1, 5)]


def test_counts_beyond_any_store_are_refused():
    """A file edited by hand must not end in a traceback of a database."""
    row = Row(shape_of({"id": 1}).shape, 1, 1, MOST_OBSERVATIONS)
    assert snapshot_of(Baseline([row])).observations == MOST_OBSERVATIONS
    for wrong in (replace(row, last=row.last + 1), replace(row, count=10**30)):
        with pytest.raises(InputError, match=r"it counts more than 2\*\*53 observations"):
            snapshot_of(Baseline([wrong]))
    with pytest.raises(InputError, match="empty"):
        snapshot_of(Baseline([]))


def test_nothing_learned_is_nothing_to_export():
    """An empty file would pass every check."""
    for known in (EMPTY, snapshots.held(EMPTY, "t", ""), snapshots.called(EMPTY)):
        with pytest.raises(InputError, match="nothing was learned"):
            baseline_of(known)
    assert not has_baseline(snapshots.called(EMPTY))
    assert has_baseline(snapshots.held(EMPTY, "t", ""))
    assert has_baseline(snapshots.let_go(snapshots.taught(EMPTY)))
