"""Annotations of watched tools are the tool's own, and nobody evaluates them before they are asked for.

Since Python 3.14 (PEP 649 and 749) annotations are evaluated when they are asked for, so that they may name what is
imported for a type checker only.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing

import pytest
from probes import Recorder

pytestmark = [pytest.mark.attack, pytest.mark.quick]

LAZY = sys.version_info >= (3, 14)
"""Whether annotations that are not strings wait."""

SOURCE = """
import types
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from somewhere import Later

asked = []

def word(name):
    asked.append(name)
    return name

def plain(city: word("city"), later: Later = None) -> list[Later]:
    return []

async def awaited(later: Later) -> Later:
    return later

def items(later: Later) -> Iterator[Later]:
    yield later

async def async_items(later: Later) -> AsyncIterator[Later]:
    yield later

@types.coroutine
def iterable(later: Later) -> Later:
    yield
    return later

class Owner:
    def method(self, later: Later) -> Later:
        return later

    @classmethod
    def of_class(cls, later: Later) -> Later:
        return later

    @staticmethod
    def of_none(later: Later) -> Later:
        return later

    def __call__(self, later: Later) -> Later:
        return later
"""

TOOLS = ["plain", "awaited", "items", "async_items", "iterable", "method", "of_class", "of_none"]


def tools(strings):
    """A fresh module's names; with or without annotations that are strings."""
    head = "from __future__ import annotations\n" if strings else ""
    names = {"__name__": "tools_with_annotations"}
    exec(compile(head + SOURCE, "tools_with_annotations.py", "exec", dont_inherit=True), names)
    return names


STRINGS = pytest.mark.parametrize(
    "strings",
    [True, pytest.param(False, marks=pytest.mark.skipif(not LAZY, reason="evaluated at once before 3.14"))],
    ids=["strings", "types"],
)


def tool_of(names, name):
    """A function, or a method of an instance."""
    return names[name] if name in names else getattr(names["Owner"](), name)


@STRINGS
@pytest.mark.parametrize("name", TOOLS)
def test_watching_evaluates_no_annotation(name, strings):
    """A name that only a type checker imports would raise NameError as the module is imported."""
    names = tools(strings)
    Recorder().watch(tool_of(names, name))
    assert names["asked"] == []


@STRINGS
@pytest.mark.parametrize("name", TOOLS)
def test_what_is_imported_later_is_found_later(name, strings):
    """Frameworks ask once everything is there, and must get types, not what there was when the tool was watched."""
    names = tools(strings)
    tool = tool_of(names, name)
    watched = Recorder().watch(tool)
    with pytest.raises(NameError):
        typing.get_type_hints(watched)
    names["Later"] = int
    names["city"] = str
    assert typing.get_type_hints(watched) == typing.get_type_hints(tool)
    assert watched.__annotations__ == tool.__annotations__
    assert inspect.signature(watched) == inspect.signature(tool)


@STRINGS
def test_a_callable_object_keeps_its_annotations(strings):
    """What stands in for an object is asked for the signature of its call."""
    names = tools(strings)
    tool = names["Owner"]()
    watched = Recorder().watch(tool)
    names["Later"] = int
    assert inspect.signature(watched) == inspect.signature(tool)
    assert typing.get_type_hints(type(tool).__call__) == {"later": int, "return": int}


@pytest.mark.skipif(not LAZY, reason="there is no annotationlib before 3.14")
@STRINGS
@pytest.mark.parametrize("name", TOOLS)
def test_each_format_is_that_of_the_tool(name, strings):
    """Documentation asks for source text, and some frameworks for references that are still to be resolved."""
    import annotationlib

    names = tools(strings)
    tool = tool_of(names, name)
    watched = Recorder().watch(tool)
    for form in (annotationlib.Format.STRING, annotationlib.Format.FORWARDREF):
        found, expected = (repr(annotationlib.get_annotations(one, format=form)) for one in (watched, tool))
        assert "Later" in found
        assert _without_addresses(found) == _without_addresses(expected)
    if not strings:
        assert watched.__annotate__ is tool.__annotate__


def _without_addresses(text):
    """A reference that is still to be resolved names its owner, which is the watched function or the tool."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)
