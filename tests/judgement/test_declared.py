from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing
from decimal import Decimal

import msgspec
import pydantic
import pytest

from toolpulse import Consumer
from toolpulse.errors import ConfigurationError
from toolpulse.judgement import declared_schema
from toolpulse.runtime.settings import WatchOptions
from toolpulse.testing import RecordingMonitor

GOOD = {"id": 1, "name": "x", "price": 1.5, "tags": ["a"], "owner": {"mail": "m", "age": 3}, "extra": {"deep": 1}}


class OwnerModel(pydantic.BaseModel):
    mail: str
    age: int | None = None


class Model(pydantic.BaseModel):
    id: int
    name: typing.Optional[str] = None  # noqa: UP045 - people write it this way
    price: float
    tags: list[str]
    owner: OwnerModel


class OwnerStruct(msgspec.Struct):
    mail: str
    age: int | None = None


class Struct(msgspec.Struct):
    id: int
    price: float
    tags: list[str]
    owner: OwnerStruct
    name: str | None = None


@dataclasses.dataclass
class OwnerData:
    mail: str
    age: int | None = None


@dataclasses.dataclass
class Data:
    id: int
    price: float
    tags: list[str]
    owner: OwnerData
    name: str | None = None


class OwnerDict(typing.TypedDict):
    mail: str
    age: typing.NotRequired[int | None]


class Dict(typing.TypedDict, total=False):
    id: typing.Required[int]
    price: typing.Required[float]
    tags: typing.Required[list[str]]
    owner: typing.Required[OwnerDict]
    name: str | None


SCHEMA = {
    "$ref": "#/definitions/thing",
    "definitions": {
        "owner": {
            "type": "object",
            "properties": {"mail": {"type": "string"}, "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            "required": ["mail"],
        },
        "thing": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"type": ["string", "null"]},
                "price": {"type": "number"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "owner": {"$ref": "#/definitions/owner"},
            },
            "required": ["id", "price", "tags", "owner"],
        },
    },
}

TYPES = {"pydantic": Model, "msgspec": Struct, "dataclass": Data, "TypedDict": Dict, "JSON Schema": SCHEMA}


def changed(*gone, **more):
    """The good response without some fields and with others."""
    return {name: value for name, value in {**GOOD, **more}.items() if name not in gone}


def risks(expects, now, good=GOOD, **settings):
    """What a live reader with this type finds in a response, by path."""
    monitor = RecordingMonitor(consumers=[Consumer("reader", expects=expects, **settings)])
    for _ in range(15):
        monitor.observe("t", good)
    monitor.events.clear()
    monitor.observe("t", now)
    return {change.path: str(change.risk) for event in monitor.drift for change in event.changes}


