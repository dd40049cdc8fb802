from __future__ import annotations

import asyncio
import copy
import dis
import doctest
import inspect
import pickle
import sys
import threading
import traceback
import types
import typing

import pytest
import watched_functions
from probes import Recorder
from watch_questions import MODULES, QUESTIONS, outcome

from toolpulse.decorator import functions
from toolpulse.errors import DriftError

FUNCTIONS = (
    "plain awaited items async_items promised handed_items handed_async_items iterable countdown dispatched"
).split()
EXACT_NAMES = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def arguments(name):
    """The arguments that the tool of that name takes."""
    return (3,) if name in {"countdown", "dispatched"} else ("Oslo",)


@MODULES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_watched_function_answers_every_question_as_before(module, name):
    """Frameworks build schemas and choose how to call from these answers."""
    tool = getattr(module, name)
    watched = Recorder().watch(tool)
    assert watched is not tool
    assert type(watched) is types.FunctionType
    assert [ask(watched) for ask in QUESTIONS] == [ask(tool) for ask in QUESTIONS]
    assert inspect.signature(watched) == inspect.signature(tool)
    assert typing.get_type_hints(watched, include_extras=True) == typing.get_type_hints(tool, include_extras=True)
    if name != "dispatched":  # its registry is no hint
        evaluated = inspect.signature(watched, eval_str=True)
        assert evaluated == inspect.signature(tool, eval_str=True)
    assert [getattr(watched, key) for key in EXACT_NAMES] == [getattr(tool, key) for key in EXACT_NAMES]
    assert watched.__globals__ is tool.__globals__
    assert watched.__wrapped__ is tool
    assert vars(watched) == {**vars(tool), "__wrapped__": tool}


@MODULES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_call_is_seen_once_and_gives_the_same(module, name):
    """Same schema and same result are not enough: a bypassed watcher looks the same, so the calls are counted."""
    tool = getattr(module, name)
    recorder = Recorder()
    watched = recorder.watch(tool)
    expected = outcome(tool(*arguments(name)))
    for call in range(1, 4):
        assert outcome(watched(*arguments(name))) == expected
        assert len(recorder.told) == call
    assert recorder.asked == [(tool, f"{module.__name__}.{name}")]
    assert recorder.calls == [(arguments(name), {})] * 3
    assert not any(inspect.isawaitable(r) or inspect.isgenerator(r) for r in recorder.responses)


@MODULES
def test_the_response_is_the_same_object(module):
    """A copy would break identity, and anything that holds a connection."""
    recorder = Recorder()
    response = recorder.watch(module.plain)("Oslo", 1, unit="F", extra=3)
    later = asyncio.run(recorder.watch(module.awaited)("Oslo"))
    followed = outcome(recorder.watch(module.promised)("Oslo"))
    assert response is recorder.responses[0]
    assert later is recorder.responses[1]
    assert followed == vars(recorder.responses[2])
    assert recorder.calls[0] == (("Oslo", 1), {"unit": "F", "extra": 3})


@MODULES
def test_generator_objects_carry_the_names_of_the_tools_own(module):
    """Frameworks that show an uniterated generator to a model show its repr."""
    for name in ["items", "async_items", "awaited", "handed_items", "handed_async_items", "promised"]:
        made, plain = Recorder().watch(getattr(module, name))("Oslo"), getattr(module, name)("Oslo")
        assert (type(made), made.__name__, made.__qualname__) == (type(plain), plain.__name__, plain.__qualname__)
        for unused in (made, plain):
            if inspect.iscoroutine(unused):
                unused.close()


@MODULES
def test_pickling_and_copying_by_name(module, monkeypatch):
    """Process pools pickle a tool by its name, and agents deep-copy their tools."""
    watched = Recorder().watch(module.plain)
    monkeypatch.setattr(module, "plain", watched)
    assert pickle.loads(pickle.dumps(watched)) is watched
    assert copy.copy(watched) is watched
    assert copy.deepcopy({"tool": watched})["tool"] is watched


