from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse.evidence.chance import ALPHA, WINDOW, excess_probability, improbable, silence_probability

seen_of_total = st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n)))


def product(seen, total, silent):
    """The probability of a silence, one observation after the other, as the logarithm."""
    miss = total - seen + 0.5
    return math.fsum(math.log((miss + step) / (total + 1 + step)) for step in range(silent))


def bound(seen, parts=1):
    """What counts as improbable."""
    return ALPHA / max(30, seen, seen * seen / 100) / parts


@given(seen_of_total, st.integers(1, 400))
def test_it_is_the_product_of_the_chances_of_each_absence(counts, silent):
    """The ratio of beta functions is a short way to say: absent, and absent again, and again."""
    exact = math.exp(product(*counts, silent))
    assert silence_probability(*counts, silent) == pytest.approx(exact, rel=1e-6, abs=1e-250)


@given(seen_of_total, st.integers(1, 400), st.integers(1, 50))
def test_the_short_way_out_never_changes_the_answer(counts, silent, parts):
    """Most questions end at an estimate; it must be one from the safe side."""
    exact, limit = product(*counts, silent), math.log(bound(counts[0], parts))
    if abs(exact - limit) > 1e-7:
        assert improbable(*counts, silent, parts) is (exact < limit)


@given(seen_of_total, st.integers(1, 2_000), st.integers(1, 2_000), st.integers(1, 60), st.integers(1, 60))
def test_more_silence_is_never_more_probable_and_more_parts_are_never_less_strict(counts, one, two, few, many):
    """What was away for too long is so the longer; the more is watched, the more it takes."""
    short, long = sorted((one, two))
    assert silence_probability(*counts, long) <= silence_probability(*counts, short)
    if improbable(*counts, short, max(few, many)):
        assert improbable(*counts, long, max(few, many))
        assert improbable(*counts, short, min(few, many))


@given(st.integers(0, 5_000), st.integers(0, 5_000))
def test_nothing_is_missed_that_was_never_seen_and_nothing_without_a_silence(total, silent):
    """Without a sighting there is no rate, without a silence no question."""
    assert not improbable(0, total, silent)
    assert not improbable(max(1, total // 2), total, 0)
    assert not improbable(max(1, total // 2), total, -3)


@pytest.mark.parametrize(("rate", "longest"), [(0.5, 30), (0.3, 60), (0.1, 200), (0.01, 1_800)])
def test_how_long_it_takes_at_a_rate(rate, longest):
    """The delays that the documentation names, from the formula alone."""
    seen, total = round(2_000 * rate), 2_000
    needed = next(m for m in range(1, 10_000) if improbable(seen, total, m))
    assert needed <= longest
    assert (1 - rate) ** needed < ALPHA / 30


def test_the_chances_of_a_false_signal_add_up_to_a_small_number_for_ever():
    """Each gap is a new test; a bound that shrinks too slowly raises a false signal on all that lives long enough."""
    assert math.fsum(bound(seen) for seen in range(1, 2_000_000)) < 3.4 * ALPHA


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 12))
def test_an_excess_is_the_tail_of_what_the_rate_before_gives(errors, good, recent):
    """The share of the last calls is judged by exact sums over a small window."""
    calls, window = errors + good, 12

    def rising(start, count):
        return math.prod((start + step for step in range(count)), start=Fraction(1))

    hit, miss = Fraction(2 * errors + 1, 2), Fraction(2 * good + 1, 2)
    tail = sum(
        math.comb(window, k) * rising(hit, k) * rising(miss, window - k) / rising(hit + miss, window)
        for k in range(recent, window + 1)
    )
    assert excess_probability(errors, calls, recent, window) == pytest.approx(float(tail), rel=1e-7, abs=1e-12)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, WINDOW))
def test_an_excess_is_a_probability_and_more_errors_are_less_probable(errors, good, recent):
    """Between none and one, and never growing with what was found."""
    probability = excess_probability(errors, errors + good, recent)
    assert 0 <= probability <= 1
    assert excess_probability(errors, errors + good, recent + 1) <= probability
    assert excess_probability(errors, errors + good, 0) == pytest.approx(1)


@pytest.mark.parametrize(("seen", "share"), [(10, 30), (30, 30), (90, 90), (100, 100), (200, 400), (1000, 10_000)])
def test_the_bound_shrinks_with_the_square_of_many_sightings(seen, share):
    """Written out once more: linear, a path that is seen for ever would raise a false signal in the end."""
    for silent in range(1, 400):
        probability = silence_probability(seen, 3 * seen, silent)
        assert improbable(seen, 3 * seen, silent) is (probability < 0.001 / share)
