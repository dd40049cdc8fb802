"""The file of a SQLite database: made for its user alone, looked at before it is touched, moved where it is damaged.

A file is ours where its header says so (SQLite's ``application_id``), where our tables are in it, or where nothing is
in it yet. Whatever else is at the path belongs to somebody, and is refused as it is.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from toolpulse._base import files
from toolpulse.errors import StoreForeign, StoreUnusable
from toolpulse.stores.sql import schema as _schema

APPLICATION: Final = int.from_bytes(b"tpls")
"""The ``application_id`` of our databases. Those of the first versions have none, and get it when they are opened."""

_MAGIC: Final = b"SQLite format 3\0"

_HEADER: Final = 100
"""Bytes of the header; ``application_id`` is at 68 (https://www.sqlite.org/fileformat.html, 1.3)."""

UNTOUCHED: Final = "; it was left as it is"

_KINDS: Final = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement; the rows it gives."""


def uri(path: Path, options: str = "") -> str:
    """A file as SQLite takes it, letter by letter."""
    return f"file:{quote(os.fsencode(path))}{options}"


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at a path; None where that cannot be told."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_gone(path: Path) -> bool:
    """Whether nothing is at a path, or its folder is not there; not where that cannot be seen."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def beside(path: Path) -> tuple[Path, Path]:
    """What SQLite keeps beside a database: what waits to be written into it, and the index of that."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def make(path: Path) -> None:
    """Make an empty file that only this user reads; SQLite gives the same mode to what it puts beside it.

    It is not opened, where the system can do without: closing it would let go of the locks that another connection of
    this process has on it.
    """
    try:
        os.mknod(path, 0o600 | stat.S_IFREG)
    except FileExistsError:
        return
    except (AttributeError, PermissionError, NotImplementedError):
        os.close(files.private(path, os.O_CREAT | os.O_RDWR))


def refuse_others(path: Path, shown: str) -> None:
    """Look at a file, ``shown`` in messages, without touching it, nor what is beside it.

    Raises StoreForeign where it is not ours, StoreUnusable where it is damaged and that cannot be told any more,
    OSError or sqlite3.Error where it cannot be told now.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "a device")
        raise StoreForeign(f"{shown} is {kind}, not a file{UNTOUCHED}")
    if found.st_size == 1:  # SQLite takes it for empty
        raise _no_database(shown)
    if found.st_size:
        _refuse_others(path, shown)


def _refuse_others(path: Path, shown: str) -> None:
    try:
        _look(path, shown, "?mode=ro&immutable=1")
    except sqlite3.DatabaseError as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise _no_database(shown) from None
        if code_of(error) != sqlite3.SQLITE_CORRUPT:
            raise
        if not is_signed(path):
            _refuse_broken(path, shown)


def _no_database(shown: str) -> StoreForeign:
    return StoreForeign(f"{shown} is no SQLite database{UNTOUCHED}")


def _refuse_broken(path: Path, shown: str) -> None:
    """Refuse what looks damaged, unless somebody was writing to it just then."""
    if path.with_name(f"{path.name}-journal").exists():
        try:
            # waits for who writes
            return _look(path, shown, "?mode=ro")
        except sqlite3.DatabaseError as error:
            if code_of(error) not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_READONLY}:
                raise
    raise StoreUnusable(f"{shown} is damaged, and nothing shows that ToolPulse made it{UNTOUCHED}")


def _look(path: Path, shown: str, options: str) -> None:
    with closing(sqlite3.connect(uri(path, options), uri=True, isolation_level=None)) as connection:
        # while what waits beside it is written into it, its header may speak of pages that are not there yet
        connection.execute("PRAGMA writable_schema = ON")
        # of one page, the first that is written: a process may be making the tables just now
        if _number(_asking(connection), "application_id") == APPLICATION:
            return
        has_tables(_asking(connection), shown)
        waiting = beside(path)[0]
        if waiting.exists() and waiting.stat().st_size and not _tables(_asking(connection)):
            _look_at_waiting(connection, shown, waiting)


def _look_at_waiting(connection: sqlite3.Connection, shown: str, waiting: Path) -> None:
    """Look at a database whose first tables wait beside it, by a copy: reading the two would change the index."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.write_bytes(connection.serialize())
        shutil.copyfile(waiting, beside(copy)[0])
        with closing(sqlite3.connect(copy, isolation_level=None)) as whole:
            has_tables(_asking(whole), shown)


def has_tables(ask: Ask, shown: str) -> bool:
    """Whether our tables are in a database. Raises StoreForeign where others are, and none of ours."""
    tables = _tables(ask)
    columns = {
        name: {str(column) for (column,) in ask(f"SELECT name FROM pragma_table_info('{name}')")}
        for name in tables & set(_schema.TABLES)
    }
    if _schema.are_there(columns, shown):
        return True
    identifier = _number(ask, "application_id")
    if identifier != APPLICATION and (tables or identifier or _number(ask, "user_version")):
        raise StoreForeign(f"{shown} is the database of another program{UNTOUCHED}")
    return False


def lacks_signature(ask: Ask) -> bool:
    """Whether a database is ours alone, and its header does not say so."""
    return not _number(ask, "application_id") and _tables(ask) <= _schema.NAMES


def is_signed(path: Path) -> bool:
    """Whether the header says SQLite and ToolPulse, however damaged the rest is."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError:
        return False
    return header.startswith(_MAGIC) and int.from_bytes(header[68:72]) == APPLICATION


def copy(path: Path, aside: Path) -> None:
    """Copy a database and what belongs to it: all of it, or nothing; for this user alone."""
    try:
        for old, new in zip((path, *beside(path)), (aside, *beside(aside)), strict=True):
            if old.exists():
                with old.open("rb") as source, open(new, "wb", opener=files.private) as target:
                    shutil.copyfileobj(source, target)
    except OSError:
        remove(aside)
        raise


def remove(path: Path) -> None:
    """Remove a database and what belongs to it."""
    for part in (path, *beside(path)):
        part.unlink(missing_ok=True)


def _asking(connection: sqlite3.Connection) -> Ask:
    return lambda statement: connection.execute(statement).fetchall()


def _tables(ask: Ask) -> set[str]:
    """The names of all that somebody made in a database: tables, views, indexes, triggers."""
    return {str(name) for (name,) in ask("SELECT name FROM sqlite_master") if not str(name).startswith("sqlite_")}


def _number(ask: Ask, pragma: str) -> int:
    return int(ask(f"PRAGMA {pragma}")[0][0])


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code of an error; 0 for one of the Python module's."""
    # an extended code holds the primary one in its last byte
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
