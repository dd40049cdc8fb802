from __future__ import annotations

from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_with_maps, paths, shapes, tool_responses

from toolpulse import Baseline, Consumer, Limits, shape_of
from toolpulse._base.paths import ITEMS, VALUES
from toolpulse.evidence.profile import Profile, Sightings, fold, merge
from toolpulse.evidence.rows import truncated_paths
from toolpulse.evidence.shape_paths import shapes_by_path
from toolpulse.judgement.judge import judge
from toolpulse.shape import Walker
from toolpulse.shape.nodes import Array, Object, Scalar


@st.composite
def sightings(draw):
    """Count, first and last ordinal as they can go together."""
    first = draw(st.integers(1, 30))
    last = draw(st.integers(first, first + 10))
    count = 1 if first == last else draw(st.integers(2, last - first + 1))
    return Sightings(count, first, last)


@st.composite
def rows(draw):
    """A row of a baseline: its cuts lie at places of the shape, or anywhere."""
    shape = draw(shapes)
    at = st.sampled_from([path for path, _ in shapes_by_path(shape)]) | paths
    return shape, draw(sightings()), draw(st.sampled_from(["native", "json-text"])), draw(st.frozensets(at, max_size=3))


names = st.sampled_from("abc")
alike = st.recursive(
    st.sampled_from([Scalar("integer"), Scalar("null"), Scalar("string")]),
    lambda inner: st.dictionaries(names, inner, max_size=3).map(Object) | st.frozensets(inner, max_size=3).map(Array),
    max_leaves=8,
)


@st.composite
def alike_rows(draw):
    """Rows of shapes that share fields, so that one lacks what another has."""
    shape = draw(alike)
    at = st.sampled_from([path for path, _ in shapes_by_path(shape)])
    return shape, draw(sightings()), "native", draw(st.frozensets(at, max_size=2))


some_rows = st.lists(rows() | alike_rows(), max_size=6)


@given(some_rows, st.randoms(use_true_random=False))
def test_folding_does_not_depend_on_the_order(given_rows, random):
    """Rows come from a store in any order."""
    mixed = list(given_rows)
    random.shuffle(mixed)
    assert fold(mixed).plain() == fold(given_rows).plain()


@given(some_rows, st.integers(0, 6), st.integers(0, 6))
def test_folding_does_not_depend_on_the_grouping(given_rows, one, two):
    """Two processes fold their own rows; together they know what one would know."""
    first, second = sorted((one, two))
    parts = [fold(given_rows[:first]), fold(given_rows[first:second]), fold(given_rows[second:])]
    left = reduce(merge, parts, Profile())
    right = merge(parts[0], merge(parts[1], parts[2]))
    assert left.plain() == right.plain() == fold(given_rows).plain()
    assert merge(parts[2], parts[0]).plain() == merge(parts[0], parts[2]).plain()


@given(some_rows)
def test_merging_leaves_both_as_they_were(given_rows):
    """A profile is shared; merging it into another must not change it."""
    one, other = fold(given_rows[::2]), fold(given_rows[1::2])
    before = one.plain(), other.plain()
    merge(one, other)
    assert (one.plain(), other.plain()) == before
    assert merge(one, Profile()) == one == merge(Profile(), one)


@given(st.lists(alike_rows(), min_size=1, max_size=5), alike)
def test_judging_is_pure(given_rows, shape):
    """The same question has the same answer, and asking it teaches nothing."""
    profile = fold(given_rows)
    before = profile.plain()
    for sealed in (True, False):
        first = judge(profile, shape, sealed=sealed)
        assert judge(profile, shape, sealed=sealed) == first
        assert judge(fold(given_rows), shape, sealed=sealed).findings == first.findings
    assert profile.plain() == before


@given(st.lists(tool_responses | json_with_maps, min_size=1, max_size=6))
def test_what_was_learned_is_quiet(responses):
    """A baseline that raises an alarm over its own past is no baseline."""
    baseline = Baseline.learn(responses)
    assert baseline.check(responses).findings == ()
    for response in responses:
        assert baseline.check([response]).findings == ()


@given(st.lists(tool_responses | json_with_maps, min_size=1, max_size=5), st.integers(1, 12), st.integers(1, 4))
def test_what_was_learned_is_quiet_where_it_was_cut(responses, nodes, few):
    """The limits decide what is seen, and not what it means."""
    limits = Limits(elements=few, shapes=2, depth=few, fields=few, nodes=nodes)
    baseline = Baseline.learn(responses, limits=limits)
    assert baseline.check(responses).findings == ()


@given(st.lists(tool_responses, min_size=1, max_size=5), tool_responses)
def test_learning_the_news_makes_it_quiet(responses, news):
    """What was accepted is known."""
    assert Baseline.learn([*responses, news]).check([news]).findings == ()


