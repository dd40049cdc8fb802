from __future__ import annotations

import json

from hypothesis import strategies as st

from toolpulse._base.paths import ITEMS, VALUES, Step
from toolpulse.shape.kind_table import SCALAR_KINDS
from toolpulse.shape.map_keys import data_keys
from toolpulse.shape.nodes import UNKNOWN, Array, Map, Object, Scalar


def readable(name):
    """Whether JSON text can hold the string: a pair of surrogates would be read back as one character."""
    return json.loads(json.dumps(name)) == name


field_names = st.one_of(
    st.sampled_from(["id", "a", "b", "c", "score", "results", "items", "a.b", "", "$", "[]", "*", "é", "\ud800", "😀"]),
    st.text(st.characters(codec=None, categories=None), max_size=8).filter(readable),
)
"""Field names, strange ones, lone surrogates and characters beyond the first plane included."""

json_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))


def records(values, *, names=field_names, max_size=4):
    """Dicts whose keys are no data, so that they are records."""
    return st.dictionaries(names, values, max_size=max_size).filter(lambda d: not data_keys(tuple(d)))


plain_json = st.recursive(json_scalars, lambda inner: st.lists(inner, max_size=4) | records(inner), max_leaves=20)
"""JSON values within the default limits and without maps."""

map_keys = st.one_of(
    st.integers(0, 10**6).map(str),
    st.uuids().map(str),
    st.dates().map(str),
    st.integers(0, 999).map("{:012x}0".format),
)
json_with_maps = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=4) | records(inner) | st.dictionaries(map_keys, inner, max_size=4),
    max_leaves=20,
)
"""JSON values in which some objects have data for keys."""

known_names = st.sampled_from(["id", "name", "tags", "owner", "page", "kind"])
tool_responses = st.recursive(
    st.sampled_from([None, True, 3, 0.5, "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(known_names, inner, max_size=4)
        | st.dictionaries(map_keys, inner, max_size=3)
    ),
    max_leaves=12,
)
"""Responses that share their field names, so that one meets what another taught."""

scalar_shapes = st.sampled_from([*map(Scalar, sorted(SCALAR_KINDS)), Scalar("other:app.Thing"), UNKNOWN])
shapes = st.recursive(
    scalar_shapes,
    lambda inner: st.one_of(
        st.dictionaries(field_names, inner, max_size=4).map(Object),
        st.frozensets(inner, max_size=4).map(Array),
        st.frozensets(inner, max_size=4).map(Map),
    ),
    max_leaves=16,
)
"""Shapes of every sort."""

paths = st.lists(st.one_of(field_names, st.sampled_from([ITEMS, VALUES])), max_size=6).map(tuple)
globs = st.lists(st.one_of(field_names, st.sampled_from(list(Step))), max_size=6).map(tuple)


def reordered(value, random):
    """The same JSON with keys and elements in another order and some elements repeated."""
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: reordered(inner, random) for key, inner in items}
    if isinstance(value, list) and value:
        elements = [reordered(inner, random) for inner in [*value, random.choice(value)]]
        random.shuffle(elements)
        return elements
    return value
