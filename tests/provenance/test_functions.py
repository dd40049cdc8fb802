from __future__ import annotations

import enum
import functools
from typing import Annotated, Literal, TypedDict

import msgspec
import pydantic
import pytest

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.tools import (
    definition_of,
    tools_diff,
    tools_fingerprint,
)

# live functions


class Mode(enum.Enum):
    FAST = "fast"
    DEEP = "deep"


class Range(TypedDict):
    start: int
    end: int


class Filter(pydantic.BaseModel):
    tag: str
    score: float = 0.5


def search_docs(query: str, limit: int = 10, mode: Mode = Mode.FAST) -> list[dict]:
    """Search the documentation.

    Newest first.
    """


def test_a_function_s_signature_is_its_contract():
    """Annotations, defaults and docstring are what a framework sends for it."""
    assert definition_of(search_docs) == {
        "name": "search_docs",
        "description": "Search the documentation.\n\nNewest first.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 10},
                "mode": {"$ref": "#/$defs/Mode"},
            },
            "required": ["query"],
            "additionalProperties": False,
            "$defs": {"Mode": {"title": "Mode", "enum": ["deep", "fast"]}},
        },
    }
    assert tools_fingerprint([search_docs]) == tools_fingerprint([definition_of(search_docs)])


def test_a_renamed_parameter_of_a_function_is_reported():
    """The most common change of a tool is an edit of its function."""

    def search_docs(q: str) -> str:
        """Search."""

    def renamed(query: str) -> str:
        """Search."""

    comparison = tools_diff([search_docs], [definition_of(renamed, name="search_docs")])
    assert [(c.path, c.risk.value, c.counterpart) for c in comparison.changes] == [
        ("search_docs.q", "high", "search_docs.query"),
        ("search_docs.query", "high", "search_docs.q"),
    ]


def test_types_of_arguments_are_read():
    """msgspec reads most, pydantic its own; what has no annotation takes anything."""

    def f(a, b: Literal["x", "y"], c: Range, d: Filter, *, e: Annotated[int, msgspec.Meta(ge=1)] = 1, **rest):
        """Do."""

    found = definition_of(f)["parameters"]
    assert found["properties"]["a"] == {}
    assert found["properties"]["b"] == {"enum": ["x", "y"]}
    assert found["properties"]["c"] == {"$ref": "#/$defs/Range"}
    assert set(found["properties"]["d"]["properties"]) == {"tag", "score"}
    assert found["properties"]["e"] == {"type": "integer", "minimum": 1, "default": 1}
    assert found["required"] == ["a", "b", "c", "d"]
    assert found["additionalProperties"] is True


def test_methods_partials_and_wrapped_functions():
    """What is bound is not sent, and a decorator in between does not count."""

    class Client:
        def get(self, page: str, ctx: object = None) -> str:
            """Get."""

    @functools.wraps(search_docs)
    def wrapped(*args, **kwargs):
        return search_docs(*args, **kwargs)

    bound = definition_of(Client().get, exclude=["ctx"])
    assert list(bound["parameters"]["properties"]) == ["page"]
    part = definition_of(functools.partial(search_docs, "x"), name="x")["parameters"]
    assert part["required"] == []
    assert definition_of(wrapped) == definition_of(search_docs)
    with pytest.raises(ConfigurationError, match="get has no argument page2"):
        definition_of(Client().get, exclude=["page2"])


def test_a_type_without_a_schema_is_named():
    """The error names the argument, which is what is edited."""

    class Odd:
        __slots__ = ()

    def f(ok: int, bad: Odd):
        """Do."""

    f.__annotations__["bad"] = Odd
    with pytest.raises(InputError, match="f: no JSON Schema can be had of the type of bad"):
        definition_of(f)
    f.__annotations__["bad"] = "NoSuchName"
    with pytest.raises(InputError, match=r"annotations cannot be read \(NameError\)"):
        definition_of(f)
