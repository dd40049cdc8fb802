from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse._base.guard import Guard
from toolpulse.judgement.consumer import Consumer
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick]

PATIENCE = 5.0
"""Seconds for a call that takes a millisecond; one that a response holds up waits for ever."""

META = ("__eq__", "__hash__", "__instancecheck__", "__subclasscheck__", "__getattribute__")
OWN = ("__eq__", "__hash__", "__getattribute__", "__bool__", "__len__", "__iter__", "__class__", "__dict__")
WAYS = ("lies", "raises", "raises what is no Exception", "blocks")


class Odd(BaseException):
    """What no ``except Exception`` holds."""


class Trap:
    """Code of a response: off while a test makes its objects, and what it was asked for while it was on."""

    def __init__(self):
        self.on = False
        self.asked = []
        self.released = threading.Event()

    def method(self, name, way, honest):
        """A method that behaves as ``way`` says while the trap is on."""

        def answer(self_or_class, *arguments):
            if not self.on:
                return honest(self_or_class, *arguments)
            self.asked.append(name)
            if way == "blocks":
                self.released.wait()
            if way == "raises":
                raise ValueError(name)
            if way == "raises what is no Exception":
                raise Odd(name)
            return 1

        return property(answer) if name in {"__class__", "__dict__"} else answer

    def methods(self, ways, honest):
        """Some of them, by name."""
        return {name: self.method(name, way, getattr(honest, name, None)) for name, way in ways.items()}

    @contextlib.contextmanager
    def armed(self):
        """On, for as long as a tool is called."""
        self.on = True
        try:
            yield
        finally:
            self.on = False


def make(trap, meta, own, base=object, *, module=__name__, name="Response", **body):
    """A class of a response, which misbehaves in some of the ways."""
    metaclass = type("Meta", (type,), trap.methods(meta, type))
    return metaclass(name, (base,), {"__module__": module, **trap.methods(own, base), **body})


def called(trap, call):
    """What a call gives, from another thread, so that one which never ends fails the test and does not hold it up."""
    given_back: list[Any] = []

    def run():
        try:
            given_back.append((call(), None))
        except BaseException as error:
            given_back.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    with trap.armed():
        thread.start()
        thread.join(PATIENCE)
        held_up = thread.is_alive()
        trap.released.set()
    assert not held_up, f"the caller was held up: the response's own {trap.asked} was run"
    ((result, error),) = given_back
    return result, error


def ways(names):
    """Any mix of methods, each misbehaving in its way."""
    return st.dictionaries(st.sampled_from(names), st.sampled_from(WAYS), max_size=len(names))


BASES = (object, dict, list, str, int, float, bytes, set, frozenset, Exception)
ENVELOPES = (("langchain_core.x", "ToolMessage"), ("pydantic.main", "BaseModel"), ("numpy", "float64"), (__name__, "R"))


def in_place(value, place):
    """A response that holds a value there."""
    return {
        "itself": value,
        "a field": {"id": 1, "field": value},
        "an element": [1, value],
        "elements": [{"field": value}, {"field": value}],
        "a value of a map": {"1": value, "2": 5},
        "a block": {"content": [value], "isError": False},
        "an attribute": type("Holder", (), {})(),
        "structured": {"content": [], "structuredContent": value, "isError": value},
    }[place]


PLACES = ("itself", "a field", "an element", "elements", "a value of a map", "a block", "an attribute", "structured")


def sync_tool(response):
    """A plain function."""
    return lambda: response


def async_tool(response):
    """A coroutine function."""

    async def tool():
        return response

    return tool


def generator_tool(response):
    """A generator function."""

    def tool():
        yield response

    return tool


def async_generator_tool(response):
    """An async generator function."""

    async def tool():
        yield response

    return tool


def method_tool(response):
    """A bound method."""

    class Tools:
        def tool(self):
            return response

    return Tools().tool


def future_tool(response):
    """A function that gives a future which is done."""
    future: Future[Any] = Future()
    future.set_result(response)
    return lambda: future


def coroutine_tool(response):
    """A function that hands on a coroutine."""
    made = async_tool(response)
    return lambda: made()  # noqa: PLW0108 - a plain function, not a coroutine function


def driven(awaitable):
    """What a coroutine that waits for nothing returns; an event loop would ask the result for its repr."""
    try:
        awaitable.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def first(result, kind):
    """The response that a caller of such a tool holds in the end."""
    if kind in (async_tool, coroutine_tool):
        return driven(result)
    if kind is async_generator_tool:
        item = driven(result.__anext__())
        with pytest.raises(StopAsyncIteration):
            result.__anext__().send(None)
        return item
    if kind is generator_tool:
        (item,) = result
        return item
    return result.result() if kind is future_tool else result


TOOLS = (sync_tool, async_tool, generator_tool, async_generator_tool, method_tool, future_tool, coroutine_tool)


@given(
    ways(META),
    ways(OWN),
    st.sampled_from(BASES),
    st.sampled_from(ENVELOPES),
    st.sampled_from(PLACES),
    st.sampled_from(TOOLS),
)
def test_nothing_of_a_response_is_asked(meta, own, base, envelope, place, kind):
    """Whatever its class and metaclass would do, the caller gets the very object, the call is counted, none was run."""
    trap = Trap()
    module, name = envelope
    value = make(trap, meta, own, base, module=module, name=name)()
    response = in_place(value, place)
    if place == "an attribute":
        response.field = value
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t")(kind(response))
    for _ in range(2):
        result, error = called(trap, lambda: first(tool(), kind))
        assert error is None
        assert result is response
    assert trap.asked == []
    health = monitor.health()
    assert (health.tools["t"].calls, health.tools["t"].errors, health.swallowed) == (2, 0, 0)


