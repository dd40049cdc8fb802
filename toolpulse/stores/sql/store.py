"""The SQL store: what is known of every tool, in SQLite or PostgreSQL, for any number of processes.

The statements are written once, for both. Names and texts are ASCII; counts are written as additions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from toolpulse.errors import StoreError, StoreUnreadable, StoreUnusable
from toolpulse.events import DriftEvent
from toolpulse.state.incidents import Incident
from toolpulse.state.snapshot import Snapshot, empty, new_maps
from toolpulse.stores.base import DAYS_KEPT, Deferred
from toolpulse.stores.sql import check, codec, schema
from toolpulse.stores.sql.engine import Database, Engine
from toolpulse.stores.sql.outbox import Events, Outbox
from toolpulse.stores.sql.read import NOTHING, Known, read
from toolpulse.stores.sql.write import Save

HOUR: Final = 3600

_ALL: Final = 2**62

_MARK_BATCH: Final = """INSERT INTO toolpulse_writers (tool_id, writer, batch, time) VALUES (?, ?, ?, ?)
    ON CONFLICT (tool_id, writer) DO UPDATE SET batch = excluded.batch, time = excluded.time"""


class SqlStore:
    """Snapshots and events in a database. ``clock`` gives seconds since 1970."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock
        self._known: dict[str, Known] = {}
        self._facts: dict[str, int] = {}
        self._opened = 0
        self._inside: set[int] = set()
        """The threads that are in a transaction."""

    @contextmanager
    def transaction(self, tool: str, key: str, writer: str = "") -> Iterator[Deferred]:
        """Begin a transaction; those on the same (tool, key) wait, in whatever process."""
        name = codec.tool_id(tool, key)
        with self._writing(name) as db:
            known = self._read(db, name)
            now = known.snapshot if known is not NOTHING else empty(self._facts["forgotten"])
            flush = Deferred(now, _saved(db, name, writer))
            yield flush
            if flush.after is None:
                return
            after = self._save(db, (tool, key), writer, known, flush, flush.after)
        self._known[name] = after

    def _save(
        self, db: Database, names: tuple[str, str], writer: str, known: Known, flush: Deferred, after: Snapshot
    ) -> Known:
        now = self._clock()
        name = codec.tool_id(*names)
        save = Save(db, name, known, after)
        saved = save.write(names, now)
        if flush.batch:
            save.count_hour(int(now // HOUR))
            db.execute(_MARK_BATCH, (name, codec.escaped(writer), max(flush.batch, flush.saved), now))
        else:
            _decided(db)
        save.fold_hours()
        events = Events(db)
        events.drop_keys(name, new_maps(known.snapshot, after))
        events.put(flush.events, writer if flush.claimed else "", now)
        return saved

    @contextmanager
    def _writing(self, lock: str = "") -> Iterator[Database]:
        with self._alone(), self._engine.transaction(lock) as db:
            self._facts = self._checked(db)
            yield db

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        with self._alone(), self._engine.reading() as db:
            self._facts = self._checked(db)
            yield db

    def _checked(self, db: Database) -> dict[str, int]:
        """What the tables say of themselves. What is remembered is forgotten where it may be of another history."""
        facts = schema.facts(db, self._engine.shown)
        if facts["identity"] != self._facts.get("identity", facts["identity"]):
            raise StoreUnusable(f"{self._engine.shown} was replaced by another database; a new process will use that")
        if self._engine.opened != self._opened:
            self._known.clear()
            self._opened = self._engine.opened
        return facts

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One transaction at a time in a thread: one inside another would wait for it for ever, or end it."""
        thread = threading.get_ident()
        if thread in self._inside:
            raise StoreError(f"{self._engine.shown}: a transaction is open already")
        self._engine.ready()
        self._inside.add(thread)
        try:
            yield
        finally:
            self._inside.discard(thread)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except RecursionError:
            raise StoreError(f"{self._engine.shown}: the caller's stack is too deep to read it from there") from None
        except codec.UNREADABLE:
            raise StoreUnreadable(f"{self._engine.shown} holds what cannot be read; see `toolpulse doctor`") from None

    def _read(self, db: Database, name: str) -> Known:
        known = self._known.get(name, NOTHING)
        with self._readable(), suppress(KeyError):
            return read(db, name, known)
        # what changed belongs to something else than what is remembered
        with self._readable():
            return read(db, name, NOTHING)

    def load(self, tool: str, key: str) -> Snapshot | None:
        """What is known, or None; the same object as long as nobody wrote."""
        name = codec.tool_id(tool, key)
        with self._reading() as db:
            known = self._read(db, name)
        if known is NOTHING:
            self._known.pop(name, None)
            return None
        self._known[name] = known
        return known.snapshot

    def tools(self) -> list[tuple[str, str]]:
        """Every (tool, key) there is something known of, sorted."""
        with self._reading() as db:
            names = db.execute("SELECT tool, key FROM toolpulse_tools")
        return sorted((codec.unescaped(tool), codec.unescaped(key)) for tool, key in names)

    def incidents(self, tool: str | None = None) -> list[Incident]:
        """The incidents of a tool, or of all; the oldest first. One that cannot be read is left to ``check``."""
        statement = (
            """SELECT i.body, i.findings FROM toolpulse_incidents i JOIN toolpulse_tools t ON t.id = i.tool_id"""
        )
        with self._reading() as db:
            if tool is None:
                texts = db.execute(statement)
            else:
                texts = db.execute(f"{statement} WHERE t.tool = ?", (codec.escaped(tool),))
        incidents = []
        for body, findings in texts:
            with suppress(*codec.UNREADABLE):
                incidents.append(codec.read_incident(body, findings))
        return sorted(incidents, key=lambda incident: (incident.first_time, incident.opened, incident.id))

    def forget(self, tool: str, key: str) -> bool:
        """Drop all that is known of a tool and key, its events included; False where nothing was."""
        name = codec.tool_id(tool, key)
        with self._writing(name) as db:
            for table in schema.OF_A_TOOL:
                db.execute(f"DELETE FROM {table} WHERE tool_id = ?", (name,))
            was_known = bool(db.execute("DELETE FROM toolpulse_tools WHERE id = ? RETURNING id", (name,)))
            if was_known:
                _decided(db)
                db.execute("UPDATE toolpulse_meta SET value = value + 1 WHERE name = 'forgotten'")
        self._known.pop(name, None)
        return was_known

    def decided(self) -> int:
        """Grows with each change that nobody observed."""
        with self._reading():
            return self._facts["decided"]

    def claim(self, writer: str, most: int) -> list[DriftEvent]:
        """Events that wait and that nobody has a lease on; the oldest first."""
        with self._writing() as db:
            return Events(db).claim(writer, most, self._clock(), self._engine.skip_locked)

    def renew(self, writer: str, events: Iterable[str]) -> None:
        """Keep the lease on events that still wait."""
        with self._writing() as db:
            Events(db).renew(writer, events, self._clock())

    def sent(self, events: Iterable[str]) -> None:
        """These events were sent."""
        with self._writing() as db:
            Events(db).sent(events, self._clock())

    def events(self, newest: int = -1) -> list[DriftEvent]:
        """The events kept, or only so many of the newest, in the order they were written."""
        with self._reading() as db:
            return Events(db).newest(newest if newest >= 0 else _ALL)

    def outbox(self) -> Outbox:
        """What waits to be sent, and how many write."""
        with self._reading() as db:
            return Events(db).outbox()

    def times(self) -> dict[tuple[str, str], tuple[float, float]]:
        """When each tool and key was first and last written; in seconds since 1970."""
        with self._reading() as db:
            rows = db.execute("SELECT tool, key, first_time, last_time FROM toolpulse_tools")
        return {(codec.unescaped(tool), codec.unescaped(key)): (first, last) for tool, key, first, last in rows}

    def tidy(self) -> None:
        """Let go of what is older than it is kept, once an hour: events that were sent, counts per hour, writers."""
        now = self._clock()
        oldest = now - DAYS_KEPT * 24 * HOUR
        with self._reading():
            if 0 <= now - self._facts["tidied"] < HOUR:
                return
        with self._writing() as db:
            db.execute("UPDATE toolpulse_meta SET value = ? WHERE name = 'tidied'", (int(now),))
            Events(db).tidy(oldest)
            db.execute("DELETE FROM toolpulse_hours WHERE hour < ?", (int(oldest // HOUR),))
            db.execute("DELETE FROM toolpulse_writers WHERE time < ?", (oldest,))

    def traffic(self, tool: str, key: str, since_hour: int) -> dict[int, int]:
        """Observations by hour, counted in hours since 1970, from ``since_hour`` on; 30 days are kept."""
        statement = "SELECT hour, SUM(seen) FROM toolpulse_hours WHERE tool_id = ? AND hour >= ? GROUP BY hour"
        with self._reading() as db:
            hours = db.execute(statement, (codec.tool_id(tool, key), since_hour))
        return {int(hour): int(seen) for hour, seen in sorted(hours)}

    @property
    def schema(self) -> int:
        """The version of the tables."""
        with self._reading():
            return self._facts["schema"]

    def size(self) -> int:
        """How many bytes the store takes."""
        with self._reading() as db:
            return self._engine.size(db)

    def describe(self) -> dict[str, Any]:
        """Where it is (without a password), and the engine's name and version."""
        with self._reading() as db:
            return {"url": self._engine.shown, "engine": self._engine.name, "version": self._engine.version(db)}

    def check(self) -> list[str]:
        """What is wrong with the database and with what it holds, a sentence each; nothing where all is well."""
        with self._reading() as db:
            return [*self._engine.faults(db), *check.faults(db)]

    def after_fork(self) -> None:
        """Leave connections to the parent."""
        self._inside = set()
        self._engine.after_fork()

    def close(self) -> None:
        """Let go of the connection."""
        self._engine.close()


def _saved(db: Database, name: str, writer: str) -> int:
    statement = "SELECT batch FROM toolpulse_writers WHERE tool_id = ? AND writer = ?"
    batches = db.execute(statement, (name, codec.escaped(writer)))
    return int(batches[0][0]) if batches else 0


def _decided(db: Database) -> None:
    db.execute("UPDATE toolpulse_meta SET value = value + 1 WHERE name = 'decided'")
