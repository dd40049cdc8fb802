"""Functions that watch: one factory per kind of function, and what follows a value that is still to come.

A watched function is a real function of the same kind, because frameworks ask ``inspect`` what a tool is. It runs with
the *tool's* globals, because frameworks resolve string annotations there and rebuild functions from ``__code__`` and
``__globals__``. A module may hold any name it likes, so each body below reads closure variables only, builtins too.

These bodies stand in the caller's way, outside of every guard. So of what a tool returns or raises they ask one thing,
its type, and of the type which one it is: by identity, or by ``issubclass`` of a builtin, which runs no code of either.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from toolpulse._base.classes import attribute, field
from toolpulse.decorator.probe import Call, Probe, Stream
from toolpulse.decorator.promises import first_step, future_of, is_awaitable, is_coroutine, when_done
from toolpulse.errors import DriftError

Factory: TypeAlias = Callable[[Call, Probe], Call]


def rebuild(function: types.FunctionType | types.MethodType, probe: Probe) -> types.FunctionType:
    """Return a function of ``function``'s kind and globals that calls it and tells ``probe``."""
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    assert isinstance(plain, types.FunctionType)
    watched = factory_for(plain)(function, probe)
    assert isinstance(watched, types.FunctionType)
    borrowed = types.FunctionType(watched.__code__, plain.__globals__, plain.__name__, None, watched.__closure__)
    functools.update_wrapper(borrowed, function)
    return borrowed


def factory_for(function: types.FunctionType) -> Factory:
    """Choose by the code, not by ``inspect``: a function marked as a coroutine function is still a plain ``def``."""
    flags = function.__code__.co_flags
    if flags & inspect.CO_COROUTINE:
        return watched_coroutine
    if flags & inspect.CO_ASYNC_GENERATOR:
        return watched_async_generator
    if flags & inspect.CO_ITERABLE_COROUTINE:
        return watched_iterable_coroutine
    return watched_generator if flags & inspect.CO_GENERATOR else watched_plain


def watched_plain(call: Call, probe: Probe) -> Call:
    """Watch a ``def``, or any callable object, and decide by the value what its response is."""
    returned, raised, follow, finished = probe.returned, probe.raised, followed, _FINISHED
    kind_of, id_of, mapping, anything = type, id, dict, BaseException

    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            response = call(*args, **kwargs)
        except anything as error:
            raised(error, args, kwargs)
            raise
        kind = kind_of(response)
        if kind is not mapping and id_of(kind) not in finished:
            return follow(response, probe, args, kwargs)
        returned(response, args, kwargs)
        return response

    return watched


def watched_coroutine(call: Call, probe: Probe) -> Call:
    """Watch an ``async def``, or whatever returns an awaitable."""
    returned, raised, follow, finished = probe.returned, probe.raised, followed, _FINISHED
    kind_of, id_of, mapping, anything = type, id, dict, BaseException

    async def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            response = await call(*args, **kwargs)
        except anything as error:
            raised(error, args, kwargs)
            raise
        kind = kind_of(response)
        if kind is not mapping and id_of(kind) not in finished:
            return follow(response, probe, args, kwargs)
        returned(response, args, kwargs)
        return response

    return watched


def watched_iterable_coroutine(call: Call, probe: Probe) -> Call:
    """Watch a generator that ``types.coroutine`` made awaitable: the response is what it returns, not its items."""
    raised, follow, anything = probe.raised, followed, BaseException

    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            response = yield from call(*args, **kwargs)
        except anything as error:
            raised(error, args, kwargs)
            raise
        return follow(response, probe, args, kwargs)

    return types.coroutine(watched)


def watched_generator(call: Call, probe: Probe) -> Call:
    """Watch a generator function.

    Not ``yield from``: that hides the items, and it turns a thrown GeneratorExit into ``close()``.
    """
    raised, open_stream, end, end_early = probe.raised, probe.stream, _end, _end_early
    anything, exiting, stopped, is_a, kind_of = BaseException, GeneratorExit, StopIteration, issubclass, type

    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            inner = call(*args, **kwargs)
        except anything as error:
            raised(error, args, kwargs)
            raise
        stream = open_stream(args, kwargs)
        # What was thrown is in no local while the tool handles it: its traceback holds this frame. And it is handed on
        # outside the handler, or else what the tool raises meanwhile would get it as __context__.
        sent = result = None
        thrown: list[BaseException] = []
        closing = False
        while True:
            try:
                item = inner.throw(thrown.pop()) if thrown else inner.send(sent)
            except stopped as stop:
                result = stop.value
                break
            except anything as error:
                end_early(stream, error)
                raise
            stream.item(item)
            closing = False
            try:
                sent = yield item
            except anything as error:
                thrown.append(error)
                closing = is_a(kind_of(error), exiting)
        end(stream, closing)
        return result

    return watched


