from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolpulse import shape_of
from toolpulse._base.paths import VALUES
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.evidence.quarantine import MOST_NOTED, QuarantineLog


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=30), st.integers(0, 300))
def test_positions_among_what_taught_never_run_backwards(steps, ordinal):
    """A later ordinal is never an earlier position, and no observation is counted that was not there."""
    back, last = QuarantineLog(), 0
    for count, gap in steps:
        last += count + gap
        back.add(count, last)
    assert back.learned_until(ordinal) <= back.learned_until(ordinal + 1) + max(
        (count for count, _ in steps), default=0
    )
    assert back.learned_until(last + 50) == last + 50 - sum(count for count, _ in steps)
    if steps:
        back.release(steps[-1][0], last)
        assert back.learned_until(last + 50) == last + 50 - sum(count for count, _ in steps[:-1])


def test_an_ordinal_at_the_very_entry_counts_it():
    """The last observation of an entry is one of those that were not learned."""
    back = QuarantineLog()
    back.add(2, 10)
    assert [back.learned_until(ordinal) for ordinal in (9, 10, 11)] == [9, 8, 9]


def test_entries_out_of_order_join_the_last_one():
    """Another process may report earlier observations later; positions must stay in order."""
    back = QuarantineLog()
    back.add(1, 10)
    back.add(1, 10)
    back.add(1, 4)
    assert (back.learned_until(9), back.learned_until(10), back.learned_until(20)) == (9, 7, 17)
    assert len(back._ordinals) == 1


def test_what_is_released_never_counts_below_nothing():
    """What was let go of may be released again by another process; earlier entries never exceed later ones."""
    back = QuarantineLog()
    back.add(2, 10)
    back.add(3, 20)
    back.release(9, 20)
    assert [back.learned_until(ordinal) for ordinal in (10, 20, 30)] == [10, 20, 30]
    back.add(1, 40)
    assert back.learned_until(50) == 49


def test_a_long_log_keeps_every_count():
    """Beyond the bound entries join their neighbours; how many were not learned stays exact at the end."""
    back = QuarantineLog()
    for ordinal in range(1, 2 * MOST_NOTED, 2):
        back.add(1, ordinal)
    for ordinal in range(2 * MOST_NOTED + 1, 3 * MOST_NOTED, 2):
        back.add(1, ordinal)
    noted = MOST_NOTED + MOST_NOTED // 2
    assert back.learned_until(10 * MOST_NOTED) == 10 * MOST_NOTED - noted
    assert len(back._ordinals) <= MOST_NOTED


def test_what_it_shows_is_remembered_by_fact_and_keys_are_forgotten():
    """What a quarantined response shows has not gone away; keys of a map must not be kept."""
    profile = fold([(shape_of({"a": {"x": 1}}).shape, Sightings(10, 1, 10), "native", frozenset())])
    back = QuarantineLog()
    back.note_shown(profile, shape_of({"a": {"x": None, "new": 1}}).shape, 12)
    assert back.last_shown("vanished", ("a", "x")) == 12
    assert back.last_shown("valueless", ("a", "x")) == 0
    assert back.last_shown("vanished", ("a", "new")) == 0
    back.forget_keys(frozenset({("a",)}))
    assert back.last_shown("vanished", ("a", "x")) == 0
    assert back.last_shown("vanished", ("a",)) == 12
    assert back.last_shown("vanished", ("a", VALUES)) == 0