def test_no_watching_body_reads_a_global():
    """It runs with the tool's globals, where any name may mean anything."""
    factories = [value for name, value in vars(functions).items() if name.startswith("watched_")]
    assert len(factories) == 5
    for factory in factories:
        body = next(c for c in factory.__code__.co_consts if isinstance(c, types.CodeType) and c.co_name == "watched")
        assert [i.argval for i in dis.get_instructions(body) if "GLOBAL" in i.opname or i.opname == "LOAD_NAME"] == []


def test_builtins_of_the_tools_module_may_be_gone():
    """A sandbox can leave a function no builtins at all, and watching it needs none of them."""
    recorder = Recorder()
    for source in ["def tool(): return 1 / 0", "async def tool(): return 1 / 0", "def tool():\n yield 1\n 1 / 0"]:
        namespace = {"__builtins__": {}}
        exec(source, namespace)
        with pytest.raises(ZeroDivisionError):
            outcome(recorder.watch(namespace["tool"])())
    assert len(recorder.told) == 3


def driven(result):
    """Step through a coroutine, if it is one, as a loop would that catches nothing."""
    while inspect.iscoroutine(result):
        result.send(None)


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), GeneratorExit()]
)
@pytest.mark.parametrize("name", ["failing", "failing_later"])
@MODULES
def test_exceptions_pass_as_they_are(module, name, error):
    """The same object, without a new context or cause, and with the tool's own frames in its traceback."""
    recorder = Recorder()
    watched = recorder.watch(getattr(module, name))
    error = type(error)(*error.args)
    with pytest.raises(type(error)) as caught:
        driven(watched(error))
    assert caught.value is error
    assert (error.__context__, error.__cause__, error.__suppress_context__) == (None, None, False)
    assert name in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert recorder.errors == [error]
    assert recorder.responses == []


def test_a_cancelled_call_is_told_and_stays_cancelled():
    """Cancellation belongs to whoever cancelled."""
    recorder = Recorder()

    @recorder.watch
    async def forever():
        await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert [type(error) for error in recorder.errors] == [asyncio.CancelledError]


def test_wrong_arguments_raise_what_the_tool_raises():
    """The wrapper takes anything; what the tool does not take is the tool's to say."""
    recorder = Recorder()
    with pytest.raises(TypeError, match=r"plain\(\) missing 1 required positional argument: 'city'"):
        recorder.watch(watched_functions.plain)()
    assert len(recorder.errors) == 1


def test_parameters_may_have_any_name():
    """Nothing that is passed through collides with a parameter of the wrapper."""

    def tool(self, args, kwargs, /, call, *, probe, error):
        return [self, args, kwargs, call, probe, error]

    assert Recorder().watch(tool)(1, 2, 3, call=4, probe=5, error=6) == [1, 2, 3, 4, 5, 6]


def test_a_function_rebuilt_from_its_code_is_still_seen():
    """Some frameworks rewrite annotations on a clone made of code, globals and closure."""
    recorder = Recorder()
    watched = recorder.watch(watched_functions.plain)
    clone = types.FunctionType(watched.__code__, watched.__globals__, "clone", None, watched.__closure__)
    clone("Oslo")
    assert len(recorder.told) == 1


def test_recursion_tells_every_level(monkeypatch):
    """A recursive tool calls itself by its global name, which is the watched one."""
    recorder = Recorder()
    monkeypatch.setattr(watched_functions, "countdown", recorder.watch(watched_functions.countdown))
    assert watched_functions.countdown(3) == [3, 2, 1, 0]
    assert recorder.responses == [[0], [1, 0], [2, 1, 0], [3, 2, 1, 0]]


def test_closures_keep_what_they_close_over():
    """The wrapper's cells and the tool's are different ones."""
    recorder = Recorder()
    tools = [recorder.watch(watched_functions.closure_over(prefix)) for prefix in "ab"]
    assert [tool("x").city for tool in tools] == ["ax", "bx"]
    assert {name for _, name in recorder.asked} == {"watched_functions.closure_over.<locals>.inner"}


def test_doctests_of_a_watched_tool_still_run(monkeypatch):
    """Documentation is part of a tool; doctest looks for it by module and name."""
    monkeypatch.setattr(watched_functions, "plain", Recorder().watch(watched_functions.plain))
    results = doctest.testmod(watched_functions)
    assert (results.failed, results.attempted) == (0, 1)


