from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import operator
import pickle
import typing
import unittest.mock

import pytest
import watched_functions
import watched_future
import wrapt
from probes import Recorder
from watch_questions import MODULES, QUESTIONS, outcome

OBJECTS = {
    "callable object": lambda m: m.CallableTool(),
    "async callable object": lambda m: m.AsyncCallableTool(),
    "generator callable object": lambda m: m.GeneratorTool(),
    "partial": lambda m: functools.partial(m.plain, days=3),
    "partial of coroutine": lambda m: functools.partial(m.awaited, days=3),
    "partial of generator": lambda m: functools.partial(m.items, days=3),
    "partial of async generator": lambda m: functools.partial(m.async_items, days=3),
    "partial of method": lambda m: functools.partial(m.Child().method, days=3),
    "lru_cache": lambda m: m.cached,
    "builtin": lambda m: len,
    "builtin method": lambda m: {"Oslo": 1}.get,
    "method descriptor": lambda m: str.upper,
    "operator": lambda m: operator.itemgetter(0),
    "wrapt": lambda m: wrapt.FunctionWrapper(m.plain, lambda wrapped, _, args, kwargs: wrapped(*args, **kwargs)),
    "mock": lambda m: unittest.mock.Mock(return_value=3),
    "async mock": lambda m: unittest.mock.AsyncMock(return_value=3),
}
ALL = pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)


def hints(tool):
    """Its type hints, or what asking for them raises."""
    try:
        return typing.get_type_hints(tool)
    except TypeError:
        return TypeError


def signature(tool):
    """Its signature, or what asking for it raises."""
    try:
        return inspect.signature(tool)
    except ValueError:
        return ValueError


@MODULES
@ALL
def test_a_watched_object_answers_every_question_as_before(module, make):
    """A callable object that suddenly counts as a routine, or no longer as async, is refused or called wrongly."""
    tool = make(module)
    watched = Recorder().watch(tool)
    assert [ask(watched) for ask in QUESTIONS] == [ask(tool) for ask in QUESTIONS]
    for ask in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        assert ask(watched.__call__) == ask(tool.__call__)
    assert signature(watched) == signature(tool)
    assert hints(watched) == hints(tool)
    assert isinstance(watched, tool.__class__)
    assert repr(watched) == repr(tool)
    assert hasattr(type(watched), "__get__") == hasattr(type(tool), "__get__")


@MODULES
@ALL
def test_each_call_of_an_object_is_seen_once(module, make):
    """Called directly or by its ``__call__``, as frameworks do either."""
    tool = make(module)
    recorder = Recorder()
    watched = recorder.watch(tool)
    expected = outcome(tool("Oslo"))
    for call in range(1, 3):
        assert outcome(watched("Oslo")) == expected
        assert len(recorder.told) == call
    assert outcome(watched.__call__("Oslo")) == expected
    assert len(recorder.told) == 3
    assert recorder.calls == [(("Oslo",), {})] * 3


@ALL
def test_the_signature_of_what_is_probed_fits_the_arguments(make):
    """Keys are computed from the arguments of a call, by their names."""
    recorder = Recorder()
    recorder.watch(make(watched_functions))
    ((function, _),) = recorder.asked
    if signature(function) is not ValueError:
        assert list(signature(function).bind("Oslo").args) == ["Oslo"]


@ALL
def test_a_proxy_is_equal_to_itself_only(make):
    """Caches of schemas are keyed by the callable: an equal proxy would be answered with the unwatched tool."""
    tool = make(watched_functions)
    watched = Recorder().watch(tool)
    cache = {tool: "plain"}
    assert watched not in cache
    assert watched == watched  # noqa: PLR0124
    assert (watched == tool, watched != tool) == (False, True)
    assert (copy.copy(watched), copy.deepcopy(watched)) == (watched, watched)


def test_proxies_are_pickled_by_name(monkeypatch):
    """In the other process the name leads to the tool that is watched there."""
    recorder = Recorder()
    for tool in (watched_functions.cached, watched_functions.CallableTool(), functools.partial(max, 1)):
        watched = recorder.watch(tool)
        name = "cached" if tool is watched_functions.cached else "here"
        monkeypatch.setattr(watched_future, name, watched, raising=False)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(watched, protocol)) is watched


def test_a_proxy_without_a_name_says_so():
    """A copy that is no longer watched would be a silent loss."""
    with pytest.raises(pickle.PicklingError, match="global variable"):
        pickle.dumps(Recorder().watch(functools.partial(max, 1)))


