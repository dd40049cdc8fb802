from __future__ import annotations

import functools
import math
import types

import pytest
import watched_functions
from probes import Recorder

from toolpulse.errors import DecorationError


def test_double_decoration_records_once():
    """A tool that two agents share is decorated twice."""
    recorder, other = Recorder(), Recorder()
    once = recorder.watch(watched_functions.plain)
    assert recorder.watch(once) is once
    both = other.watch(once)
    assert both is not once
    assert recorder.watch(both) is both
    assert other.watch(both) is both
    both("Oslo")
    assert len(recorder.told) == len(other.told) == 1


def test_the_mark_is_on_neither_function():
    """A mark in ``__dict__`` would be copied by ``functools.wraps`` to functions that are not watched."""
    recorder = Recorder()
    watched = recorder.watch(watched_functions.plain)

    @functools.wraps(watched)
    def outer(*args, **kwargs):
        return [watched(*args, **kwargs)]

    assert vars(watched_functions.plain) == {}
    assert recorder.watch(watched_functions.plain) is not watched_functions.plain
    assert recorder.watch(outer) is not outer
    recorder.watch(outer)("Oslo")
    assert [type(response) for response in recorder.responses] == [watched_functions.Forecast, list]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (watched_functions.CallableTool(), "watched_functions.CallableTool"),
        (functools.partial(functools.partial(watched_functions.plain, 1), 2), "watched_functions.plain"),
        (watched_functions.cached, "watched_functions.cached"),
        (watched_functions.Child().async_method, "watched_functions.Base.async_method"),
        (functools.partial(watched_functions.Child.of_class), "watched_functions.Base.of_class"),
        (staticmethod(watched_functions.plain), "watched_functions.plain"),
        (math.sqrt, "math.sqrt"),
        ({}.get, "dict.get"),
    ],
)
def test_tools_are_named_after_the_innermost_function(tool, name):
    """The name is the key of everything that is learned, so that it must not depend on how a tool is wrapped."""
    recorder = Recorder()
    recorder.watch(tool)
    assert [asked[1] for asked in recorder.asked] == [name]


def test_what_is_watched_inside_is_not_watched_again():
    """A partial of a watched tool, an object whose method is watched: each call is told already."""
    recorder = Recorder()

    class Tool:
        @recorder.watch
        def __call__(self):
            return 1

    watched = recorder.watch(watched_functions.plain)
    cached = recorder.watch(watched_functions.cached)
    for tool in (Tool(), functools.partial(watched, "Oslo"), functools.partial(functools.partial(cached)), cached):
        assert recorder.watch(tool) is tool
        assert Recorder().watch(tool) is not tool
    method = staticmethod(watched)
    assert recorder.watch(method) is method


class Refused:
    @property
    def lazy(self):
        """Not callable, so not watchable."""
        return 1

    cached = functools.cached_property(lambda self: 1)
    partial = functools.partialmethod(lambda self: 1)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("search", r"watch\(tool=\.\.\.\)"),
        (vars(Refused)["lazy"], "put @property above @watch"),
        (vars(Refused)["cached"], "put @cached_property above @watch"),
        (vars(Refused)["partial"], "not a partialmethod"),
        (classmethod(vars(Refused)["lazy"]), "put @property above @watch"),
        (Refused, "class Refused.*watch a method of it"),
        (None, "not a NoneType"),
        (3, "not a int"),
        ({"name": "search"}, "not a dict"),
        (types.SimpleNamespace(name="a", description="b", invoke=print), "looks like a tool object"),
    ],
)
def test_what_cannot_be_watched_is_refused(target, words):
    """At decoration, as a TypeError that says what to write; never accepted and then unseen."""
    recorder = Recorder()
    with pytest.raises(DecorationError, match=words):
        recorder.watch(target)
    with pytest.raises(TypeError):
        recorder.watch(target)
    assert recorder.asked == []