@given(ways(("__eq__", "__hash__")), st.sampled_from([str, int, float, tuple]), st.booleans())
def test_no_key_of_a_response_is_asked(own, base, wrapped):
    """A key that waits or lies when it is compared, with the name of an envelope's member or without, is only read."""
    trap = Trap()
    kind = make(trap, {}, {"__hash__": "blocks", **own}, base)
    keys = [kind("content"), kind("a")] if base is str else [kind()]
    response: Any = {key: [1] for key in keys} | {"id": 1, "count": 3}
    if wrapped:
        response = {"content": [response, *map(dict, [response])], "structuredContent": response, "isError": False}
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t")(lambda: response)
    result, error = called(trap, tool)
    assert error is None
    assert result is response
    assert trap.asked == []
    assert (monitor.health().tools["t"].calls, monitor.health().swallowed) == (1, 0)


# Up to Python 3.11 the interpreter itself asks an exception's metaclass for __subclasscheck__ wherever one is handled.
@given(
    ways([name for name in META if name != "__subclasscheck__"]),
    ways(("__getattribute__", "__eq__", "__hash__", "__class__")),
    st.sampled_from(TOOLS[:5]),
)
def test_nothing_of_an_exception_is_asked(meta, own, kind):
    """The caller gets the very exception, and it is counted by the name of its type."""
    trap = Trap()
    error = make(trap, meta, own, Exception, name="Failure")()

    class Failing:
        """Raises where a tool would be done."""

        def tool(self):
            raise error

        async def later(self):
            raise error

        def items(self):
            raise error
            yield

        async def items_later(self):
            raise error
            yield

    failing = Failing()
    tools = {async_tool: failing.later, generator_tool: failing.items, async_generator_tool: failing.items_later}
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t")(tools.get(kind, failing.tool))
    _, raised = called(trap, lambda: first(tool(), kind))
    assert raised is error
    assert trap.asked == []
    health = monitor.health()
    assert (health.tools["t"].error_types, health.swallowed) == ({"Failure": 1}, 0)


@given(ways(META), st.sampled_from([{}, {"send": None}, {"send": 5, "throw": 5, "close": 5}]), st.booleans())
def test_the_metaclass_of_an_awaitable_is_not_asked(meta, body, looks):
    """It is followed to its response, or handed on as it is where each look at it would run its own code."""
    trap = Trap()
    own = {"__getattribute__": "blocks"} if looks else {}
    awaitable = make(trap, meta, own, __await__=lambda self: iter(()), **body)()
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t")(lambda: awaitable)
    result, error = called(trap, tool)
    assert error is None
    assert trap.asked == []
    if looks:
        assert result is awaitable
        assert monitor.health().tools["t"].calls == 1


@given(ways(META), st.booleans())
def test_the_metaclass_of_a_future_is_not_asked(meta, ready):
    """A future of the standard library stays the same object, whoever derived from it, and its end is counted."""
    trap = Trap()
    lying = {key: lambda *_: 1 / 0 for key in ("done", "cancelled", "result", "add_done_callback")}
    future = make(trap, meta, {}, Future, **lying)()
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t")(lambda: future)
    if ready:
        Future.set_result(future, {"a": 1})
    result, error = called(trap, tool)
    assert (result, error) == (future, None) if not meta else result is future
    with trap.armed():
        if not ready:
            Future.set_result(future, {"a": 1})
    assert trap.asked == []
    assert monitor.health().tools["t"].calls == 1


@given(ways(META), ways(OWN), st.sampled_from(BASES))
def test_nothing_of_a_key_s_value_is_asked(meta, own, base):
    """An argument that names the variant of a call may be anything, too."""
    trap = Trap()
    value = make(trap, meta, own, base)()
    monitor = RecordingMonitor()
    tool = monitor.watch(tool="t", key="which")(lambda which: which)
    result, error = called(trap, lambda: tool(value))
    assert error is None
    assert result is value
    assert trap.asked == []
    assert (monitor.health().tools["t"].calls, monitor.health().swallowed) == (1, 0)


@pytest.mark.swallows
@given(ways(META), ways(("__getattribute__", "__class__", "__eq__", "__hash__")))
def test_the_guard_asks_nothing_of_an_error(meta, own):
    """What goes wrong while observing may be an error of the application's own making."""
    trap = Trap()
    error = make(trap, meta, own, Exception, name="Failure")()
    guard = Guard()
    _, raised = called(trap, lambda: guard.failed("observing", error))
    assert raised is None
    assert trap.asked == []
    assert guard.swallowed == {"observing: Failure": 1}


@given(ways(META), ways(("__getattribute__", "__class__")))
def test_what_an_assertion_gives_is_known_by_identity(meta, own):
    """Only its truth is asked, as whoever wrote the assertion meant it to be."""
    trap = Trap()
    answer = make(trap, meta, own)()
    reader = Consumer("reader", assertions={"holds": lambda _: answer})
    broken, error = called(trap, lambda: reader.broken({}))
    assert (broken, error) == ((), None)
    assert trap.asked == []