@pytest.mark.parametrize("expects", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize(
    ("now", "found"),
    [
        (changed("id"), {"id": "high"}),
        (changed("name"), {"name": "info"}),
        (changed("extra"), {"extra": "info"}),
        (changed(extra={"deep": "x"}), {"extra.deep": "info"}),
        (changed(extra={}), {"extra.deep": "info"}),
        (changed(new=1), {"new": "info"}),
        (changed(id=None), {"id": "high"}),
        (changed(name=None), {}),
        (changed(id="1"), {"id": "high"}),
        (changed(id=1.5), {"id": "high"}),
        (changed(price=1), {}),
        (changed(price="1"), {"price": "high"}),
        (changed(tags=[1]), {"tags[]": "high"}),
        (changed(tags={"a": 1}), {"tags": "high"}),
        (changed(owner={"mail": "m"}), {"owner.age": "info"}),
        (changed(owner={"mail": "m", "age": None}), {}),
        (changed(owner={"age": 3}), {"owner.mail": "high"}),
        (changed(owner={"mail": "m", "age": 1.5}), {"owner.age": "high"}),
        (changed("owner"), {"owner": "high"}),
        (changed(owner=None), {"owner": "high"}),
        ({}, {"$": "availability"}),
    ],
)
def test_every_kind_of_type_says_the_same(expects, now, found):
    """What is needed and taken is read off the type; what it does not declare is no break."""
    assert risks(expects, now) == found


class TestPydantic:
    def test_aliases_are_what_is_read(self):
        """The response has the names it is parsed by."""

        class Aliased(pydantic.BaseModel):
            user_id: int = pydantic.Field(alias="userId")
            when: int = pydantic.Field(validation_alias="createdAt", serialization_alias="created")

        good = {"userId": 1, "createdAt": 2, "created": 3}
        assert risks(Aliased, {"createdAt": 2, "created": 3}, good) == {"userId": "high"}
        assert risks(Aliased, {"userId": 1, "created": 3}, good) == {"createdAt": "high"}
        assert risks(Aliased, {"userId": 1, "createdAt": 2}, good) == {"created": "info"}

    def test_what_forbids_extra_fields_is_broken_by_one(self):
        """Whoever parses strictly fails on an addition."""

        class Strict(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(extra="forbid")
            id: int

        assert risks(Strict, {"id": 1, "new": 2}, {"id": 1}) == {"new": "high"}

    def test_unions_take_what_one_of_them_takes(self):
        """And require what all of them require."""

        class Left(pydantic.BaseModel):
            kind: str
            left: int

        class Right(pydantic.BaseModel):
            kind: str
            right: str

        class Either(pydantic.BaseModel):
            value: int | str
            side: Left | Right

        good = {"value": 1, "side": {"kind": "l", "left": 1}}
        assert risks(Either, {"value": "x", "side": good["side"]}, good) == {"value": "info"}
        assert risks(Either, {"value": [], "side": good["side"]}, good) == {"value": "high"}
        assert risks(Either, {"value": 1, "side": {"kind": "r", "right": "x"}}, good) == {
            "side.left": "high",
            "side.right": "info",
        }

    def test_recursive_types(self):
        """A tree is described at every depth."""
        good = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
        now = {"name": "a", "children": [{"name": "b", "children": [{"name": 5, "children": []}]}]}
        assert set(risks(Node, now, good).values()) == {"high"}

    def test_types_that_json_lacks(self):
        """Dates and decimals come as text or number, or as themselves."""

        class Dated(pydantic.BaseModel):
            at: datetime.datetime
            amount: Decimal

        good = {"at": "2024-01-31T10:00:00", "amount": 1.5}
        assert risks(Dated, {**good, "amount": "1.50"}, good) == {"amount": "info"}
        assert risks(Dated, {**good, "amount": None}, good) == {"amount": "high"}


class Node(pydantic.BaseModel):
    name: str
    children: list[Node] = []


class TestSchemas:
    @pytest.mark.parametrize(
        ("schema", "good", "now", "found"),
        [
            ({}, {"a": 1}, {"a": "x"}, {"a": "high"}),
            ({"type": "object"}, {"a": 1}, {"a": "x"}, {"a": "high"}),
            ({"type": "object", "additionalProperties": {"type": "integer"}}, {"1": 1}, {"1": "x"}, {"*": "high"}),
            (
                {"type": "object", "additionalProperties": {"type": ["integer", "string"]}},
                {"1": 1},
                {"1": "x"},
                {"*": "info"},
            ),
            (
                {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "integer"}},
                {"a": 1, "b": 1},
                {"a": 1, "b": "x"},
                {"b": "high"},
            ),
            (
                {"properties": {"p": {"prefixItems": [{"type": "integer"}, {"type": "string"}]}}},
                {"p": [1]},
                {"p": ["x"]},
                {"p[]": "info"},
            ),
            (
                {"properties": {"p": {"prefixItems": [{"type": "integer"}], "items": {"type": "null"}}}},
                {"p": [1]},
                {"p": ["x"]},
                {"p[]": "high"},
            ),
            (
                {"properties": {"a": {"type": "integer"}}, "required": ["a"], "anyOf": [{"required": ["a"]}]},
                {"a": 1, "b": 1},
                {"b": 1},
                {"a": "high"},
            ),
            (
                {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}}],
                 "$defs": {"base": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}},
                {"a": 1, "b": "x"},
                {},
                {"$": "availability"},
            ),
            (
                {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}}],
                 "$defs": {"base": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}},
                {"a": 1, "b": "x", "c": 1},
                {"c": 1},
                {"a": "high", "b": "info"},
            ),
            ({"properties": {"a": {"enum": [1, None]}}}, {"a": 1}, {"a": None}, {}),
            ({"properties": {"a": {"const": "x"}}}, {"a": "x"}, {"a": 1}, {"a": "high"}),
            ({"properties": {"a": True}}, {"a": 1}, {"a": "x"}, {"a": "high"}),
            (
                {"properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}, "required": ["v"]},
                {"v": 1, "next": {"v": 1, "next": {"v": 1}}},
                {"v": 1, "next": {"v": 1, "next": {"w": 1}}},
                {"next.next.v": "high", "next.next.w": "info"},
            ),
        ],
    )  # fmt: skip
    def test_the_words_of_json_schema(self, schema, good, now, found):
        """References, alternatives, maps, tuples, enums; where it does not say, the table does."""
        assert risks(schema, now, good) == found

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#/$defs/gone"},
            {"properties": {"a": {"$ref": "#/$defs/gone"}}},
            {"properties": {"a": {"items": {"anyOf": [{"$ref": "https://example.org/x.json"}]}}}},
            {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"$ref": 5}}}}},
            {"properties": ["a"]},
            {"properties": {"a": {"type": 5}}},
            {"anyOf": {"type": "object"}},
            {"properties": {"a": {"required": True}}},
        ],
    )
    def test_a_schema_that_cannot_be_read_fails_at_construction(self, schema):
        """Not in a worker, at the first response that touches the broken part."""
        with pytest.raises(ConfigurationError, match="expects"):
            Consumer("c", expects=schema)

    def test_fields_named_like_the_words_of_json_schema_are_fields(self):
        """A response may well have a field `$ref` or `properties`."""
        schema = {"properties": {"$ref": {"type": "integer"}, "properties": {"type": "integer"}}, "required": ["$ref"]}
        good = {"$ref": 1, "properties": 1, "x": 1}
        assert risks(schema, {"x": 1}, good) == {'["$ref"]': "high", "properties": "info"}

    def test_types_that_refer_to_each_other_are_asked_in_bounded_time(self):
        """A hostile response goes as deep as the limit; the alternatives must not double at each step."""
        node = {"properties": {"next": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}}}
        schema = {"$ref": "#/$defs/a", "$defs": {"a": {**node, "title": "a"}, "b": {**node, "title": "b"}}}

        def chain(depth, end):
            return {"next": chain(depth - 1, end)} if depth else end

        assert set(risks(schema, chain(30, {"v": "x"}), chain(30, {"v": 1})).values()) == {"info"}

    @pytest.mark.parametrize(
        "wrong", [object(), "Model", 5, lambda: None, ["annotation"], {1, 2}], ids=lambda wrong: type(wrong).__name__
    )
    def test_what_is_no_type_fails_at_construction(self, wrong):
        """And says which setting it was."""
        with pytest.raises(ConfigurationError, match="expects"):
            Consumer("c", expects=wrong)


