"""The outbox: events wait in it until whoever has the lease on them says that they were sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from toolpulse._base.paths import Path
from toolpulse.events import DriftEvent, names_keys
from toolpulse.stores.base import LEASE, MOST_EVENTS
from toolpulse.stores.sql import codec
from toolpulse.stores.sql.engine import Database


class Outbox(NamedTuple):
    """What waits to be sent, and who writes."""

    waiting: int
    oldest: str
    """The time of the event that waits longest; ISO 8601. Empty where none waits, or it cannot be read."""
    writers: int
    """How many monitors wrote in the last 30 days."""


class Events:
    """The events of a database, within a transaction. Times are seconds since 1970."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def put(self, events: Sequence[DriftEvent], writer: str, now: float) -> None:
        """Put events in the outbox that were not in it before; a writer has the lease on its own."""
        leased = now + LEASE if writer else 0.0
        self._db.many(
            """INSERT INTO toolpulse_events (id, tool_id, body, writer, leased, written) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO NOTHING""",
            [(*_names(event), codec.event_text(event), codec.escaped(writer), leased, now) for event in events],
        )

    def drop_keys(self, tool: str, maps: frozenset[Path]) -> None:
        """Drop the events of a tool, by its id, that name a key of one of these maps."""
        if maps:
            rows = self._db.execute("SELECT seq, body FROM toolpulse_events WHERE tool_id = ?", (tool,))
            gone = [(seq,) for seq, body in rows if any(names_keys(event, maps) for event in _readable((body,)))]
            self._db.many("DELETE FROM toolpulse_events WHERE seq = ?", gone)

    def claim(self, writer: str, most: int, now: float, skip_locked: str) -> list[DriftEvent]:
        """Take a lease on the oldest events that wait and that nobody has one on."""
        rows = self._db.execute(
            f"""UPDATE toolpulse_events SET writer = ?, leased = ? WHERE seq IN (
                SELECT seq FROM toolpulse_events WHERE sent IS NULL AND leased <= ? ORDER BY seq LIMIT ?{skip_locked})
            RETURNING seq, body""",
            (codec.escaped(writer), now + LEASE, now, most),
        )
        return _readable(body for _, body in sorted(rows))

    def renew(self, writer: str, events: Iterable[str], now: float) -> None:
        """Keep a writer's lease on events that still wait."""
        name = codec.escaped(writer)
        self._db.many(
            "UPDATE toolpulse_events SET leased = ? WHERE id = ? AND writer = ? AND sent IS NULL",
            [(now + LEASE, codec.escaped(event), name) for event in sorted(events)],
        )

    def sent(self, events: Iterable[str], now: float) -> None:
        """Note that events were sent."""
        self._db.many(
            "UPDATE toolpulse_events SET sent = ? WHERE id = ? AND sent IS NULL",
            [(now, codec.escaped(event)) for event in sorted(events)],
        )

    def newest(self, most: int) -> list[DriftEvent]:
        """The newest events, in the order they were written."""
        rows = self._db.execute("SELECT seq, body FROM toolpulse_events ORDER BY seq DESC LIMIT ?", (most,))
        return _readable(body for _, body in sorted(rows))

    def outbox(self) -> Outbox:
        """What waits to be sent, and how many write."""
        waiting = self._db.execute("SELECT COUNT(*) FROM toolpulse_events WHERE sent IS NULL")
        oldest = self._db.execute("SELECT body FROM toolpulse_events WHERE sent IS NULL ORDER BY seq LIMIT 1")
        times = [event.time for event in _readable(body for (body,) in oldest)]
        writers = self._db.execute("SELECT COUNT(DISTINCT writer) FROM toolpulse_writers")
        return Outbox(int(waiting[0][0]), times[0] if times else "", int(writers[0][0]))

    def tidy(self, oldest: float) -> None:
        """Let go of events that were written before ``oldest``, and of the oldest where there are more than are kept.

        One that nobody took in all that time goes, too: there may be no sink anywhere.
        """
        self._db.execute("DELETE FROM toolpulse_events WHERE written < ?", (oldest,))
        self._db.execute(
            """DELETE FROM toolpulse_events WHERE seq <= (
                SELECT seq FROM toolpulse_events ORDER BY seq DESC LIMIT 1 OFFSET ?)""",
            (MOST_EVENTS,),
        )


def _readable(bodies: Iterable[str]) -> list[DriftEvent]:
    """The events of these texts. One that cannot be read keeps no other from being sent; a check tells of it."""
    events = []
    for body in bodies:
        with suppress(*codec.UNREADABLE):
            events.append(codec.read_event(body))
    return events


def _names(event: DriftEvent) -> tuple[str, str]:
    return codec.escaped(event.id), codec.tool_id(event.tool, event.key)