@given(st.lists(tool_responses, min_size=1, max_size=5), tool_responses)
def test_exact_is_at_least_as_loud_as_strict_and_strict_as_lenient(responses, news):
    """The policies are ordered: a stricter reader never misses what a laxer one hears."""
    baseline = Baseline.learn(responses)
    heard = []
    for policy in ("exact", "strict", "lenient"):
        verdict = baseline.check([news], consumer=Consumer("c", numeric=policy))
        heard.append({(f.path, f.rule_id, f.before, f.after): f.risk for f in verdict.findings})
    for loud, soft in pairwise(heard):
        assert soft.keys() <= loud.keys()
        assert all(loud[change] <= risk for change, risk in soft.items())


@given(st.lists(tool_responses, min_size=1, max_size=4), tool_responses, st.integers(2, 5))
def test_repetition_does_not_change_a_sealed_verdict(responses, news, times):
    """How often something was learned is evidence, and no other contract."""
    once = Baseline.learn(responses).check([news])
    more = Baseline.learn(responses * times)
    if not more.maps_learned:  # maps are learned from how keys come and go, so repetition matters to them
        again = more.check([news])
        assert {(f.path, f.rule_id, f.after) for f in again.findings} == {
            (f.path, f.rule_id, f.after) for f in once.findings
        }


def bomb(depth, width, kind):
    """Nested arrays of records that all look alike."""
    value = kind
    for level in range(depth):
        value = {"id": level % 2, "children": [value], **{f"f{n}": n for n in range(width)}}
    return value


@pytest.mark.parametrize("changed", ["id", "f0", "new"])
def test_a_recursion_bomb_is_compared_in_bounded_work(comparisons, changed):
    """A structure that may repeat at every level must not be compared with every level at every level."""

    def tree(depth, odd):
        if not depth:
            return []
        rows = [{"id": 1, f"k{chr(97 + n)}": n, "c": tree(depth - 1, odd) if n < 2 else []} for n in range(20)]
        rows[0][changed] = odd
        return rows

    baseline = Baseline.learn([{"c": tree(6, 1)}])
    comparisons.clear()
    verdict = baseline.check([{"c": tree(8, "x")}])
    assert comparisons.total() < 100_000
    assert verdict.findings

    deep = Baseline.learn([{"root": [bomb(14, 5, None)]}])
    comparisons.clear()
    deep.check([{"root": [bomb(15, 6, "x")]}])
    assert comparisons.total() < 50_000


@settings(max_examples=50)
@given(st.lists(tool_responses, min_size=1, max_size=4))
def test_learning_is_the_same_as_folding_observations(responses):
    """The public way and the parts it is made of cannot disagree."""
    walker = Walker()
    baseline = Baseline.learn(responses)
    if not baseline.maps_learned and not baseline.profile.has_maps:
        seen = [walker.observe(response) for response in responses]
        folded = fold(
            (s.shape, Sightings(1, n, n), s.encoding, truncated_paths(s.truncations)) for n, s in enumerate(seen, 1)
        )
        assert folded.plain() == baseline.profile.plain()


def test_evidence_is_where_its_path_leads():
    """Everything else asks by path; the root is one, and what was never seen is None."""
    profile = fold([(shape_of({"a": [{"b": 1}], "m": {"17": 1}}).shape, Sightings(2, 1, 2), "native", frozenset())])
    assert set(profile.paths()) == {(), ("a",), ("a", ITEMS), ("a", ITEMS, "b"), ("m",), ("m", VALUES)}
    assert profile.at(("a", ITEMS, "b")).kinds.keys() == {"integer"}
    assert profile.at(()) is profile.root
    assert profile.at(("a", "b")) is profile.at(("x", "y")) is None
    assert profile.map_paths() == {("m",)}


def test_records_read_as_a_map_leave_the_profile_as_it_was_and_no_key_behind():
    """Two keys in one response are one observation of the map's values, and a key is data."""
    rows = [({"m": {"ann": 1, "bob": "x"}}, Sightings(3, 1, 3)), ({"m": {"ann": None}}, Sightings(1, 4, 4))]
    profile = fold((shape_of(response).shape, seen, "native", frozenset()) for response, seen in rows)
    before = profile.plain()
    again = profile.with_maps([("m",), ("nowhere",)])
    assert profile.plain() == before
    assert again.map_paths() == {("m",)}
    stats = again.at(("m",))
    assert (stats.fields, stats.kinds.keys(), stats.pairs) == ({}, {"map"}, set())
    assert stats.values.seen.plain() == (4, 1, 4)
    assert {kind: seen.count for kind, seen in stats.values.kinds.items()} == {"integer": 3, "string": 3, "null": 1}
    assert stats.values.last_absent == 0
