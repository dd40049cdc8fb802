"""SQLite: one file, by the standard library. Any number of processes of one machine may share it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from toolpulse.errors import StoreError, StoreForeign, StoreMissing, StoreUnusable
from toolpulse.stores import forks
from toolpulse.stores import sqlite_file as on_disk
from toolpulse.stores import sqlite_turns as turns
from toolpulse.stores.sql import schema
from toolpulse.stores.sql.engine import Database
from toolpulse.stores.sql.store import SqlStore
from toolpulse.stores.url import sqlite_path

OLDEST: Final = (3, 35, 0)
"""The first SQLite that has RETURNING."""

HOME: Final = ".toolpulse"
"""The folder that is made where it is not there, and that git does not look into."""

_WAL_PAUSE: Final = 0.005

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_NO_WAY_IN: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})


def open_url(url: str, existing: bool, clock: Callable[[], float]) -> SqlStore:
    """The store in the file of a URL. Raises ConfigurationError where it names none."""
    return SqlStore(SqliteEngine(sqlite_path(url), existing=existing), clock)


class _Database:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)


class SqliteEngine:
    """A database file. One that is not ours is StoreForeign, and left as it is.

    With ``existing`` it is neither made where it is not there nor moved where it is damaged. With ``optional`` a file
    that cannot be opened or written is StoreUnusable: nobody asked for that one.
    """

    name = "sqlite"
    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"
    skip_locked = ""

    def __init__(self, path: str, *, existing: bool = False, optional: bool = False) -> None:
        self._connection: sqlite3.Connection | None = None
        self.opened = 0
        self.path = Path(path).absolute()
        self.shown = str(self.path)
        self.existing = existing
        self.used = False
        self._refused: type[StoreError] = StoreUnusable if optional else StoreError
        self._file: tuple[int, int] | None = None
        self._prepared = False
        self.lock = threading.RLock()
        forks.watch(self)

    @contextmanager
    def transaction(self, lock: str = "") -> Iterator[Database]:
        """Begin a transaction that writes; there is one at a time in all of the file."""
        with self._session(turns.WRITING) as db:
            yield db

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Begin a transaction that reads."""
        with self._session("BEGIN") as db:
            yield db

    @contextmanager
    def _session(self, begin: str) -> Iterator[Database]:
        with self.lock, self._translated():
            connection = self._open()
            turns.begin(connection, begin)
            try:
                yield _Database(connection)
                connection.execute("COMMIT")
            except BaseException:
                turns.undo(connection)
                raise

    def ready(self) -> None:
        """Open the file and bring its tables up to date, if that is still to do."""
        with self.lock:
            self._drop_if_replaced()
            if not self._prepared:
                schema.prepare(self)
                if not self.existing:
                    self._sign()
                    self._use_wal()
                self._prepared = self.used = True
                # it was there to be written, so what stands in the way now may go away
                self._refused = StoreError

    def _drop_if_replaced(self) -> None:
        """Somebody may have deleted the file, or put another one in its place."""
        if self._connection is not None and self._file != on_disk.identity(self.path):
            self._drop()

    def _sign(self) -> None:
        """Have the header say whose file it is, so that it is known even where the rest of it is damaged."""
        with self.reading() as db:
            if not on_disk.lacks_signature(db.execute):
                return
        with self.transaction() as db:
            db.execute(f"PRAGMA application_id = {on_disk.APPLICATION}")

    def _use_wal(self) -> None:
        """Only once the tables are known to be ours: it changes the file."""
        give_up = time.monotonic() + turns.BUSY_TIMEOUT
        with self._translated():
            connection = self._open()
            # the one statement that does not wait for whoever has the file
            while not turns.begun(connection, "PRAGMA journal_mode = WAL", last=time.monotonic() > give_up):
                time.sleep(_WAL_PAUSE)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if sqlite3.sqlite_version_info < OLDEST:
                oldest = ".".join(map(str, OLDEST))
                raise StoreUnusable(f"SQLite {sqlite3.sqlite_version} is too old; {oldest} is the oldest that serves")
            place = self._place()
            self._connection = sqlite3.connect(
                self._uri(place), uri=True, timeout=turns.BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._file = on_disk.identity(self.path)
            self.opened += 1
            self._connection.execute("PRAGMA synchronous = NORMAL")
        return self._connection

    def _place(self) -> Path:
        """Where the file is, links followed: one that is ours, made now where there is none."""
        place = Path(os.path.realpath(self.path))
        gone = on_disk.is_gone(place)
        if gone:
            self._make_room(place)
        try:
            if gone:
                on_disk.make(place)
            on_disk.refuse_others(place, self.shown)
        except OSError as error:
            raise self._refused(f"{self.shown}: {error.strerror or type(error).__name__}") from None
        return place

    def _uri(self, place: Path) -> str:
        """The file as SQLite takes it; read only where this user may look at it and no more, and nobody writes."""
        if not self.existing or (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)):
            return on_disk.uri(place, "?mode=rw")
        waits = any(map(os.path.exists, on_disk.beside(place)))
        return on_disk.uri(place, "?mode=ro" if waits else "?mode=ro&immutable=1")

    def _make_room(self, place: Path) -> None:
        """Make the folder of a file that is not there, if it is ours to make."""
        homeless = on_disk.is_gone(place.parent)
        if self.existing:
            where = f"{place.parent}: there is no such folder" if homeless else f"{self.shown}: there is no such file"
            raise StoreMissing(where)
        if self.used:
            raise StoreUnusable(f"{self.shown} was deleted; a new process makes a new one")
        if homeless and place.parent.name != HOME:
            raise StoreError(f"{place.parent}: there is no such folder")
        if homeless:
            self._make_home(place.parent)

    def _make_home(self, folder: Path) -> None:
        try:
            folder.mkdir(0o700, exist_ok=True)
            (folder / ".gitignore").write_text("*\n", "ascii")
        except OSError as error:
            raise self._refused(f"{folder}: {error.strerror or type(error).__name__}") from None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = on_disk.code_of(error)
            if code in _DAMAGED:
                raise self._damaged(code) from None
            if code not in turns.OTHERS_TURN:
                self._drop()
            if self.used and not self.existing and "no such table: toolpulse_" in str(error):
                raise self.lost() from None
            raise (self._refused if code in _NO_WAY_IN else StoreError)(f"{self.shown}: {error}") from None

    def _damaged(self, code: int) -> StoreUnusable:
        try:
            return self._kept_aside(code)
        finally:
            self._drop()

    def _kept_aside(self, code: int) -> StoreUnusable:
        what = "is damaged" if code == sqlite3.SQLITE_CORRUPT else "is no SQLite database"
        place = Path(os.path.realpath(self.path))
        if self.existing or not on_disk.is_signed(place):
            kind = StoreForeign if code == sqlite3.SQLITE_NOTADB else StoreUnusable
            return kind(f"{self.shown} {what}{on_disk.UNTOUCHED}")
        if self._file is None or self._file != on_disk.identity(place):
            return StoreUnusable(f"{self.shown} {what}; by now another file is in its place")
        aside = place.with_name(f"{place.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        try:
            # a copy, as closing the connection writes into the file what waits beside it
            on_disk.copy(place, aside)
            self._drop()
            on_disk.remove(place)
        except OSError as error:
            return StoreUnusable(f"{self.shown} {what}, and cannot be moved: {error.strerror}")
        return StoreUnusable(
            f"{self.shown} {what}; it was moved to {aside.name}, and the next process starts a new one"
        )

    def _drop(self) -> None:
        """Close the connection; the next use opens the file again."""
        connection, self._connection = self._connection, None
        self._file, self._prepared = None, False
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def has_tables(self, db: Database) -> bool:
        """Whether our tables are there. Raises StoreForeign where others are, and none of ours."""
        return on_disk.has_tables(db.execute, self.shown)

    def lost(self) -> StoreError:
        """Somebody dropped them: whoever may write to the file sees all of it."""
        return schema.dropped(self.shown)

    def version(self, db: Database) -> str:
        """SQLite's version."""
        return sqlite3.sqlite_version

    def size(self, db: Database) -> int:
        """Bytes of the file and of what waits beside it."""
        place = Path(os.path.realpath(self.path))
        return sum(path.stat().st_size for path in (place, *on_disk.beside(place)) if path.exists())

    def faults(self, db: Database) -> list[str]:
        """What SQLite finds wrong with the file; at most 100 lines."""
        return [str(line) for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]

    def after_fork(self) -> None:
        """Leave the connection to the parent: closed here, it would be closed there."""
        self.lock = threading.RLock()
        if self._connection is not None:
            _parents.append(self._connection)
        self._connection, self._file, self._prepared = None, None, False

    def rest(self) -> None:
        """Close the file unless a transaction is open."""
        if self._connection is not None and not self._connection.in_transaction:
            self._drop()

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self._drop()

    def __del__(self) -> None:
        """A monitor that nobody closed leaves no open file, and no warning of one."""
        self._drop()


_parents: list[sqlite3.Connection] = []
"""Connections of the parent of this process: kept, so that nothing closes them."""
