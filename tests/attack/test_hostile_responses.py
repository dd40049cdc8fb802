"""Some sixty kinds of responses that lie, raise, grow or consume, returned by a watched tool."""
# ruff: noqa: D102

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import io
import json
import types
import uuid
import weakref
from typing import NamedTuple

import msgspec
import numpy as np
import pydantic
import pytest

from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick, pytest.mark.swallows]

GOOD = {"id": 1, "name": "x"}


def refuse(*args, **kwargs):
    """What a hostile object answers to everything."""
    raise ValueError("looked at")


EVERYTHING = dict.fromkeys(
    "__iter__ __len__ __eq__ __hash__ __bool__ __getattr__ __getattribute__ __getitem__ __contains__ __repr__ __str__ "
    "__format__ __missing__ __next__ __dir__ __index__ __int__ __length_hint__ __lt__ __reduce__ __copy__ "
    "keys items values get copy append".split(),
    refuse,
)


def refusing(base, *arguments):
    """An instance of a class that overrides everything with ``refuse``."""
    return type("Refusing", (base,), {**EVERYTHING, "__class__": property(refuse)})(*arguments)


class Lying(dict):
    """Says that it is empty, and that it has no end."""

    def __len__(self):
        return 0

    def __iter__(self):
        while True:
            yield "a"

    keys = items = values = __iter__


class Negative(list):
    def __len__(self):
        return -1  # noqa: PLE0303 - as a broken class would

    def __length_hint__(self):
        return 2**62


class Claims:
    """Says that it is a dict."""

    __class__ = dict


class Deep:
    """Has whatever attribute is asked for, and that has too."""

    def __getattr__(self, name):
        return Deep()


class AngryKey(str):
    __slots__ = ()

    def __eq__(self, other):
        raise ValueError("compared")

    def __hash__(self):
        return str.__hash__(self)


class Collides(str):
    """One of many keys with the same hash."""

    __slots__ = ()

    def __hash__(self):
        return 7


class Silent(type):
    """A metaclass that answers no question about its classes."""

    __getattr__ = __instancecheck__ = __subclasscheck__ = __repr__ = __iter__ = __len__ = refuse


class Yes(type):
    """A metaclass that has every attribute."""

    def __getattr__(cls, name):
        return ["yes"]


@dataclasses.dataclass
class Lazy:
    """A record with a field that was never set, and a property that loads."""

    id: int = 1
    late: str = dataclasses.field(init=False)

    @property
    def loaded(self):
        raise ConnectionError

    @functools.cached_property
    def cached(self):
        raise ConnectionError


class Slots:
    __slots__ = ("missing", "set")

    def __init__(self):
        self.set = 1


class Model(pydantic.BaseModel):
    id: int = 1

    @pydantic.computed_field
    @property
    def computed(self) -> int:
        raise ConnectionError


class Packed(msgspec.Struct):
    id: int = 1


class Row(NamedTuple):
    id: int = 1


class Colour(enum.Enum):
    RED = object()


def ring(kind):
    """A container that holds itself."""
    found = kind()
    if isinstance(found, dict):
        found["self"] = found
    else:
        found.append(found)
    return found


def nested(depth, around):
    """Containers in containers."""
    found = 1
    for _ in range(depth):
        found = around(found)
    return found


def shared(depth):
    """A few objects that are two to the power of ``depth`` when they are written out."""
    found = [1]
    for _ in range(depth):
        found = [found, found]
    return found


