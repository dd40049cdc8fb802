from __future__ import annotations

import asyncio
import collections.abc
import concurrent.futures
import copy
import functools
import gc
import inspect
import io
import itertools
import logging
import pickle
import warnings

import pytest
import watched_functions
from probes import Recorder

from toolpulse.errors import DriftError


class Later:
    """An awaitable of some library, with a method of its own."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return self.value

    def cancel(self):
        """Answer as the library would."""
        return "cancelled"


def always(value):
    """A tool that returns the value."""
    return lambda *_: value


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_coroutines_are_followed_to_the_response(depth):
    """Each layer that hands on a coroutine is a layer before the response, not the response."""

    async def inner():
        return {"a": 1}

    async def handing_on(coroutine):
        return coroutine

    def tool():
        made = inner()
        for _ in range(depth - 1):
            made = handing_on(made)
        return made

    async def main():
        result = recorder.watch(tool)()
        for _ in range(depth):
            assert inspect.iscoroutine(result)
            result = await result
        return result

    recorder = Recorder()
    assert asyncio.run(main()) is recorder.responses[0]
    assert len(recorder.told) == 1


def test_an_async_def_may_return_a_generator():
    """The generator is the stream, and the call is told once."""
    recorder = Recorder()

    async def tool():
        return watched_functions.items("Oslo")

    stream = asyncio.run(recorder.watch(tool)())
    assert inspect.isgenerator(stream)
    assert list(stream) == recorder.streams[0].items
    assert len(recorder.told) == 1


def test_a_coroutine_that_nobody_awaits_tells_nothing_and_warns_once():
    """The tool's own warning, not a second one of the wrapper."""
    recorder = Recorder()
    for tool in (watched_functions.awaited, watched_functions.promised):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            recorder.watch(tool)("Oslo")
            gc.collect()
        assert [str(warning.message) for warning in caught] == ["coroutine 'awaited' was never awaited"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recorder.watch(watched_functions.promised)("Oslo").close()
        gc.collect()
    assert caught == []
    assert recorder.told == []


@pytest.mark.parametrize("task", [True, False])
def test_futures_and_tasks_stay_the_same_object(task):
    """A task can be cancelled and awaited by several; its result is told once it is there."""
    recorder = Recorder()

    async def main():
        promise = asyncio.get_running_loop().create_future()
        if task:
            promise = asyncio.create_task(watched_functions.awaited("Oslo"))
        assert recorder.watch(always(promise))(1) is promise
        assert recorder.told == []
        if not task:
            promise.set_result({"a": 1})
        result = await promise
        await asyncio.sleep(0)
        assert recorder.responses == [result]
        assert recorder.watch(always(promise))(2) is promise
        assert recorder.responses == [result, result]

    asyncio.run(main())
    assert recorder.calls == [((1,), {}), ((2,), {})]


def test_the_ends_of_futures():
    """Errors and cancellation are told; an error that nobody retrieved is still complained of."""
    recorder = Recorder()
    complaints = []
    error = ValueError("x")

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
        failed, cancelled = loop.create_future(), loop.create_future()
        recorder.watch(always(failed))()
        recorder.watch(always(cancelled))()
        failed.set_exception(error)
        cancelled.cancel()
        await asyncio.sleep(0)

    asyncio.run(main())
    recorder.asked.clear()  # what was asked for holds the tools, which hold the futures
    gc.collect()
    assert recorder.errors[0] is error
    assert isinstance(recorder.errors[1], asyncio.CancelledError)
    assert complaints == ["Future exception was never retrieved"]


def test_drift_in_a_future_is_not_raised_into_the_event_loop(caplog):
    """The loop would log it beside the repr of the result, which holds the response."""
    recorder = Recorder(drift=DriftError("tool"))

    async def main():
        promise = asyncio.get_running_loop().create_future()
        recorder.watch(always(promise))()
        promise.set_result("canary")
        await promise
        await asyncio.sleep(0)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    assert recorder.responses == ["canary"]
    assert "canary" not in caplog.text


def test_futures_of_threads_are_followed():
    """A tool may hand its work to a pool; the future is told when it is done, wherever that is."""
    recorder = Recorder()
    promise = concurrent.futures.Future()
    assert recorder.watch(always(promise))() is promise
    assert recorder.told == []
    promise.set_result({"a": 1})
    assert recorder.responses == [{"a": 1}]
    failed = concurrent.futures.Future()
    recorder.watch(always(failed))()
    failed.set_exception(error := ValueError("x"))
    assert recorder.errors == [error]
    nested = concurrent.futures.Future()
    nested.set_result(promise)
    recorder.watch(always(nested))()
    assert len(recorder.told) == 2


def test_an_awaitable_of_a_library_stays_usable():
    """Its methods and type stay; the first await tells, a second one does not tell again."""
    recorder = Recorder()
    later = Later({"a": 1})

    async def main():
        promise = recorder.watch(always(later))()
        assert isinstance(promise, Later)
        assert inspect.isawaitable(promise)
        assert promise.cancel() == "cancelled"
        assert promise.value is later.value
        assert recorder.told == []
        assert await promise is later.value
        assert await promise is later.value

    asyncio.run(main())
    assert recorder.responses == [{"a": 1}]


def test_copies_of_an_awaitable_are_the_librarys():
    """A distributed future travels by pickle; the watcher stays where it is."""
    promise = Recorder().watch(always(Later(3)))()
    for copied in (copy.copy(promise), copy.deepcopy(promise), pickle.loads(pickle.dumps(promise))):
        assert type(copied) is Later
        assert copied.value == 3


def test_a_coroutine_of_another_compiler_is_followed():
    """Compiled async functions return objects that are coroutines by their methods only; tasks use those directly."""

    class Compiled(collections.abc.Coroutine):
        def __init__(self):
            self.inner = watched_functions.awaited("Oslo")

        def send(self, value):
            return self.inner.send(value)

        def throw(self, *error):
            return self.inner.throw(*error)

        def close(self):
            return self.inner.close()

        def __await__(self):
            return self.inner.__await__()

    async def main():
        return await asyncio.create_task(recorder.watch(compiled)())

    def compiled():
        return Compiled()

    recorder = Recorder()
    assert asyncio.run(main()) is recorder.responses[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1, 2]),
        lambda: map(str, [1, 2]),
        lambda: zip([1], [2], strict=True),
        lambda: itertools.count(0),
        lambda: io.StringIO("a\nb\n"),
        lambda: io.BytesIO(b"ab"),
        lambda: reversed([1, 2]),
    ],
)
def test_iterators_that_are_no_generators_are_not_touched(make):
    """Reading a file or a network stream would take its content away from the caller."""
    recorder = Recorder()
    expected = next(make())
    result = recorder.watch(make)()
    assert result is recorder.responses[0]
    assert next(result) == expected


class Liar(type):
    def __getattr__(cls, name):
        return lambda self: iter([])


class Raiser(type):
    def __getattr__(cls, name):
        raise RuntimeError(name)


@pytest.mark.parametrize("kind", [Liar, Raiser])
def test_a_hostile_type_is_a_finished_response(kind):
    """What a class answers about itself may be anything, and must not fail the tool."""
    recorder = Recorder()
    response = kind("Response", (), {})()
    assert recorder.watch(always(response))() is response
    assert recorder.responses == [response]


def test_marked_functions_are_followed_by_value():
    """inspect.markcoroutinefunction makes a plain def look async; it still returns its coroutine at once."""

    def tool():
        return watched_functions.awaited("Oslo")

    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(tool)
    recorder = Recorder()
    watched = recorder.watch(tool)
    assert inspect.iscoroutinefunction(watched) == inspect.iscoroutinefunction(tool)
    assert asyncio.run(watched()) is recorder.responses[0]


def test_partials_of_coroutine_functions_are_followed():
    """A partial is called like a def and returns a coroutine."""
    recorder = Recorder()
    watched = recorder.watch(functools.partial(watched_functions.awaited, "Oslo"))
    assert asyncio.run(watched()) is recorder.responses[0]
