# ruff: noqa: D102
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from toolpulse import Monitor
from toolpulse.stores.memory import MemoryStore

GOOD = {"id": 1, "name": "x", "tags": ["a"]}
RESPONSES = {
    "good": GOOD,
    "without a name": {"id": 1, "tags": ["a"]},
    "null name": {"id": 1, "name": None, "tags": ["a"]},
    "text id": {"id": "1", "name": "x", "tags": ["a"]},
    "no tags": {"id": 1, "name": "x", "tags": []},
    "more": {"id": 1, "name": "x", "tags": ["a"], "more": 1},
    "nothing": None,
    "map": {"id": 1, "name": "x", "tags": ["a"], "stock": {"3f2a9c": 1, "77aa01": 2, "c0ffee": 1}},
}
BATCHES = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.sampled_from(sorted(RESPONSES)), min_size=1, max_size=14)),
    min_size=1,
    max_size=14,
)


class Told:
    def __init__(self):
        self.events = []

    def emit(self, event):
        self.events.append(event)


def feed(monitor, names):
    """One flush of these responses, of which ``nothing`` is an error as well now and then."""
    for name in names:
        monitor.observe("t", RESPONSES[name])
    assert monitor.flush()


def untimed(snapshot):
    """What is known, without the times at which it came to be."""
    incidents = {
        name: (i.status, i.count, i.opened, i.last, i.told, i.tellings, i.findings)
        for name, i in snapshot.incidents.items()
    }
    held = {key: (held.row, held.incidents) for key, held in snapshot.held.items()}
    return snapshot.observations, snapshot.rows, held, incidents, snapshot.maps_learned, snapshot.calls, snapshot.cuts


def monitors(count, store):
    """So many monitors that flush when they are asked to, and what each of them tells."""
    told = [Told() for _ in range(count)]
    return told, [Monitor(store, sinks=[one], flush_interval=10_000.0) for one in told]


@settings(max_examples=60)
@given(BATCHES)
def test_several_processes_know_and_tell_what_one_would(batches):
    """Whoever sees a response, counts, baseline and incidents come out as if one had seen them all."""
    alone, shared = MemoryStore(), MemoryStore()
    (told,), (one,) = monitors(1, alone)
    told_by, several = monitors(3, shared)
    for who, names in batches:
        feed(one, names)
        before = [len(told.events) for told in told_by]
        feed(several[who], names)
        assert untimed(shared.load("t", "")) == untimed(alone.load("t", ""))
        others = [len(told.events) for told in told_by]
        assert [n for n in range(3) if others[n] != before[n]] in ([], [who])
    together = sorted((event.id, event.status, event.count) for told in told_by for event in told.events)
    assert together == sorted((event.id, event.status, event.count) for event in told.events)
    for monitor in (one, *several):
        monitor.close()