def watched_async_generator(call: Call, probe: Probe) -> Call:
    """Watch an async generator function; see ``watched_generator``."""
    raised, open_stream, end, end_early = probe.raised, probe.stream, _end, _end_early
    anything, exiting, stopped, is_a, kind_of = BaseException, GeneratorExit, StopAsyncIteration, issubclass, type
    unannounced = first_step

    async def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            inner = call(*args, **kwargs)
        except anything as error:
            raised(error, args, kwargs)
            raise
        stream, step = open_stream(args, kwargs), unannounced(inner)
        sent = None
        thrown: list[BaseException] = []
        closing = False
        try:
            while True:
                try:
                    item = await (inner.athrow(thrown.pop()) if thrown else step(sent))
                except stopped:
                    break
                except anything as error:
                    end_early(stream, error)
                    raise
                stream.item(item)
                step, closing = inner.asend, False
                try:
                    sent = yield item
                except anything as error:
                    thrown.append(error)
                    closing = is_a(kind_of(error), exiting)
        finally:
            await inner.aclose()
        end(stream, closing)

    return watched


def followed(response: Any, probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tell ``probe`` a finished response, or return what tells it once a promised one is there.

    Coroutines, generators and async generators come back as real ones around the same object, futures and finished
    responses as themselves, other awaitables behind a proxy. Iterators of other kinds are finished responses: looking
    at their items would consume them. So is an awaitable that cannot be followed without running its class's own code
    at each look, or that fails when it is looked at.
    """
    kind = type(response)
    if kind is types.GeneratorType:
        iterable = response.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE
        return _around(response, watched_iterable_coroutine if iterable else watched_generator, probe, args, kwargs)
    if kind is types.AsyncGeneratorType:
        return _around(response, watched_async_generator, probe, args, kwargs)
    if (base := future_of(kind)) is not None:
        when_done(response, base, probe, args, kwargs)
        return response
    promise = _promise(response, kind, probe, args, kwargs) if is_awaitable(kind) else None
    if promise is None:
        probe.returned(response, args, kwargs)
        return response
    return promise


_FINISHED = frozenset(map(id, (dict, list, str, int, float, bool, type(None), tuple, bytes, set)))
"""The commonest types of which nothing is to be followed: a shortcut. By their ids: a set asks what it holds for its
hash, and a type's is its metaclass's to tell."""


def _promise(response: Any, kind: type, probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What stands for an awaitable and tells its end; None where it cannot be made."""
    from toolpulse.decorator.proxies import AwaitableProxy

    try:
        if is_coroutine(kind):
            outer = _around(response, watched_coroutine, probe, args, kwargs)
            # A coroutine that is dropped unawaited warns once, as it would unwatched.
            weakref.finalize(outer, attribute(kind, "close"), response).atexit = False
            return outer
        return AwaitableProxy(response, lambda: watched_coroutine(lambda *_, **__: response, probe)(*args, **kwargs))
    except Exception:  # noqa: BLE001 - the awaitable's own code; it is a finished response then
        return None


def _around(inner: Any, factory: Factory, probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    outer = factory(lambda *_, **__: inner, probe)(*args, **kwargs)
    for key in ("__name__", "__qualname__"):
        if type(name := field(inner, key)) is str:
            setattr(outer, key, name)
    return outer


def _end(stream: Stream, closing: bool) -> None:
    if closing:
        _end_early(stream, GeneratorExit())
    else:
        stream.end("complete")


def _end_early(stream: Stream, error: BaseException) -> None:
    with suppress(DriftError):
        if issubclass(type(error), GeneratorExit):
            stream.end("closed")
        else:
            stream.end("raised", error)