def plain_function() -> Model:
    """As most people write it."""


def text_function() -> "list[Struct]":  # noqa: UP037 - people write it this way
    """A string in a string."""


async def async_function() -> Data:
    """The annotation is of what is awaited."""


def generator_function() -> collections.abc.Iterator[Dict]:
    """Items are observed as an array."""


def bare_iterator() -> typing.Iterator:
    """It does not say of what."""


def nothing_said():
    """No annotation."""


def anything() -> dict[str, typing.Any]:
    """No say."""


def unreadable() -> gone.Model:  # noqa: F821 - that is the point
    """A name that is not there."""


class TestAnnotations:
    def watched(self, function, good, now, consumer=None):
        """What a reader of the annotation finds."""
        reader = consumer or Consumer("reader", expects="annotation")
        monitor = RecordingMonitor(consumers=[reader])
        settings = monitor.recorder.settings_for(WatchOptions(), function)
        channel = monitor.recorder.channel("t", "", settings)
        for response in [good] * 15 + [now]:
            monitor.recorder.record(channel, settings, response)
        return {change.path: str(change.risk) for event in monitor.drift for change in event.changes}

    @pytest.mark.parametrize(
        ("function", "good", "now", "found"),
        [
            (plain_function, GOOD, changed("name", "id"), {"id": "high", "name": "info"}),
            (text_function, [GOOD], [changed("id")], {"[].id": "high"}),
            (text_function, [GOOD], [changed("name")], {"[].name": "info"}),
            (async_function, GOOD, changed("name"), {"name": "info"}),
            (generator_function, [GOOD], [changed("extra")], {"[].extra": "info"}),
            (generator_function, [GOOD], [changed("price")], {"[].price": "high"}),
            (bare_iterator, [GOOD], [changed("id")], {"[].id": "high"}),
            (nothing_said, GOOD, changed("extra"), {"extra": "high"}),
            (anything, GOOD, changed("extra"), {"extra": "high"}),
        ],
    )
    def test_the_functions_own_annotation(self, function, good, now, found):
        """Strings, containers, iterators, coroutines; an annotation that says nothing has no say."""
        assert self.watched(function, good, now) == found

    def test_a_watched_function(self):
        """The decorator hands the function on."""
        monitor = RecordingMonitor(consumers=[Consumer("reader", expects="annotation")])
        responses = [GOOD] * 15 + [changed("extra")]

        @monitor.watch(tool="t")
        def tool() -> Model:
            return responses.pop(0)

        for _ in range(16):
            tool()
        assert {str(change.risk) for event in monitor.drift for change in event.changes} == {"info"}

    def test_an_annotation_that_cannot_be_read_is_named(self):
        """A consumer that reads one cannot be bound to it."""
        with pytest.raises(ConfigurationError, match=r"expects.*NameError"):
            Consumer("reader", expects="annotation").for_function(unreadable)


