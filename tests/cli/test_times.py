from __future__ import annotations

from datetime import UTC, datetime, timedelta

from toolpulse.cli._kit.times import since


def test_since_understands_units_and_times():
    """Relative times count back from now; a time without a zone is UTC."""
    now = datetime(2024, 5, 5, 12, tzinfo=UTC)
    assert since("90m", now) == now - timedelta(minutes=90)
    assert since("24h", now) == now - timedelta(hours=24)
    assert since("7d", now) == now - timedelta(days=7)
    assert since("2w", now) == now - timedelta(weeks=2)
    assert since("2024-05-01") == datetime(2024, 5, 1, tzinfo=UTC)
    assert since("2024-05-01T12:00+02:00") == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert since("2024-05-01T12:00Z") == datetime(2024, 5, 1, 12, tzinfo=UTC)
