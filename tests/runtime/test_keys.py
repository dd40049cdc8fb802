from __future__ import annotations

import enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Monitor, fingerprint
from toolpulse.errors import ConfigurationError
from toolpulse.events import decode, encode
from toolpulse.runtime import channels
from toolpulse.runtime.keys import MOST_KEYS, OTHER_KEY, OTHER_TOOLS, as_text
from toolpulse.runtime.observer import NO_KEY
from toolpulse.testing import RecordingMonitor


def _keys(monitor):
    return [key for _, key in monitor._channels]


def _watched(key, function):
    monitor = RecordingMonitor()
    return monitor, monitor.watch(tool="t", key=key)(function)


@pytest.mark.parametrize(
    "call",
    [
        lambda tool: tool(1, "issues"),
        lambda tool: tool(1, kind="issues"),
        lambda tool: tool(kind="issues", n=1),
    ],
    ids=["by place", "by name", "all by name"],
)
def test_an_argument_names_the_variant_however_it_is_passed(call):
    """The same call must land in the same baseline."""
    monitor, tool = _watched("kind", lambda n, kind: n)
    call(tool)
    assert _keys(monitor) == ["issues"]


def test_a_default_names_the_variant():
    """Leaving an argument out is a way to pass it."""

    def search(n, kind="pulls"):
        return n

    monitor, tool = _watched("kind", search)
    tool(1)
    tool(1, "pulls")
    assert _keys(monitor) == ["pulls"]


def test_an_argument_among_the_others():
    """A tool that takes any argument has those, too."""
    monitor, tool = _watched("kind", lambda **arguments: 1)
    tool(kind="a")
    tool()
    assert _keys(monitor) == ["a", "None"]


def test_a_method_s_argument():
    """The instance is no argument of the call."""
    with RecordingMonitor() as monitor:

        class Client:
            @monitor.watch(tool="t", key="kind")
            def get(self, kind):
                return kind

        Client().get("x")
        assert _keys(monitor) == ["x"]


def test_a_callable_makes_the_key_of_the_arguments():
    """Where no one argument tells, two together may."""
    monitor, tool = _watched(lambda owner, repo: f"{owner}/{repo}", lambda owner, repo: 1)
    tool("a", repo="b")
    assert _keys(monitor) == ["a/b"]


@pytest.mark.parametrize("key", ["knd", "", 5])
def test_a_key_that_cannot_be_is_refused_at_decoration(key):
    """A misspelled argument would put all variants into one baseline."""
    with RecordingMonitor() as monitor, pytest.raises(ConfigurationError, match="key"):
        monitor.watch(key=key)(lambda kind: 1)


@pytest.mark.swallows
def test_a_key_that_cannot_be_told_does_not_fail_the_call():
    """An error in the key function, or arguments the tool itself refuses, are no reason to disturb."""
    monitor, tool = _watched(lambda kind: 1 / 0, lambda kind: kind)
    assert tool("x") == "x"
    monitor, tool = _watched("kind", lambda kind: kind)
    with pytest.raises(TypeError):
        tool("x", "y")
    assert monitor.health().tools["t"].errors == 1
    assert _keys(monitor) == [NO_KEY]


def test_keys_are_bounded_and_the_rest_share_one():
    """A key that turns out to be a user's id must not make a baseline for each user."""
    with RecordingMonitor() as monitor:
        for n in range(200):
            monitor.observe("t", n, key=f"user {n}")
        for n in range(200):
            monitor.observe("t", n, key=f"user {n}")
        assert monitor.health().tools["t"].keys == MOST_KEYS + 1
        assert monitor.health().tools["t"].calls == 400
        assert monitor._channels["t", OTHER_KEY].calls == 2 * (200 - MOST_KEYS)
        monitor.observe("u", 1, key="user 1")
        assert monitor.health().tools["u"].keys == 1


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Hostile(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError

    def __len__(self):
        raise RuntimeError


class HostileNumber(int):
    def __repr__(self):
        raise RuntimeError

    __str__ = __format__ = __repr__


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("issues", "issues"),
        ("", ""),
        (None, "None"),
        (True, "True"),
        (12, "12"),
        (1.5, "float"),
        (["secret"], "list"),
        ({"secret": 1}, "dict"),
        (b"secret", "bytes"),
        (Colour.RED, "red"),
        (Colour.ONE, "1"),
    ],
)
def test_a_key_is_text_and_of_an_object_the_type_only(value, text):
    """Keys are stored, so they may be names and numbers and nothing that somebody wrote."""
    assert as_text(value) == text


def test_a_hostile_string_is_read_as_the_string_it_is():
    """Its own methods may do anything."""
    assert as_text(Hostile("abc")) == "abc"
    assert as_text(HostileNumber(7)) == "7"


@given(st.text() | st.integers() | st.integers(10**5000, 10**5001))
def test_a_key_is_short_and_fit_for_an_event(value):
    """A key of any length or of odd characters must not fail the sink that writes it."""
    text = as_text(value)
    assert len(text) <= 71
    with RecordingMonitor() as monitor:
        for _ in range(10):
            monitor.observe("t", 1, key=value)
        (event,) = monitor.events
        assert decode(encode(event)) == event
        assert event.key == text


def test_long_keys_stay_apart():
    """Two long keys are two variants."""
    one, two = as_text("x" * 100), as_text("x" * 101)
    assert one != two
    assert one.startswith("sha256:")
    assert "x" * 10 not in one
    assert fingerprint("x") not in one


def test_tools_of_one_monitor_are_bounded_and_told_of_once(monkeypatch, caplog):
    """Whoever makes up tool names must not fill the memory; what is beyond the bound is counted all the same."""
    monkeypatch.setattr(channels, "MOST_CHANNELS", 5)
    with Monitor("memory:", sinks=[], background=False) as monitor:
        for number in range(20):
            monitor.observe(f"tool {number}", {"a": 1})
            monitor.observe(f"tool {number}", {"a": 1}, key=f"k{number}")
        monitor.recorder.record_error(monitor.recorder.channel("one more", "", monitor._defaults), "LookupError")
        health = monitor.health()
        assert len(monitor._channels) == 5
        assert len(monitor._flusher.channels._keys) <= 5
        others = health.tools[OTHER_TOOLS]
        assert (others.calls, others.errors, others.unjudged) == (36, 1, 35)
        assert sum(tool.calls for tool in health.tools.values()) == 41
        assert health.waiting == 0
        assert not any(tool == OTHER_TOOLS for tool, _ in monitor._flusher.link.store.tools())
    assert [record.message for record in caplog.records if "more than 5 tools" in record.message] == [
        "toolpulse: more than 5 tools and keys; calls of further ones are counted as (other tools), and not judged"
    ]
