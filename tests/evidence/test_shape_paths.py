from __future__ import annotations

from hypothesis import given
from strategies import shapes

from toolpulse import Limits, shape_of
from toolpulse._base.paths import ITEMS, ROOT, VALUES
from toolpulse.evidence.shape_paths import as_map_values, map_paths, rewrite_as_maps, shapes_at, shapes_by_path
from toolpulse.shape.nodes import Array, Map, Object, Scalar


@given(shapes)
def test_what_stands_at_a_path_is_what_is_listed_there(shape):
    """Walking all paths and going to one are two ways to the same answer."""
    listed = dict(shapes_by_path(shape))
    assert listed[ROOT] == {shape}
    for path, here in listed.items():
        assert shapes_at(shape, path) == here or not here
    assert map_paths([shape]) == {path for path, here in listed.items() if any(isinstance(s, Map) for s in here)}


def test_every_path_is_listed_with_all_it_shows():
    """The elements of an array are one path, whatever they are."""
    shape = shape_of([{"a": 1, "b": {"c": None}}, {"a": "x"}, 3]).shape
    assert {path: {s.kind for s in here} for path, here in shapes_by_path(shape)} == {
        (): {"array"},
        (ITEMS,): {"object", "integer"},
        (ITEMS, "a"): {"integer", "string"},
        (ITEMS, "b"): {"object"},
        (ITEMS, "b", "c"): {"null"},
    }


def test_where_a_path_is_not_there_is_nothing():
    """A field of an array, an element of a record, and a value of neither."""
    shape = Object({"a": Array((Scalar("string"),)), "m": Map((Scalar("integer"),))})
    assert shapes_at(shape, ("a", ITEMS)) == {Scalar("string")}
    assert shapes_at(shape, ("m", VALUES)) == {Scalar("integer")}
    for path in (("a", VALUES), ("m", ITEMS), ("a", "a"), ("b",), (ITEMS,), ("m", VALUES, "x")):
        assert shapes_at(shape, path) == frozenset()


def test_a_path_through_what_became_a_map_names_no_key():
    """Maps inside maps as well: the path is read on from what it has become."""
    maps = frozenset({("a",), ("a", VALUES, "b")})
    assert as_map_values(("a", "k1", "b", "k2", "c"), maps) == ("a", VALUES, "b", VALUES, "c")
    assert as_map_values(("a", ITEMS, "b"), maps) == ("a", ITEMS, "b")
    assert as_map_values(("b", "k1"), maps) == ("b", "k1")


def test_records_are_read_as_maps_where_it_is_said():
    """At that path only, wherever it lies; paths below are those of the map, and no key is left."""
    shape = shape_of({"a": [{"x": {"x": 1}, "y": {"x": "1"}}], "b": {"x": 1}}).shape
    asked = []

    def as_map(path, record):
        asked.append(path)
        return path == ("a", ITEMS)

    rewritten = rewrite_as_maps(shape, as_map, 20)
    assert shapes_at(rewritten, ("a", ITEMS, VALUES, "x")) == {Scalar("integer"), Scalar("string")}
    assert shapes_at(rewritten, ("b", "x")) == {Scalar("integer")}
    assert ("a", ITEMS, VALUES) in asked
    assert ("a", ITEMS, "x") not in asked


def test_a_map_keeps_as_many_shapes_as_a_walk_would():
    """What is read as a map later must not grow beyond what the limit allows from the start."""
    shape = shape_of({"a": 1, "b": "x", "c": None}).shape
    assert rewrite_as_maps(shape, lambda path, record: True, 3) == Map(shape.fields.values())
    walked = shape_of({"1": 1, "2": "x", "3": None}, Limits(shapes=2)).shape
    assert rewrite_as_maps(shape, lambda path, record: True, 2) == walked
