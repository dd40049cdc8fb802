from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import shapes

from toolpulse._base.paths import ITEMS, VALUES
from toolpulse.evidence.profile import fold
from toolpulse.evidence.stats import MOST_PAIRED, PathStats, Sightings

ordinals = st.lists(st.integers(1, 99), min_size=1, max_size=6)


@given(st.lists(ordinals | st.just([]), max_size=5))
def test_sightings_add_up_in_any_order(groups):
    """They come from several processes in any order, and those that saw nothing must not count as ordinal 0."""
    together = Sightings()
    for group in groups:
        together.add(Sightings(len(group), min(group), max(group)) if group else Sightings())
    seen = [ordinal for group in groups for ordinal in group]
    assert together.plain() == ((len(seen), min(seen), max(seen)) if seen else (0, 0, 0))


def stats_of(**counts):
    """Evidence of kinds, each seen so many times."""
    stats = PathStats()
    for kind, count in counts.items():
        stats.count_kind(kind, Sightings(count, 1, count))
    return stats


def test_null_and_unknown_are_no_values():
    """A nullable field is missed when its value stays away, and null is the staying away."""
    stats = stats_of(null=3, string=2, unknown=4)
    assert stats.seen.count == 9
    assert stats.valued.count == 2
    assert stats.known == {"string"}


def test_kinds_counted_together_are_one_observation():
    """An array that shows two kinds was still seen once."""
    stats = PathStats()
    stats.count_kinds(["null", "string"], Sightings(1, 5, 5))
    stats.count_kinds(["null", "unknown"], Sightings(1, 6, 6))
    assert stats.seen.plain() == (2, 5, 6)
    assert stats.kinds["null"].plain() == (2, 5, 6)
    assert stats.valued.plain() == (1, 5, 5)


def test_the_commonest_kind_is_the_one_that_is_printed():
    """A finding says what was there before: ties are settled by name, and integers among numbers are numbers."""
    assert stats_of(string=2, boolean=3, null=9).commonest == "boolean"
    assert stats_of(string=2, boolean=2).commonest == "boolean"
    assert stats_of(integer=5, number=1).commonest == "number"
    assert stats_of(integer=5).commonest == "integer"
    assert stats_of(null=1).commonest == "null"
    assert stats_of(unknown=1).commonest == stats_of().commonest == "unknown"
    assert stats_of(map=1).printed_kind == "object"


def test_half_truncated_is_not_mostly_truncated():
    """Only where most observations were cut may more have been there all along."""
    stats = stats_of(array=4)
    stats.truncated = Sightings(2, 1, 4)
    assert not stats.mostly_truncated
    stats.truncated = Sightings(3, 1, 4)
    assert stats.mostly_truncated


def test_a_union_has_two_fields_that_never_met():
    """Members come in kinds where some pair of fields was never met; of one field, or of many, nothing is said."""
    stats = PathStats()
    stats.fields["a"] = PathStats()
    assert not stats.is_union
    stats.fields["b"] = PathStats()
    assert stats.is_union
    stats.pairs = {("a", "b")}
    assert not stats.is_union
    stats.fields["c"] = PathStats()
    assert stats.is_union
    stats.fields = {str(n): PathStats() for n in range(MOST_PAIRED + 1)}
    assert not stats.is_union


@given(st.lists(shapes, max_size=4))
def test_what_is_stored_reads_back_and_shows_where_everything_lies(some):
    """Stores keep the plain form: nothing counted may be lost on the way there and back."""
    root = fold((shape, Sightings(2, n, n + 1), "native", frozenset()) for n, shape in enumerate(some, 1)).root
    waiting = [PathStats.from_plain(root.plain())]
    assert waiting[0].plain() == root.plain()
    while waiting:
        stats = waiting.pop()
        below = dict(stats.children())
        assert stats.has_children == bool(below)
        assert all(stats.child(segment) is child for segment, child in below.items())
        assert stats.shows_map == (VALUES in below or any(child.shows_map for child in below.values()))
        waiting += below.values()


def test_what_was_never_seen_further_in_is_none():
    """A field that is called like a segment's mark is a field, and nothing else."""
    stats = PathStats()
    stats.fields["[]"] = PathStats()
    assert stats.child("[]") is stats.fields["[]"]
    assert stats.child(ITEMS) is stats.child(VALUES) is stats.child("a") is None


def test_stored_names_are_those_of_before():
    """Old files load because what is stored keeps its names."""
    stats = PathStats(last_absent=7)
    stats.last_complete = 9
    stats.in_some = Sightings(1, 2, 2)
    plain = stats.plain()
    assert (plain["lacking"], plain["whole"], plain["partly"], plain["cut"]) == (7, 9, (1, 2, 2), (0, 0, 0))
    assert stats.sightings.plain() == (1, 2, 2)
    assert stats.always.plain() == (0, 0, 0)
