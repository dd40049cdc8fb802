"""What commands find out about a store: figures of each tool, and the result of an examination. Values only."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from toolpulse._base.times import iso_time
from toolpulse.judgement.rules import Risk
from toolpulse.stores.sql.outbox import Outbox


class ToolStatus(NamedTuple):
    """What is known of one tool and key, in figures."""

    tool: str
    key: str
    state: str
    """``learning`` during the warm-up, ``watching`` after it."""
    calls: int
    errors: int
    observations: int
    learned: int
    """Distinct shapes that were learned."""
    quarantined: int
    """Distinct shapes that wait for a decision."""
    last_24h: int
    """Observations of the last 24 hours, the current hour included."""
    incidents: int
    """Open ones."""
    risk: Risk | None
    """The worst risk of the open incidents."""
    first: datetime
    last: datetime

    def plain(self) -> dict[str, Any]:
        """The same as plain data; times as ISO 8601 in UTC, to the millisecond."""
        times = {"first": iso_time(self.first.timestamp()), "last": iso_time(self.last.timestamp())}
        return {**self._asdict(), **times}


class Problem(NamedTuple):
    """Something that is wrong with a store."""

    what: str
    advice: str
    """What to do about it."""


class Checkup(NamedTuple):
    """The result of examining a store."""

    where: str
    """Its URL, without a password."""
    engine: str
    version: str
    """The version of the engine."""
    schema: int
    """The version of the tables."""
    size: int
    """Bytes."""
    tools: int
    incidents: int
    """Open ones that can be read."""
    risk: Risk | None
    """The worst risk of the open incidents."""
    outbox: Outbox
    problems: tuple[Problem, ...]

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            **self._asdict(),
            "outbox": self.outbox._asdict(),
            "problems": [problem._asdict() for problem in self.problems],
        }
