"""What to do about a store that cannot be opened or read, in sentences for a message."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolpulse.cli._kit.store import exists, file_of, is_missing, lacks_folder
from toolpulse.errors import StoreError, StoreForeign, StoreMissing, StoreUnusable
from toolpulse.stores.sqlite import HOME

_NO_FILE: Final = "it is made at the first call of a watched tool; --db names another"

_NO_TABLES: Final = (
    "its tables are made at the first call of a watched tool, by a user who may CREATE in the schema that once; "
    "--db names another"
)

_USER: Final = "correct user and password, in the URL, PGPASSWORD or ~/.pgpass"

SERVER: Final = {
    "connection refused": "start the server, or correct host and port in the URL",
    "no server listens at its socket": "start the server, or name its host or its socket's folder in the URL",
    "the host is not known": "correct the host in the URL",
    "timed out": "check host and port, whether a firewall is in between, and whether the server is overloaded",
    "password authentication failed, or the user may not connect": _USER,
    "a password is needed": _USER,
    "the server does not take this user from here": "allow it in pg_hba.conf, or connect from a host that is allowed",
    "the database does not exist": "make it with CREATE DATABASE, or correct its name in the URL",
    "the user does not exist": "make it with CREATE ROLE, or correct its name in the URL",
    "the user may not do that": "GRANT it SELECT, INSERT, UPDATE and DELETE on the tables toolpulse_*, and once, for "
    "whoever makes them, CREATE on the schema",
}
"""What to do, by the words that a message of a PostgreSQL store ends with."""


def unreadable(error: StoreError, url: str) -> list[str]:
    """What to do where the store at a URL cannot be read, a sentence each; none where the error itself says it all."""
    if isinstance(error, StoreForeign):
        return ["--db names another"]
    file = file_of(url)
    if file is None:
        return [_NO_TABLES] if isinstance(error, StoreMissing) else _of_server(str(error))
    damaged = [f"{path} was damaged and moved aside" for path in moved_aside(file)]
    return [*damaged, *_of_file(error, file, missing=is_missing(error, url))]


def _of_server(message: str) -> list[str]:
    return [advice for cause, advice in SERVER.items() if message.endswith(f": {cause}")]


def _of_file(error: StoreError, file: Path, *, missing: bool) -> list[str]:
    folder = file.absolute().parent
    if missing and lacks_folder(file) and folder.name != HOME:
        return [f"make the folder {folder}, or correct the URL"]
    if missing:
        return [_NO_FILE]
    if not exists(file):
        return [f"this user may not look into {folder}: run this as the user of the watched process, or give access"]
    if isinstance(error, StoreUnusable) and "schema" not in str(error):
        return ["stop what writes to it and move it aside; `sqlite3 FILE .recover` salvages what is left"]
    return []


def moved_aside(file: Path) -> list[Path]:
    """The damaged files that a store moved aside, oldest first; not the files of SQLite that belong to them."""
    start = f"{file.name}.damaged-"
    try:
        beside = list(file.absolute().parent.iterdir())
    except OSError:
        return []
    return sorted(path for path in beside if path.name.startswith(start) and not path.name.endswith(("-wal", "-shm")))