class TestDisagreements:
    def learned(self, *responses, expects=Model):
        """What is said of the type when the warm-up ends."""
        monitor = RecordingMonitor(consumers=[Consumer("reader", expects=expects)])
        for call in range(10):
            monitor.observe("t", responses[call % len(responses)])
        return monitor.events[0].summary

    def test_a_type_that_is_right_is_not_mentioned(self):
        """No news is good news."""
        assert "expects" not in self.learned(GOOD, changed("name"), changed(name=None, price=1))

    @pytest.mark.parametrize("expects", TYPES.values(), ids=TYPES)
    def test_where_it_is_wrong_is_said_at_once(self, expects):
        """Kinds it does not take, nulls, and fields that are not always there."""
        said = self.learned(changed("price", id=None), changed(tags=[1]), expects=expects)
        assert "what reader expects is wrong in 3 places" in said
        assert "id: null seen 5 times, the type takes integer" in said
        assert "price: there in 5 of 10, the type requires it" in said
        assert "tags[]: integer seen 5 times, the type takes string" in said

    def test_deep_responses_are_compared_in_bounded_work(self, monkeypatch):
        """A recursive union, and a response as deep as is looked at."""
        steps = 0
        step = declared_schema._step

        def counted(schema, segment):
            nonlocal steps
            steps += 1
            return step(schema, segment)

        monkeypatch.setattr(declared_schema, "_step", counted)
        node = {"properties": {"next": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/b"}]}}}
        schema = {**node, "$defs": {"b": {**node, "required": ["v"]}}}
        deep: dict = {}
        for _ in range(30):
            deep = {"next": deep}
        self.learned(deep, expects=schema)
        assert 0 < steps < 20_000
