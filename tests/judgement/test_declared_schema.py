from __future__ import annotations

import pytest

from toolpulse._base.paths import ITEMS, VALUES
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.declared_schema import DEEPEST, KINDS, DeclaredSchema
from toolpulse.shape.kind_table import SCALAR_KINDS

SCHEMA = DeclaredSchema(
    {
        "properties": {
            "id": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "pair": {"prefixItems": [{"const": 1}, {"const": "x"}]},
            "prices": {"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": {"type": "null"}},
            "owner": {"$ref": "#/$defs/owner"},
            "free": {},
        },
        "required": ["id"],
        "additionalProperties": False,
        "$defs": {
            "owner": {
                "anyOf": [
                    {
                        "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/owner"}},
                        "required": ["name"],
                    },
                    {"properties": {"name": {"enum": [None, True]}}},
                ]
            }
        },
    }
)


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (("id",), {"integer"}),
        (("tags", ITEMS), KINDS["string"] | {"null"}),
        (("pair", ITEMS), {"integer", "string"}),
        (("prices", VALUES), KINDS["number"] | {"null"}),
        (("owner", "name"), KINDS["string"] | {"null", "boolean"}),
        (("owner", "boss", "boss", "name"), KINDS["string"] | {"null", "boolean"}),
        (("free",), None),
        (("nothing",), None),
    ],
    ids=["field", "items", "prefix", "values", "union", "recursion", "free", "not declared"],
)
def test_the_kinds_at_a_path(path, kinds):
    """References, unions, tuples and maps are looked through; where nothing is said, anything may come."""
    assert SCHEMA.kinds(path) == kinds


def test_which_paths_are_declared():
    """Of a record that names no fields nothing is known, which is not that it has none."""
    assert SCHEMA.declares(("owner", "boss", "name")) is True
    assert SCHEMA.declares(("owner", "age")) is False
    assert SCHEMA.declares(("age",)) is False
    assert SCHEMA.declares(("free", "a")) is None
    assert SCHEMA.declares(("tags", ITEMS)) is True


def test_a_field_is_required_where_every_alternative_requires_it():
    """One member of a union that does without it is enough."""
    assert SCHEMA.required(("id",))
    assert not SCHEMA.required(("tags",))
    assert not SCHEMA.required(("owner", "name"))
    assert not SCHEMA.required(("nothing",))


def test_other_fields_are_forbidden_only_where_it_is_said():
    """A schema is open unless it says otherwise."""
    assert SCHEMA.forbids(("age",))
    assert not SCHEMA.forbids(("owner", "age"))
    assert not SCHEMA.forbids(("nothing", "age"))


def test_nothing_is_said_of_what_lies_too_deep():
    """A schema may refer to itself, and work has to end."""
    deepest = ("owner", *["boss"] * (DEEPEST - 1))
    assert len(SCHEMA.at(deepest)) == 2
    assert SCHEMA.at((*deepest, "boss")) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/a"}}}, "'#/$defs/a', which is not there"),
        ({"items": {"$ref": "other.json"}}, "which is outside of it"),
        ({"anyOf": [{"required": "a"}]}, "required of the schema is a str"),
        ({"$defs": {"a": {"properties": []}}}, "properties of the schema is a list"),
        ({"additionalProperties": {"type": 3}}, "type of the schema is a int"),
    ],
    ids=["missing", "outside", "in a union", "in definitions", "in additional"],
)
def test_a_broken_schema_is_refused_wherever_it_is_broken(schema, words):
    """At once, and not when the first response reaches the part."""
    with pytest.raises(ConfigurationError, match="expects: ") as error:
        DeclaredSchema(schema)
    assert words in str(error.value)


def test_references_are_read_as_json_pointers():
    """With its escapes and with numbers of a list."""
    schema = DeclaredSchema({"$defs": {"a/b~": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}, "properties": {
        "x": {"$ref": "#/$defs/a~1b~0/anyOf/1"},
    }})  # fmt: skip
    assert schema.kinds(("x",)) == {"boolean"}


def test_every_scalar_kind_of_json_has_a_type():
    """A kind that no type takes would be a break of every declaration."""
    assert frozenset().union(*KINDS.values()) >= SCALAR_KINDS - {"unknown"} - {"complex"}