RESPONSES = {
    "a dict that refuses": lambda: refusing(dict),
    "a list that refuses": lambda: refusing(list),
    "a tuple that refuses": lambda: refusing(tuple),
    "a set that refuses": lambda: refusing(set),
    "a frozenset that refuses": lambda: refusing(frozenset),
    "a deque that refuses": lambda: refusing(collections.deque),
    "an ordered dict that refuses": lambda: refusing(collections.OrderedDict),
    "text that refuses": lambda: refusing(str, "x"),
    "bytes that refuse": lambda: refusing(bytes, b"x"),
    "an integer that refuses": lambda: refusing(int, 1),
    "a number that refuses": lambda: refusing(float, 1.5),
    "a date that refuses": lambda: refusing(datetime.date, 2024, 1, 1),
    "an object that refuses": lambda: refusing(object),
    "an exception as a value": lambda: refusing(ValueError),
    "a dict that lies about its length": lambda: Lying(a=1),
    "a list of negative length": lambda: Negative([1]),
    "an object that claims to be a dict": Claims,
    "an object with every attribute": Deep,
    "an object in an object that refuses": lambda: {"a": [refusing(object)]},
    "a class that answers nothing": Silent("Odd", (), {}),
    "a class with every attribute": Yes("Odd", (), {}),
    "a class as a value": lambda: Silent("Odd", (), {}),
    "a class without a module": type("Odd", (), {"__module__": 7}),
    "a class with a long name": type("L" * 100_000, (), {}),
    "a key that refuses comparison": lambda: {AngryKey("content"): 1, AngryKey("isError"): 2},
    "keys of one hash": lambda: {Collides(f"key {n}"): n for n in range(300)},
    "keys of every type": lambda: {None: 1, True: 2, 1.5: 3, b"x": 4, (1,): 5, frozenset(): 6, Colour.RED: 7},
    "a key that is a lone surrogate": lambda: {"\ud800": {"\udfff": 2}},
    "a key of a megabyte": lambda: {"k" * 1_000_000: 1},
    "a key with control characters": lambda: {"\x00\x1b]0;owned\x07\n\u202e": 1},
    "a key that is an integer of 10,000 digits": lambda: {10**10_000: 1},
    "an integer of 100,000 digits": lambda: {"n": 10**100_000},
    "no number and infinity": lambda: [float("nan"), float("inf"), decimal.Decimal("sNaN")],
    "a list that holds itself": lambda: ring(list),
    "a dict that holds itself": lambda: ring(dict),
    "a deque that holds itself": lambda: ring(collections.deque),
    "lists 100,000 deep": lambda: nested(100_000, lambda inner: [inner]),
    "dicts 100,000 deep": lambda: nested(100_000, lambda inner: {"a": inner}),
    "sets in tuples, deep": lambda: nested(500, lambda inner: (frozenset([inner]),)),
    "a list of 2^64 lists": lambda: shared(64),
    "a list of a million": lambda: [1] * 1_000_000,
    "a dict of 100,000 fields": lambda: {f"f{n}x": n for n in range(100_000)},
    "a list of 500 kinds of record": lambda: [{f"field_{n:x}z": 1} for n in range(500)],
    "text that begins like JSON": lambda: "[" * 1_000_000,
    "text of JSON 10,000 deep": lambda: "[" * 10_000 + "]" * 10_000,
    "text of JSON with a long number": lambda: "[" + "1" * 100_000 + "]",
    "text of JSON with one key many times": lambda: "{" + '"a":1,' * 10_000 + '"a":2}',
    "text of JSON in JSON": lambda: nested(9, lambda inner: json.dumps([inner])),
    "a record with an unset field": Lazy,
    "slots that were never set": Slots,
    "a model with a computed field that raises": Model,
    "a struct": Packed,
    "a named tuple": Row,
    "a namespace": lambda: types.SimpleNamespace(a=refusing(object)),
    "a member of an enum": lambda: Colour.RED,
    "a proxy of something that is gone": lambda: weakref.proxy(Packed.__new__(type("Gone", (), {}))),
    "a mapping that does input": lambda: collections.ChainMap(refusing(dict)),
    "a default dict": lambda: collections.defaultdict(refuse),
    "a view of a dict": GOOD.items,
    "an iterator": lambda: iter([1, 2]),
    "an open file": lambda: io.StringIO('{"a": 1}'),
    "an array of numpy": lambda: np.zeros((3, 3)),
    "an array of objects": lambda: np.full((2, 2), GOOD, dtype=object),
    "a UUID and a decimal": lambda: (uuid.UUID(int=0), decimal.Decimal(1)),
    "a memory view": lambda: memoryview(b"x" * 1000),
    "a module": lambda: types.ModuleType("odd"),
    "a code object": lambda: refuse.__code__,
    "an MCP result with an item that refuses": lambda: {"content": [refusing(object)], "isError": False},
    "an MCP result that says refusing of its error": lambda: {"content": [], "isError": refusing(object)},
    "an MCP result of an MCP result": lambda: nested(
        8, lambda inner: {"content": [{"type": "text", "text": json.dumps(inner)}], "isError": False}
    ),
}
"""By what they do; new ones at each call."""

MODES = {
    "in the background": {"background": True, "flush_interval": 0.001},
    "inside the call": {"background": False},
    "raising": {"background": True, "on_drift": "raise", "flush_interval": 10_000.0},
}


def test_there_are_sixty():
    """The page of promises says so."""
    assert len(RESPONSES) >= 60


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RESPONSES)
def test_the_caller_gets_the_very_object_and_the_call_is_counted(name, mode):
    """A tool returns whatever its users, servers and libraries made; it must come out as if nobody looked."""
    with RecordingMonitor(**MODES[mode]) as monitor:

        @monitor.watch(tool="t")
        def tool(response):
            return response

        for _ in range(3):
            response = RESPONSES[name]()
            same = tool(response) is response
            assert same  # pytest would print what it compares
        assert monitor.flush(60)
        told = monitor.health().tools["t"]
        assert (told.calls, told.errors) == (3, 0)
        for _ in range(12):
            tool(GOOD)
        assert monitor.flush(60)
        assert monitor.health().tools["t"].calls == 15


@pytest.mark.parametrize("name", RESPONSES)
def test_the_error_of_a_tool_is_the_tool_s(name):
    """An exception may hold such a response, too, and reaches the caller as it is."""
    with RecordingMonitor() as monitor:

        @monitor.watch(tool="t")
        def tool(error):
            raise error

        error = LookupError(RESPONSES[name]())
        with pytest.raises(LookupError) as caught:
            tool(error)
        same = caught.value is error
        assert same
        assert monitor.health().tools["t"].error_types == {"LookupError": 1}
