from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse._base.times import iso_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_715_940_000.25, "2024-05-17T10:00:00.250Z"),
        (1.9999, "1970-01-01T00:00:01.999Z"),
        (-1, "1969-12-31T23:59:59.000Z"),
    ],
)
def test_times_by_example(seconds, text):
    """Logs of several machines are read together: UTC, one length, and Z in place of an offset."""
    assert iso_time(seconds) == text


@given(st.floats(0, 4_000_000_000))
def test_a_time_reads_back_to_the_millisecond(seconds):
    """What was written into an event is the time at which it was, and never later."""
    moment = datetime.fromisoformat(iso_time(seconds))
    assert moment.tzinfo == UTC
    assert -1e-6 < datetime.fromtimestamp(seconds, UTC).timestamp() - moment.timestamp() < 0.001
