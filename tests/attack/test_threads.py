"""Threads that meet new shapes at the same moment, and forks among them."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter

import pytest

from toolpulse import shape_of
from toolpulse.testing import RecordingMonitor

pytestmark = pytest.mark.attack

THREADS = 16
CALLS = 50_000
"""Calls of each thread."""

SHAPES = [
    dict.fromkeys(names, 1)
    for size in range(1, 8)
    for names in itertools.combinations(["id", "name", "tags", "owner", "page", "kind", "note"], size)
]
"""127 shapes, fewer than a baseline keeps apart; each comes for the first time in all threads at once."""

FIRST_FOR = 250
"""Calls after which a thread comes to its next new shape."""


def response(number):
    """What a thread's call gives: the newest shape so far, and the older ones in turn."""
    newest = min(number // FIRST_FOR, len(SHAPES) - 1)
    return SHAPES[newest if number % 2 else number % (newest + 1)]


@pytest.fixture
def hurried():
    """Threads change places as often as the interpreter allows, so that they meet in the middle of things."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.timeout(300)
def test_sixteen_threads_with_new_shapes_are_counted_exactly(hurried):
    """Whatever two threads do to one counter, one table of shapes or one batch must not cost or add a call."""
    start = threading.Barrier(THREADS)
    errors = []
    with RecordingMonitor(background=True, flush_interval=0.001) as monitor:

        @monitor.watch(tool="t")
        def tool(number):
            return response(number)

        def work():
            start.wait()
            errors.extend(number for number in range(CALLS) if tool(number) is not response(number))

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert monitor.flush(60)
        health = monitor.health()
        assert (health.swallowed, health.waiting) == (0, 0)
        assert (health.tools["t"].calls, health.tools["t"].unjudged) == (THREADS * CALLS, 0)
        store = monitor._flusher.link.store
        known = store.load("t", "")
    counted = {
        row.shape.fingerprint: row.count for row in [*known.rows.values(), *(h.row for h in known.quarantined.values())]
    }
    each = Counter(shape_of(response(number)).fingerprint for number in range(CALLS))
    assert counted == {fingerprint: THREADS * count for fingerprint, count in each.items()}
