from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import paths, shapes

from toolpulse import shape_of
from toolpulse._base.paths import VALUES
from toolpulse.evidence.rows import Row, join_rows, reshaped, truncated_paths
from toolpulse.shape import Truncation

SHAPE = shape_of({"a": 1}).shape


@st.composite
def rows(draw, shape=shapes):
    """Rows of one shape or of several."""
    first = draw(st.integers(1, 20))
    return Row(draw(shape), draw(st.integers(1, 9)), first, first + draw(st.integers(0, 20)), cuts=draw(cuts))


cuts = st.frozensets(paths, max_size=2)


@given(rows(st.just(SHAPE)), rows(st.just(SHAPE)))
def test_joining_two_rows_adds_them(one, other):
    """Two processes met the same shape: nothing is counted twice or lost, whichever came first."""
    joined = join_rows(one, other)
    assert joined == join_rows(other, one)
    assert joined.count == one.count + other.count
    assert (joined.first, joined.last) == (min(one.first, other.first), max(one.last, other.last))
    assert joined.cuts == one.cuts | other.cuts
    assert joined.sightings.plain() == (joined.count, joined.first, joined.last)


def test_a_row_is_its_shape_its_encoding_and_its_cuts():
    """Absence means less where a walk was cut, so it must not be counted to a row that was seen whole."""
    whole = Row(SHAPE, 1, 1, 1)
    others = [
        Row(shape_of({"a": "x"}).shape, 1, 1, 1),
        Row(SHAPE, 1, 1, 1, encoding="json-text"),
        Row(SHAPE, 1, 1, 1, cuts=frozenset({("a",)})),
    ]
    assert len({row.key for row in [whole, *others]}) == 4
    assert Row(SHAPE, 5, 2, 9).key == whole.key


def test_a_shortened_name_is_no_cut():
    """Its record is complete: a field that it lacks is missing."""
    cut = [Truncation("a.b", "elements", 1, 2), Truncation("c", "name", 1, 2), Truncation("d[]", "depth", 0, 1)]
    assert {path[0] for path in truncated_paths(cut)} == {"a", "d"}


def test_a_row_read_as_a_map_keeps_no_key():
    """Keys of a map are data, and a truncated path may hold one."""
    row = Row(SHAPE, 3, 1, 4, cuts=frozenset({("a", "ann@example.com", "b"), ("c",)}))
    again = reshaped(row, SHAPE, frozenset({("a",)}))
    assert again.cuts == {("a", VALUES, "b"), ("c",)}
    assert (again.count, again.first, again.last) == (3, 1, 4)