def test_attributes_of_cached_functions_stay():
    """cache_clear, cache_info and what else a callable carries are the tool's interface."""
    recorder = Recorder()
    tool = functools.lru_cache(lambda city: [city])
    watched = recorder.watch(tool)
    assert watched("Oslo") is watched("Oslo")
    assert watched.cache_info().hits == 1
    watched.cache_clear()
    assert watched.cache_info().currsize == 0
    assert len(recorder.told) == 2


def test_single_dispatch_keeps_its_registry():
    """Implementations are registered on the watched function as on the tool."""
    recorder = Recorder()
    tool = functools.singledispatch(lambda value: "other")
    watched = recorder.watch(tool)
    watched.register(bytes, lambda value: "bytes")
    assert [watched(b""), watched(1)] == recorder.responses == ["bytes", "other"]


def wrapt_decorator(wrapped):
    """A decorator of the kind that many libraries use."""
    return wrapt.FunctionWrapper(wrapped, lambda inner, instance, args, kwargs: (instance, inner(*args, **kwargs)))


@pytest.mark.parametrize("decorator", [functools.lru_cache, wrapt_decorator])
def test_other_decorators_of_methods_still_bind(decorator):
    """A cached method is an object that binds; it keeps its instance, which is told first."""
    recorder = Recorder()

    class Plain:
        @decorator
        def method(self, city):
            return city

    class Tool:
        method = recorder.watch(vars(Plain)["method"])

    tool = Tool()
    expected = "Oslo" if decorator is functools.lru_cache else (tool, "Oslo")
    assert tool.method("Oslo") == expected
    assert tool.method(city="Oslo") == expected
    assert Tool.method(tool, "Oslo") == expected
    assert recorder.calls == [((tool, "Oslo"), {}), ((tool,), {"city": "Oslo"}), ((tool, "Oslo"), {})]


class Unbound:
    """A callable that is the same wherever it is looked up, as builtins and some libraries' tools are."""

    def __get__(self, instance, owner=None):
        return self

    def __call__(self, city):
        """As it is."""
        return city


def test_what_binds_to_itself_is_itself_and_gets_no_instance():
    """Caches are keyed by the callable, and an argument that the tool never got would choose the wrong key."""
    recorder = Recorder()
    watched = recorder.watch(Unbound())

    class Tool:
        tool = watched

    tool = Tool()
    assert tool.tool is Tool.tool is watched
    assert tool.tool("Oslo") == Tool.tool("Oslo") == "Oslo"
    assert recorder.calls == [(("Oslo",), {})] * 2


# Versions that are about to make partials bind say so when one is looked up on an instance.
@pytest.mark.filterwarnings("ignore:functools.partial will be a method descriptor:FutureWarning")
def test_a_partial_in_a_class_binds_as_undecorated():
    """Not at all, for years; the proxy asks the partial instead of deciding."""

    class Tool:
        plain = functools.partial(lambda *args: args, 1)
        watched = Recorder().watch(plain)

    tool = Tool()
    assert tool.watched(2) == tool.plain(2)
    assert Tool.watched(2) == (1, 2)


def test_objects_are_not_asked_for_their_hash():
    """A tool may be unhashable, equal to everything, or do work when it is compared."""

    class Tool:
        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = None

        def __call__(self):
            return 1

    recorder = Recorder()
    assert recorder.watch(Tool())() == 1
    assert recorder.watch(functools.partial(Tool()))() == 1


def test_property_over_watch_works():
    """The order that the error asks for is a working one."""
    recorder = Recorder()

    class Tool:
        @property
        @recorder.watch
        def lazy(self):
            return [1]

        @functools.cached_property
        @recorder.watch
        def once(self):
            return [2]

    tool = Tool()
    assert [tool.lazy, tool.once, tool.once] == [[1], [2], [2]]
    assert recorder.responses == [[1], [2]]


def test_errors_of_objects_pass_as_they_are():
    """The same law as for functions."""
    recorder = Recorder()
    error = ValueError("x")
    with pytest.raises(ValueError, match="x") as caught:
        recorder.watch(functools.partial(watched_functions.failing, error))()
    assert caught.value is error
    assert error.__context__ is None
    with pytest.raises(ValueError, match="x"):
        asyncio.run(recorder.watch(unittest.mock.AsyncMock(side_effect=error))())
    assert recorder.errors == [error, error]
