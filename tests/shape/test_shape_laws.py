from __future__ import annotations

import copy
import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st
from strategies import json_with_maps, plain_json, reordered, shapes

from toolpulse import Limits, fingerprint, shape_of
from toolpulse.shape import Walker
from toolpulse.shape.nodes import shape_from_normal


def normal_form(value):
    """The normal form of plain JSON, as the article has it."""
    if isinstance(value, dict):
        return {key: normal_form(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [json.loads(text) for text in sorted({canonical(normal_form(element)) for element in value})]
    kinds = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return kinds[type(value)]


def canonical(normal):
    """A normal form as the text that is hashed."""
    return json.dumps(normal, sort_keys=True, separators=(",", ":"))


def reference(value):
    """The fingerprint of plain JSON, written as plainly as can be."""
    return hashlib.sha256(canonical(normal_form(value)).encode()).hexdigest()


@given(plain_json)
def test_the_fingerprint_is_the_references(value):
    """The fast walk and its caches must give what twelve lines of Python give."""
    assert fingerprint(value) == reference(value)


@given(plain_json, st.randoms(use_true_random=False))
def test_order_and_length_do_not_matter(value, random):
    """A service may order keys and rows as it likes."""
    assert fingerprint(reordered(value, random)) == fingerprint(value)


@given(shapes)
def test_no_two_shapes_share_a_text(shape):
    """The normal form can be read back to the very shape, so different shapes cannot have one fingerprint."""
    assert shape_from_normal(json.loads(shape.text)) is shape
    assert shape.fingerprint == hashlib.sha256(shape.text.encode("ascii")).hexdigest()


@given(json_with_maps, st.integers(1, 60), st.integers(1, 6), st.integers(1, 3))
def test_a_walk_does_not_depend_on_earlier_walks(value, nodes, depth, elements):
    """The same response gives the same observation, first or last, from this walker or another."""
    limits = Limits(nodes=nodes, depth=depth, elements=elements, shapes=2)
    walker = Walker(limits)
    first = walker.observe(value)
    walker.observe([value, {"a": value}])
    assert walker.observe(value) == first == Walker(limits).observe(copy.deepcopy(value))


@given(json_with_maps)
def test_tuples_are_arrays_and_the_response_is_untouched(value):
    """Python's tuple and JSON's array are one to whoever reads them; a walk only looks."""
    before = copy.deepcopy(value)
    seen = shape_of(value)
    assert json.dumps(value) == json.dumps(before)
    assert shape_of(as_tuples(value)) == seen


def as_tuples(value):
    """The same with tuples for lists."""
    if isinstance(value, dict):
        return {key: as_tuples(inner) for key, inner in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


@given(json_with_maps, st.integers(1, 40), st.integers(1, 5))
def test_nothing_is_cut_without_a_word(value, nodes, depth):
    """Something not looked at and a truncation record go together."""
    seen = shape_of(value, Limits(nodes=nodes, depth=depth))
    if '"unknown"' in seen.shape.text:
        assert seen.truncations
    whole = shape_of(value)
    if not seen.truncations:
        assert seen.shape is whole.shape
