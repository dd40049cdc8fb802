"""Times as text.

Pure: the time comes in as an argument.
"""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
