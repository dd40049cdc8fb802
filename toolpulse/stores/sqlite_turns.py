"""Turns at a SQLite file: one transaction writes at a time, and whoever wants to waits. Called by ``sqlite`` alone."""

from __future__ import annotations

import sqlite3
import time
from typing import Final

BUSY_TIMEOUT: Final = 5.0
"""Seconds to wait for another process's transaction."""

WRITING: Final = "BEGIN IMMEDIATE"
"""Begins a transaction that writes."""

_ATTEMPT: Final = 40
"""Milliseconds after which waiting for a turn starts over."""

OTHERS_TURN: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
"""SQLite's codes for: somebody else has the file."""


def begin(connection: sqlite3.Connection, statement: str) -> None:
    """Begin a transaction; one that writes waits its turn.

    SQLite asks ever more rarely, ten times a second at last; a process that writes all the time would leave the others
    next to no chance. So it is made to start over.
    """
    if statement != WRITING:
        connection.execute(statement)
        return
    give_up = time.monotonic() + BUSY_TIMEOUT
    connection.execute(f"PRAGMA busy_timeout = {_ATTEMPT}")
    try:
        while not begun(connection, statement, last=time.monotonic() > give_up):
            pass
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}")


def begun(connection: sqlite3.Connection, statement: str, *, last: bool) -> bool:
    """False where somebody else has the file; at the ``last`` attempt that raises."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if last or error.sqlite_errorcode & 0xFF not in OTHERS_TURN:
            raise
        return False
    return True


def undo(connection: sqlite3.Connection) -> None:
    """Roll back, where a transaction is open."""
    # a full disk, for one, has ended the transaction already
    if connection.in_transaction:
        connection.execute("ROLLBACK")
