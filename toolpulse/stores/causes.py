"""Why PostgreSQL failed, in our words: those of the server may hold values, those of the driver a password."""

from __future__ import annotations

import logging
import re
import threading
import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import psycopg

OURS: Final = "toolpulse-"
"""What the names of our pools begin with."""

connections: Final[weakref.WeakSet[psycopg.Connection[object]]] = weakref.WeakSet()
"""Those of our pools."""

NO_DATABASE: Final = "the database does not exist"
NO_TABLE: Final = "a table is missing"
NO_RIGHTS: Final = "the user may not do that"

_CAUSES: Final = {
    "08": "the connection was lost",
    "28": "password authentication failed, or the user may not connect",
    "3D": NO_DATABASE,
    "25006": "the server is read-only",
    "40": "another transaction was in the way",
    "42501": NO_RIGHTS,
    "42P01": NO_TABLE,
    "53100": "the disk is full",
    "53300": "the server has too many connections",
    "53": "the server is out of resources",
    "55P03": "another transaction holds the lock",
    "57014": "the statement took too long",
    "57": "the server is shutting down or starting up",
    "58": "the server has trouble with its files",
    "XX": "the server found its data damaged",
}
"""By SQLSTATE, or by its class of two digits."""

_SAID: Final = {
    "password authentication failed": _CAUSES["28"],
    "not permitted to log in": _CAUSES["28"],
    "no password supplied": "a password is needed",
    "no pg_hba.conf entry": "the server does not take this user from here",
    "too many clients": _CAUSES["53300"],
    "starting up": _CAUSES["57"],
    "shutting down": _CAUSES["57"],
    "Connection refused": "connection refused",
    "No such file or directory": "no server listens at its socket",
    "could not translate host name": "the host is not known",
    "failed to resolve host": "the host is not known",
    "timeout": "timed out",
    "does not exist": "the user does not exist",
}
"""By what a driver says of a connection that failed, which has no SQLSTATE. Its text may quote what was given."""

_SAYS_NO_DATABASE: Final = re.compile(r'FATAL: +database "[^\n]*" does not exist')


def cause(error: psycopg.Error) -> str:
    """What went wrong, in a few words."""
    state = error.sqlstate or ""
    known = _CAUSES.get(state) or _CAUSES.get(state[:2])
    if known:
        return known
    if state:
        return f"the server refused the statement ({state})"
    text = str(error)
    # one address of a host may refuse while the server answers at another
    if _SAYS_NO_DATABASE.search(text):
        return NO_DATABASE
    return next((what for said, what in _SAID.items() if said in text), "the connection failed or was lost")


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or the server about to go."""
    return error.sqlstate is None or error.sqlstate[:2] in {"08", "57"}


def is_foreign(record: logging.LogRecord) -> bool:
    """Whether a record of the driver's loggers is of no pool of ours, whose failures are raised and told once."""
    if threading.current_thread().name.startswith(OURS):
        return False
    said = record.args if isinstance(record.args, tuple) else ()
    return not any(_is_ours(part) if hasattr(part, "pgconn") else OURS in str(part) for part in said)


def _is_ours(part: object) -> bool:
    """Whether a connection, or what was made of one, is of a pool of ours."""
    return any(connection.pgconn is getattr(part, "pgconn", None) for connection in connections)
