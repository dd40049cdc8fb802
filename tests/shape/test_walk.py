from __future__ import annotations

import gc
import hashlib
import sys

import pytest

from toolpulse import Limits, shape_of
from toolpulse.errors import ConfigurationError
from toolpulse.shape import Truncation, Walker
from toolpulse.shape.nodes import UNKNOWN


def nested(levels, leaf=1):
    """Lists within lists."""
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


def text(value, **options):
    """The normal form."""
    return shape_of(value, **options).shape.text


def cuts(value, *limits, **options):
    """The truncations of a walk, as (path, limit) pairs."""
    return {(cut.path, cut.limit) for cut in shape_of(value, *limits, **options).truncations}


class TestBounds:
    def test_elements(self):
        """The first hundred are looked at, and the rest is said to be unseen."""
        seen = shape_of([1] * 100 + ["odd"])
        assert seen.shape.text == '["integer"]'
        assert seen.truncations == (Truncation("$", "elements", 100, 101),)
        assert str(seen.truncations[0]) == "$: 100 of 101 elements seen"
        assert not shape_of([1] * 100).truncations

    def test_values_of_a_map(self):
        """A map is as long as an array may be."""
        assert cuts({str(n): n for n in range(101)}) == {("$", "elements")}

    @pytest.mark.parametrize(("count", "cut"), [(20, set()), (21, {("[]", "shapes")})])
    def test_element_shapes(self, count, cut):
        """Twenty distinct shapes are kept whole; of more the twenty smallest by their bytes."""
        value = [{f"k{chr(97 + n)}": 1} for n in range(count)]
        shape = shape_of(value).shape
        assert cuts(value) == cut
        assert len(shape.elements - {UNKNOWN}) == 20
        assert (UNKNOWN in shape.elements) is bool(cut)
        kept = {f'{{"k{chr(97 + n)}":"integer"}}' for n in range(20)}
        assert {element.text for element in shape.elements - {UNKNOWN}} == kept

    def test_something_unseen_is_no_shape_of_its_own(self):
        """Twenty shapes and a part that was not looked at are within the limit of twenty shapes."""
        value = [{f"k{chr(97 + n)}": 1} for n in range(20)]
        value.append(value)
        assert cuts(value) == {("[]", "cycle")}

    @pytest.mark.parametrize("leaf", [1, {"a": 1}, {"a": "x", "b": None}, {}, [], {"7": 1}])
    def test_depth_does_not_depend_on_what_is_down_there(self, leaf):
        """The limit counts containers; a record of scalars is one as much as an array is."""
        container = leaf != 1
        assert not cuts(nested(32 - container, leaf))
        seen = shape_of(nested(33 - container, leaf))
        assert [(cut.limit, cut.path) for cut in seen.truncations] == [("depth", "[]" * 32)]
        assert seen.shape.text == "[" * 32 + '"unknown"' + "]" * 32

    def test_depth_is_the_same_for_a_record_met_before(self):
        """A record seen before is not walked again; that must not let it through where it would be cut."""
        walker = Walker()
        walker.observe([{"a": 1}])
        assert walker.observe(nested(32, {"a": 1})).truncations

    def test_fields_named_as_a_record(self):
        """A record named by the tool keeps the 256 first names, whatever their order, and says that it was cut."""
        names = [f"f{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}{n}" for n in range(300)]
        limits = {"records": ["$"]}
        seen = shape_of(dict.fromkeys(names, 1), **limits)
        assert seen.shape.names == tuple(sorted(names)[:256])
        assert seen.truncations == (Truncation("$", "fields", 256, 300),)
        assert shape_of(dict.fromkeys(reversed(names), 1), **limits) == seen

        class Sub(dict):
            pass

        assert shape_of(Sub.fromkeys(names, 1), **limits) == seen

    def test_more_keys_than_a_record_has_make_a_map(self):
        """Ten thousand words as keys are data."""
        assert text({f"{chr(97 + n % 26)}{n}word": n for n in range(257)}) == '[0,"integer"]'
        assert shape_of({f"{chr(97 + n % 26)}{n}word": n for n in range(256)}).shape.kind == "object"

    def test_long_names_become_digests(self):
        """A name may be a document; its length must not be the store's."""
        name = "x" * 257
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        assert shape_of({name: 1, "y" * 256: 2}).shape.names == (f"sha256:{digest}", "y" * 256)
        assert [str(cut) for cut in shape_of({name: 1}).truncations] == ["$: a field name is longer than the limit"]

    def test_nodes_stop_elements_and_descent(self):
        """Twenty thousand fields and elements are looked at, then only what is at hand is listed."""
        wide = [[{"a": 1, "b": "x", "c": None}] * 100 for _ in range(100)]
        assert "nodes" in {limit for _, limit in cuts(wide)}
        few = Limits(nodes=10)
        value = {"a": [1] * 8, "b": {"c": 1}, "d": "x"}
        assert cuts(value, few) == {("b", "nodes")}
        assert text(value, limits=few) == '{"a":["integer"],"b":"unknown","d":"string"}'

    def test_scalars_are_looked_at_whole(self):
        """An array of scalars that was begun costs a look a type, so there is nothing to save by stopping in it."""
        assert not cuts([1] * 99 + ["x"], Limits(nodes=5))
        assert cuts([[1] * 9, [2]], Limits(nodes=5)) == {("[]", "nodes")}

    def test_the_budget_does_not_depend_on_the_order_of_keys(self):
        """Two processes may build the same record in another order; they must not see another shape."""
        value = {"a": [1] * 8, "b": {"c": 1}, "d": ["x"] * 5}
        backwards = dict(reversed(value.items()))
        for nodes in range(1, 20):
            assert shape_of(value, Limits(nodes=nodes)) == shape_of(backwards, Limits(nodes=nodes))

    def test_the_budget_does_not_depend_on_what_was_seen_before(self):
        """A walk may take short cuts over what it knows, and must count as if it did not."""
        value = [[{"a": 1, "b": 2}] * 3, [{"a": 1, "c": [{"a": 1, "b": 2}]}] * 3, {"a": 1, "b": 2}]
        for nodes in range(1, 40):
            walker = Walker(Limits(nodes=nodes))
            first = walker.observe(value)
            assert walker.observe(value) == first

    def test_cycles_are_cut(self):
        """A structure that holds itself has an end."""
        record: dict = {"a": 1}
        record["self"] = record
        array: list = [1]
        array.append(array)
        assert text(record) == '{"a":"integer","self":"unknown"}'
        assert text(array) == '["integer","unknown"]'
        assert cuts(record) == {("self", "cycle")}
        assert cuts(array) == {("[]", "cycle")}
        twice = {"one": [1], "two": None}
        twice["two"] = twice["one"]
        assert not cuts(twice)

    def test_hundred_thousand_levels(self):
        """Depth is bounded by the limit and not by Python's stack."""
        value = nested(100_000)
        assert cuts(value) == {("[]" * 32, "depth")}
        while value and isinstance(value, list):  # else freeing it recurses
            value = value[0]

    @pytest.mark.parametrize(
        ("small", "large"),
        [
            ([{"a": [1]}] * 200, [{"a": [1]}] * 1_000_000),
            ({f"{n}w": [n] for n in range(300)}, {f"{n}w": [n] for n in range(100_000)}),
            (set(range(200)), set(range(100_000))),
        ],
        ids=["elements", "keys", "set"],
    )
    def test_work_is_bounded_by_the_limits(self, small, large):
        """A response a thousand times as large costs not one call more."""

        def calls(value):
            walker, count = Walker(), 0

            def profile(frame, event, argument):
                nonlocal count
                count += event in {"call", "c_call"}

            gc.disable()  # a collection calls what others registered with it, and that would be counted
            sys.setprofile(profile)
            try:
                walker.observe(value)
            finally:
                sys.setprofile(None)
                gc.enable()
            return count

        calls(small)  # a type is looked up once a process
        calls(small)  # the first value of a type fills the table of types, whichever test made it
        assert calls(large) == calls(small) < 5_000

    def test_wide_times_deep(self):
        """Hundred times hundred times hundred elements are cut by the budget for the whole."""
        value: object = {"a": 1}
        for _ in range(6):
            value = [value] * 100
        seen = shape_of(value)
        assert {cut.limit for cut in seen.truncations} == {"nodes"}

    @pytest.mark.parametrize("name", Limits.__struct_fields__)
    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
    def test_a_bad_limit_is_named(self, name, value):
        """A limit that cannot hold fails where it is given."""
        with pytest.raises(ConfigurationError, match=f"limits.{name}"):
            Limits(**{name: value})

    def test_depth_stays_below_pythons_own_limit(self):
        """A depth that the recursion of fold and diff could not bear is refused."""
        with pytest.raises(ConfigurationError, match=r"limits\.depth"):
            Limits(depth=101)
