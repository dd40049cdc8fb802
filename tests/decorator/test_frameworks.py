from __future__ import annotations

import copy

import fake_frameworks
import pytest
import watched_functions
from fake_frameworks import FRAMEWORKS, BaseTool, FrozenTool, SlottedTool, Stubborn, placed
from probes import Recorder
from watch_questions import outcome

from toolpulse.decorator import frameworks
from toolpulse.errors import DecorationError

ENTRANCES = ("invoke", "run_tool", "call", "run", "run_async", "run_json", "execute", "stream", "handle", "__call__")


def enter(tool, *args):
    """Take the way into the tool that its framework takes."""
    return next(getattr(tool, name) for name in ENTRANCES if name in vars(type(tool)))(*args)


def inner_of(module, name):
    """A function that the framework made around the user's, which is hidden in its closure."""
    function = watched_functions.closure_over("")
    function.__module__ = module
    function.__qualname__ = name
    return function


@pytest.mark.parametrize("make", FRAMEWORKS.values(), ids=FRAMEWORKS)
@pytest.mark.parametrize("name", ["plain", "awaited", "items"])
def test_a_tool_object_is_watched_inside(make, name):
    """A framework enters its object by a method that no wrapper around the object would see."""
    recorder = Recorder()
    function = getattr(watched_functions, name)
    tool = make(function)
    assert recorder.watch(tool) is tool
    for call in range(1, 3):
        assert outcome(enter(tool, "Oslo")) == outcome(function("Oslo"))
        assert len(recorder.told) == call
    assert {asked[1] for asked in recorder.asked} == {f"watched_functions.{name}"}


@pytest.mark.parametrize("make", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_a_tool_object_is_watched_once(make):
    """Twice decorated, or made of a function that was decorated before."""
    recorder = Recorder()
    tool = recorder.watch(recorder.watch(make(watched_functions.plain)))
    enter(tool, "Oslo")
    tool = recorder.watch(make(recorder.watch(watched_functions.plain)))
    enter(tool, "Oslo")
    assert len(recorder.told) == 2
    Recorder().watch(tool)
    enter(tool, "Oslo")
    assert len(recorder.told) == 3


def test_every_row_of_the_table_is_tested():
    """A new framework comes with a stand-in."""
    rows = {row: frameworks.framework_of(make(print)) for row, make in FRAMEWORKS.items()}
    assert sorted(rows.values()) == sorted(frameworks.FRAMEWORKS)


def test_both_ways_into_a_tool_have_one_name():
    """A synchronous and an asynchronous function are one tool, also where the framework derived one of them."""
    recorder = Recorder()
    derived = inner_of("llama_index.core.tools.function_tool", "sync_to_async.<locals>.wrapped")
    tool = FRAMEWORKS["llama-index"](watched_functions.plain)
    tool._async_fn = derived
    recorder.watch(tool)
    assert recorder.asked == [
        (watched_functions.plain, "watched_functions.plain"),
        (derived, "watched_functions.plain"),
    ]
    tool._fn("Oslo")
    tool._async_fn("Oslo")
    assert len(recorder.told) == 2


def test_a_tool_whose_function_is_hidden_is_named_after_the_object():
    """All of a framework's closures have one qualified name; their tools would be learned as one."""
    recorder = Recorder()
    hidden = inner_of("agents.tool", "function_tool.<locals>._on_invoke_tool")
    recorder.watch(FRAMEWORKS["openai"](hidden))
    assert [asked[1] for asked in recorder.asked] == ["weather"]


def test_subclasses_are_watched_by_the_methods_they_define():
    """A method that the framework defines ends in one of the user's, and would tell it twice."""
    recorder = Recorder()

    class Synchronous(BaseTool):
        def _run(self, city):
            return [city]

    class Both(Synchronous):
        def _arun(self, city):
            return [city, "later"]

    for kind, told in ((Synchronous, ["Oslo"]), (Both, ["Oslo", "later"])):
        tool = recorder.watch(kind())
        assert recorder.watch(tool) is tool
        recorder.told.clear()
        assert tool.invoke("Oslo") == ["Oslo"]
        assert tool.ainvoke("Oslo") == told
        assert recorder.responses == [["Oslo"], told]
        assert kind().invoke("Oslo") == ["Oslo"]
        assert len(recorder.told) == 2


def test_a_copy_of_a_watched_tool_is_watched():
    """Agents deep-copy their tools; the copy's method belongs to the copy."""
    recorder = Recorder()

    class Tool(BaseTool):
        def _run(self):
            return self

    tool = recorder.watch(Tool())
    copied = copy.deepcopy(tool)
    assert copied.invoke() is copied
    assert len(recorder.told) == 1


@pytest.mark.parametrize("make", [FrozenTool, SlottedTool])
def test_frozen_tools_are_watched_in_place(make):
    """The object that the agent holds already is the one that has to be watched."""
    recorder = Recorder()
    tool = make(watched_functions.plain)
    assert recorder.watch(tool) is tool
    (tool.handler if make is FrozenTool else tool.function)("Oslo")
    assert len(recorder.told) == 1


def test_a_tool_that_keeps_its_function_is_refused_whole():
    """Half watched is worse than refused: what was exchanged before is put back."""
    recorder = Recorder()
    tool = Stubborn(watched_functions.plain, watched_functions.awaited)
    with pytest.raises(
        DecorationError, match=r"Haystack.*'async_function'.*put the framework's decorator above @watch"
    ):
        recorder.watch(tool)
    assert tool.function is watched_functions.plain


def test_a_tool_that_forgets_is_refused():
    """Setting may succeed without effect; it is read back."""

    class Forgetful(fake_frameworks.Holder):
        __module__ = "agno.tools"
        entrypoint = property(lambda self: watched_functions.plain, lambda self, value: None)

    with pytest.raises(DecorationError, match=r"Agno.*'entrypoint'"):
        Recorder().watch(Forgetful())


@pytest.mark.parametrize(
    "tool",
    [
        FRAMEWORKS["agno"](None),
        FRAMEWORKS["langchain"](None),
        placed("langchain_core.tools.base", "Empty", (BaseTool,))(),
    ],
)
def test_a_tool_without_a_function_is_refused(tool):
    """There is nothing to watch yet, and the framework would not tell when there is."""
    with pytest.raises(DecorationError, match="holds no function"):
        Recorder().watch(tool)


@pytest.mark.parametrize("module", ["acme.agents", "langchain_community.tools", "agents_of_mine"])
@pytest.mark.parametrize("entrance", ["invoke", "arun", "run_json", "__call__ and run"])
def test_an_unknown_tool_object_is_refused(module, entrance):
    """A name, a description and an entrance are a tool; nobody knows what it calls inside."""
    body = {name: lambda self: 1 for name in entrance.split(" and ")}
    tool = placed(module, "Tool", (fake_frameworks.Holder,), **body)()
    with pytest.raises(DecorationError, match=f"{module}.Tool.*put the framework's decorator above @watch"):
        Recorder().watch(tool)


def test_a_callable_of_a_package_named_like_a_framework_is_watched():
    """``agents`` and ``mcp`` are names that people give their own packages."""
    recorder = Recorder()
    tool = placed("agents.mine", "Search", (), __call__=lambda self, city: [city])()
    assert recorder.watch(tool)("Oslo") == ["Oslo"]
    assert len(recorder.told) == 1
