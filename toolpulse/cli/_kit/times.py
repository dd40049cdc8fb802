"""Times as people type them and as they read them."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str) -> datetime:
    """A time written as ISO 8601, in UTC; one without a zone is in UTC already. Raises ValueError or OverflowError."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def since(text: str, now: datetime | None = None) -> datetime:
    """An argument's type: ``30m``, ``24h``, ``7d`` or ``2w`` before now, or a time as ``moment`` takes it; in UTC.

    Raises argparse.ArgumentTypeError.
    """
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", text)
    try:
        if match:
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[match[2]]: int(match[1])})
        return moment(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is neither like 30m, 24h, 7d, 2w nor an ISO 8601 time") from None


def clock(time: datetime) -> str:
    """A time in the zone of this machine, to the minute: ``14:02``, with its day where that is not today."""
    try:
        local = time.astimezone()
    except (OverflowError, ValueError, OSError):  # the first or last hours of the calendar
        local = time
    day, minute = local.isoformat(" ", "minutes")[:16].split()
    return minute if local.date() == datetime.now().astimezone().date() else f"{day} {minute}"
