from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from shared_stores import RESPONSES, monitors, untimed

from toolpulse.stores.memory import MemoryStore

BATCHES = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.sampled_from(sorted(RESPONSES)), min_size=1, max_size=14)),
    min_size=1,
    max_size=14,
)


def feed(monitor, names):
    """One flush of these responses, of which ``nothing`` is an error as well now and then."""
    for name in names:
        monitor.observe("t", RESPONSES[name])
    assert monitor.flush()


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
