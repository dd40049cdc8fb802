from __future__ import annotations

import asyncio
import logging

import pytest

from toolpulse._base.guard import Guard
from toolpulse.errors import StoreError

SECRET = "ann@example.com"


def fail(guard, place, error):
    """Swallow an error at a place."""
    with guard(place):
        raise error


@pytest.mark.swallows
def test_each_kind_is_counted_by_place_and_logged_once(caplog):
    """A tool that fails ten thousand times must not fill the log, and every failure counts."""
    guard = Guard()
    with caplog.at_level(logging.WARNING, "toolpulse"):
        for _ in range(3):
            fail(guard, "walking", ValueError(SECRET))
        fail(guard, "walking", KeyError(SECRET))
        fail(guard, "sending", ValueError(SECRET))
    assert guard.swallowed == {"sending: ValueError": 1, "walking: KeyError": 1, "walking: ValueError": 3}
    assert caplog.messages == [
        "toolpulse: ValueError while walking (counted from now on)",
        "toolpulse: KeyError while walking (counted from now on)",
        "toolpulse: ValueError while sending (counted from now on)",
    ]
    assert SECRET not in caplog.text


@pytest.mark.swallows
def test_what_a_store_says_is_logged_whole(caplog):
    """It is written by us and says what to do; of any other error only the type is known to hold no value."""
    with caplog.at_level(logging.WARNING, "toolpulse"):
        fail(Guard(), "flushing", StoreError("the disk is full"))
    (message,) = caplog.messages
    assert message.startswith("toolpulse: the disk is full (while flushing, counted from now on)")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_ends_a_program_passes(error):
    """Ctrl-C while observing is Ctrl-C."""
    guard = Guard()
    with pytest.raises(error):
        fail(guard, "walking", error())
    assert guard.swallowed == {}


@pytest.mark.swallows
def test_a_log_that_raises_disturbs_nobody(caplog):
    """A filter of the application may be broken; the error is counted all the same."""
    log, guard = logging.getLogger("toolpulse"), Guard()

    def broken(record):
        raise RuntimeError("a filter")

    log.addFilter(broken)
    try:
        fail(guard, "walking", ValueError())
    finally:
        log.removeFilter(broken)
    assert guard.swallowed == {"walking: ValueError": 1}


@pytest.mark.swallows
def test_a_child_counts_though_the_lock_was_held():
    """A fork while another thread counts leaves a lock that nobody releases."""
    guard = Guard()
    held = guard._lock
    guard.after_fork()
    assert guard._lock is not held
    fail(guard, "walking", ValueError())
    assert guard.swallowed == {"walking: ValueError": 1}