def test_drift_reaches_the_caller_after_the_tool_returned():
    """``on_drift="raise"`` is the one error of the observer that the caller asked for."""
    recorder = Recorder(drift=DriftError("tool"))
    with pytest.raises(DriftError):
        recorder.watch(watched_functions.plain)("Oslo")
    with pytest.raises(DriftError):
        asyncio.run(recorder.watch(watched_functions.awaited)("Oslo"))
    assert [forecast.city for forecast in recorder.responses] == ["Oslo", "Oslo"]
    assert recorder.errors == []


def test_threads_share_a_watched_function():
    """The wrapper holds no state of a call outside the call."""
    recorder = Recorder()
    watched = recorder.watch(watched_functions.plain)
    threads = [threading.Thread(target=lambda: [watched("Oslo") for _ in range(200)]) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(recorder.told) == 1600


METHODS = ("method", "async_method", "method_items", "of_class", "of_none")


@MODULES
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("on_class", [True, False], ids=["class", "instance"])
def test_methods_in_a_class_body_stay_what_they_are(module, name, on_class):
    """classmethod and staticmethod objects are unwrapped and wrapped again in their own type."""
    recorder = Recorder()
    raw = vars(module.Base)[name]
    Tool = type("Tool", (module.Base,), {name: recorder.watch(raw)})
    Plain = type("Tool", (module.Base,), {name: raw})
    assert type(vars(Tool)[name]) is type(raw)
    holders = [Tool, Plain] if on_class else [Tool(), Plain()]
    watched, plain = (getattr(holder, name) for holder in holders)
    assert [ask(watched) for ask in QUESTIONS] == [ask(plain) for ask in QUESTIONS]
    assert inspect.signature(watched) == inspect.signature(plain)
    assert typing.get_type_hints(watched) == typing.get_type_hints(plain)
    arguments = (
        [(holders[0], "Oslo"), (holders[1], "Oslo")] if on_class and not name.startswith("of_") else [("Oslo",)] * 2
    )
    assert outcome(watched(*arguments[0])) == outcome(plain(*arguments[1]))
    assert len(recorder.told) == 1


def test_classmethod_may_stand_above_or_below():
    """Both orders are written, and both tell the class as the first argument."""
    recorder = Recorder()

    class Tool:
        @classmethod
        @recorder.watch
        def above(cls):
            return cls

        @recorder.watch
        @classmethod
        def below(cls):
            return cls

    class Derived(Tool):
        pass

    assert [Derived.above(), Derived().above(), Derived.below(), Derived().below()] == [Derived] * 4
    assert recorder.calls == [((Derived,), {})] * 4


def test_overrides_and_super_reach_the_watched_methods():
    """A watched override that calls a watched base method tells both."""
    recorder = Recorder()

    class Base:
        @recorder.watch
        def method(self, city):
            return [city]

    class Child(Base):
        @recorder.watch
        def method(self, city):
            return [*super().method(city), __class__.__name__]

    child = Child()
    assert child.method("Oslo") == ["Oslo", "Child"]
    assert recorder.responses == [["Oslo"], ["Oslo", "Child"]]
    assert recorder.calls == [((child, "Oslo"), {})] * 2


def test_abstract_methods_stay_abstract():
    """Watching a method of an interface must not make its class instantiable."""
    import abc

    class Tool(abc.ABC):
        @Recorder().watch
        @abc.abstractmethod
        def method(self):
            pass

    with pytest.raises(TypeError, match="abstract"):
        Tool()


@MODULES
@pytest.mark.parametrize("name", METHODS)
def test_bound_methods_of_live_objects(module, name):
    """A client that exists already is watched by its bound method; nothing is written to the object."""
    recorder = Recorder()
    tool = module.Child()
    plain = getattr(tool, name)
    watched = recorder.watch(plain)
    assert [ask(watched) for ask in QUESTIONS] == [ask(plain) for ask in QUESTIONS]
    assert inspect.signature(watched) == inspect.signature(plain)
    assert outcome(watched("Oslo")) == outcome(plain("Oslo"))
    assert len(recorder.told) == 1
    assert vars(tool) == {}
    assert recorder.watch(watched) is watched
    assert outcome(copy.deepcopy([watched])[0]("Oslo")) == outcome(plain("Oslo"))
    assert len(recorder.told) == 2
