from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_with_maps, records, tool_responses

from toolpulse import shape_of
from toolpulse._base.paths import ITEMS, VALUES
from toolpulse.evidence.profile import Profile, Sightings, fold
from toolpulse.evidence.shape_paths import map_paths

CUTS = st.sampled_from([frozenset(), frozenset({()}), frozenset({("a",)}), frozenset({("a", ITEMS), ("b", VALUES)})])
ROWS = st.lists(
    st.tuples(tool_responses | json_with_maps | records(tool_responses), st.integers(1, 5), st.integers(0, 9), CUTS),
    max_size=14,
)


def rows_of(drawn):
    """Rows with ordinals that may overlap, as those of several processes do."""
    found = []
    for first, (response, count, span, cuts) in enumerate(drawn, 1):
        seen = Sightings(count, first, first + span)
        found.append((shape_of(response).shape, seen, "native" if count % 2 else "json-text", cuts))
    return found


@settings(max_examples=150)
@given(ROWS)
def test_rows_folded_at_once_are_rows_folded_one_by_one(drawn):
    """The quick way counts each distinct part once for all rows; it must not count anything differently."""
    one_by_one = Profile()
    rows = rows_of(drawn)
    for row in rows:
        one_by_one.add(*row)
    assert fold(rows).plain() == one_by_one.plain()
    assert fold(rows).has_maps == one_by_one.has_maps


@given(ROWS)
def test_the_profile_knows_where_maps_are(drawn):
    """A walk is told of them, and asking the profile is much quicker than asking every shape."""
    rows = rows_of(drawn)
    assert fold(rows).map_paths() == map_paths(shape for shape, *_ in rows)


def test_a_row_is_left_as_it_was():
    """Rows are shared with the store; folding others beside them must not count into them."""
    rows = rows_of([({"a": [1], "b": {"c": 1}}, 2, 0, frozenset()), ({"a": [1], "b": {"c": 2}}, 3, 1, frozenset())])
    before = [seen.plain() for _, seen, *_ in rows]
    fold(rows)
    fold(rows)
    assert [seen.plain() for _, seen, *_ in rows] == before
