"""SQLite: one file, by the standard library. Any number of processes of one machine may share it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from toolpulse.errors import StoreError, StoreMissing, StoreUnusable
from toolpulse.stores import forks
from toolpulse.stores.sql import schema as _schema
from toolpulse.stores.sql.engine import Database

BUSY_TIMEOUT: Final = 5.0
"""Seconds to wait for another process's transaction."""

WRITING: Final = "BEGIN IMMEDIATE"

OLDEST: Final = (3, 35, 0)
"""The first SQLite that has RETURNING."""

SUFFIXES: Final = frozenset({".db", ".sqlite", ".sqlite3"})
"""Names of files that may be moved where they turn out to be no database; another is somebody's text."""

HOME: Final = ".toolpulse"
"""The folder that is made where it is not there, and that git does not look into."""

_WAL_PAUSE: Final = 0.005

_ATTEMPT: Final = 40
"""Milliseconds after which waiting for a turn starts over."""

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_NO_WAY_IN: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})
_OTHERS_TURN: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class _Database:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)


class SqliteEngine:
    """A database file.

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
        self._refused: type[StoreError] = StoreUnusable if optional else StoreError
        self._file: tuple[int, int] | None = None
        self._prepared = False
        self.lock = threading.RLock()
        forks.watch(self)

    @contextmanager
    def transaction(self, lock: str = "") -> Iterator[Database]:
        """Begin a transaction that writes; there is one at a time in all of the file."""
        with self._session(WRITING) as db:
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
            _begin(connection, begin)
            try:
                yield _Database(connection)
                connection.execute("COMMIT")
            except BaseException:
                _undo(connection)
                raise

    def ready(self) -> None:
        """Open the file and bring its tables up to date, if that is still to do."""
        with self.lock:
            self._drop_if_replaced()
            if not self._prepared:
                _schema.prepare(self)
                if not self.existing:
                    self._use_wal()
                self._prepared = True
                # it was there to be written, so what stands in the way now may go away
                self._refused = StoreError

    def _drop_if_replaced(self) -> None:
        """Somebody may have deleted the file, or put another one in its place."""
        if self._connection is not None and self._file != _identity(self.path):
            self._drop()

    def _use_wal(self) -> None:
        """Only once the tables are known to be ours: it changes the file."""
        give_up = time.monotonic() + BUSY_TIMEOUT
        with self._translated():
            connection = self._open()
            # the one statement that does not wait for whoever has the file
            while not _begun(connection, "PRAGMA journal_mode = WAL", last=time.monotonic() > give_up):
                time.sleep(_WAL_PAUSE)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if sqlite3.sqlite_version_info < OLDEST:
                oldest = ".".join(map(str, OLDEST))
                raise StoreUnusable(f"SQLite {sqlite3.sqlite_version} is too old; {oldest} is the oldest that serves")
            self._make_room()
            self._connection = sqlite3.connect(
                self._uri(), uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._file = _identity(self.path)
            self.opened += 1
            self._connection.execute("PRAGMA synchronous = NORMAL")
        return self._connection

    def _uri(self) -> str:
        """The file as SQLite takes it; read only where this user may look at it and no more, and nobody writes."""
        uri = f"file:{quote(os.fsencode(self.path))}"
        if not self.existing:
            return uri
        if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            return f"{uri}?mode=rw"
        return f"{uri}?mode=ro" if any(map(os.path.exists, _beside(self.path))) else f"{uri}?mode=ro&immutable=1"

    def _make_room(self) -> None:
        # os.path does not raise where a folder may not be looked into; SQLite then says that it cannot open the file
        folder, there = self.path.parent, os.path.exists(self.path)  # noqa: PTH110
        if there:
            return
        homeless = not os.path.exists(folder)  # noqa: PTH110
        if self.existing and homeless:
            raise StoreMissing(f"{folder}: there is no such folder")
        if self.existing and os.access(folder, os.X_OK):
            raise StoreMissing(f"{self.shown}: there is no such file")
        if homeless and folder.name == HOME:
            self._make_home(folder)
        elif homeless:
            raise StoreError(f"{folder}: there is no such folder")

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
            # an extended code holds the primary one in its last byte
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _DAMAGED:
                raise self._damaged(code) from None
            if code not in _OTHERS_TURN:
                self._drop()
            raise (self._refused if code in _NO_WAY_IN else StoreError)(f"{self.shown}: {error}") from None

    def _damaged(self, code: int) -> StoreUnusable:
        try:
            return self._kept_aside(code)
        finally:
            self._drop()

    def _kept_aside(self, code: int) -> StoreUnusable:
        what = "is damaged" if code == sqlite3.SQLITE_CORRUPT else "is no SQLite database"
        if self.existing or (code == sqlite3.SQLITE_NOTADB and self.path.suffix not in SUFFIXES):
            return StoreUnusable(f"{self.shown} {what}; it was left as it is")
        if self._file is None or self._file != _identity(self.path):
            return StoreUnusable(f"{self.shown} {what}; by now another file is in its place")
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        try:
            # a copy, as closing the connection writes into the file what waits beside it
            _copy(self.path, aside)
            self._drop()
            _remove(self.path)
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
        """Whether the tables are there."""
        return bool(db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'toolpulse_meta'"))

    def version(self, db: Database) -> str:
        """SQLite's version."""
        return sqlite3.sqlite_version

    def size(self, db: Database) -> int:
        """Bytes of the file and of what waits beside it."""
        return sum(path.stat().st_size for path in (self.path, *_beside(self.path)) if path.exists())

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


def _begin(connection: sqlite3.Connection, begin: str) -> None:
    """Begin a transaction; one that writes waits its turn.

    SQLite asks ever more rarely, ten times a second at last; a process that writes all the time would leave the others
    next to no chance. So it is made to start over.
    """
    if begin != WRITING:
        connection.execute(begin)
        return
    give_up = time.monotonic() + BUSY_TIMEOUT
    connection.execute(f"PRAGMA busy_timeout = {_ATTEMPT}")
    try:
        while not _begun(connection, begin, last=time.monotonic() > give_up):
            pass
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}")


def _begun(connection: sqlite3.Connection, statement: str, *, last: bool) -> bool:
    """False where somebody else has the file; at the ``last`` attempt that raises."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if last or error.sqlite_errorcode & 0xFF not in _OTHERS_TURN:
            raise
        return False
    return True


def _undo(connection: sqlite3.Connection) -> None:
    # a full disk, for one, has ended the transaction already
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _copy(path: Path, aside: Path) -> None:
    """Copy a database and what belongs to it: all of it, or nothing."""
    try:
        for old, new in zip((path, *_beside(path)), (aside, *_beside(aside)), strict=True):
            if old.exists():
                shutil.copy2(old, new)
    except OSError:
        _remove(aside)
        raise


def _remove(path: Path) -> None:
    """Remove a database and what belongs to it."""
    for part in (path, *_beside(path)):
        part.unlink(missing_ok=True)


_parents: list[sqlite3.Connection] = []
"""Connections of the parent of this process: kept, so that nothing closes them."""
