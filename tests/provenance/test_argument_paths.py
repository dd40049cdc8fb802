from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse._base.paths import ITEMS, VALUES
from toolpulse.provenance.schemas.argument_paths import SchemaPath, argument_of_word, of_comparable


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), SchemaPath(())),
        (("properties", "q"), SchemaPath(("q",))),
        (("properties", "q", "schema", "maximum"), SchemaPath(("q",), "maximum")),
        (("properties", "q", "required"), SchemaPath(("q",), "required")),
        (("properties", "required", "schema", "type"), SchemaPath(("required",), "type")),
        (("properties", "q", "schema", "enum", '"a"'), SchemaPath(("q",), "enum", '"a"')),
        (("properties", "q", "schema", "items", "type"), SchemaPath(("q", ITEMS), "type")),
        (("properties", "q", "schema", "prefixItems", ITEMS, "type"), SchemaPath(("q", ITEMS), "type")),
        (("additionalProperties", "type"), SchemaPath((VALUES,), "type")),
        (("additionalProperties",), SchemaPath((), "additionalProperties")),
        (("anyOf", "0", "properties", "q", "schema", "type"), SchemaPath(("q",), "type")),
        (("anyOf", ITEMS), SchemaPath((), "anyOf")),
        (("patternProperties", "^x", "minLength"), SchemaPath((VALUES,), "minLength")),
        (("$defs", "A"), SchemaPath(("$defs", "A"), "$defs")),
        (("$defs", "A", "properties", "q", "schema", "type"), SchemaPath(("$defs", "A", "q"), "type")),
    ],
    ids=lambda value: "-".join(str(part) for part in value) if isinstance(value, tuple) else None,
)
def test_a_path_through_a_schema_is_one_through_its_arguments(path, expected):
    """Callers know their arguments, and not where in a schema a keyword stands."""
    assert of_comparable(path) == expected


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.sampled_from(["description", "title", "examples"]))
def test_a_word_is_about_the_argument_it_stands_at(names, word):
    """Whatever arguments are called: a name that is a keyword of JSON Schema is a name there."""
    path = tuple(part for name in names for part in ("properties", name))
    assert argument_of_word((*path, word)) == tuple(names)
