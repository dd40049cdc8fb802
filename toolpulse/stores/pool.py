"""Connections to PostgreSQL, of psycopg's pool; as the interpreter ends, and no thread can be started, without it."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from toolpulse.errors import ConfigurationError
from toolpulse.stores.causes import OURS, connections, is_foreign

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

EXTRA: Final = "toolpulse[postgres]"

WAIT: Final = 5
"""Seconds to wait for a connection."""

_OPTIONS: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": None,  # behind PgBouncer the next transaction has another session
    "connect_timeout": WAIT,
    "tcp_user_timeout": 1000 * WAIT,
    "keepalives_idle": 30,
    "application_name": "toolpulse",
}


def drivers() -> tuple[Any, Any]:
    """The modules psycopg and psycopg_pool. Raises ConfigurationError where they are not installed."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError:
        raise ConfigurationError(f"store: PostgreSQL needs psycopg and its pool: pip install '{EXTRA}'") from None
    for name in ("psycopg", "psycopg.pool"):
        logging.getLogger(name).addFilter(is_foreign)
    return psycopg, psycopg_pool


class Pool:
    """Connections to the database of a URL, made where they are needed and kept for the next one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: psycopg_pool.ConnectionPool[Any] | None = None
        self._lock = threading.RLock()
        _pools.add(self)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection; what is not committed at the end is undone. Raises psycopg's errors."""
        pool = None if _ending.is_set() else self._open()
        connection = pool.getconn(timeout=WAIT) if pool else self._connect()
        try:
            yield connection
        finally:
            _undo(connection)
            if pool:
                pool.putconn(connection)
            else:
                connection.close()

    def _open(self) -> psycopg_pool.ConnectionPool[Any]:
        with self._lock:
            if self._pool is None:
                self.ask()
                self._pool = self._made()
            return self._pool

    def _made(self) -> psycopg_pool.ConnectionPool[Any]:
        _, pools = drivers()
        return pools.ConnectionPool(  # type: ignore[no-any-return]
            self._url,
            kwargs=_OPTIONS,
            name=f"{OURS}{next(_numbers)}",
            configure=connections.add,
            check=pools.ConnectionPool.check_connection,
            min_size=0,
            max_size=2,
            max_idle=60,
            open=True,
            timeout=WAIT,
            reconnect_timeout=WAIT,
            num_workers=1,
        )

    def _connect(self) -> psycopg.Connection[Any]:
        driver, _ = drivers()
        connection: psycopg.Connection[Any] = driver.connect(self._url, **_OPTIONS)
        connections.add(connection)
        return connection

    def ask(self) -> None:
        """Connect once, and see: the pool does not say why it cannot. Raises psycopg's errors."""
        self._connect().close()

    def drop(self, wait: float = 0.0) -> None:
        """Let go of all connections; the next use makes new ones, and is told at once where that fails."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=wait)

    def after_fork(self) -> None:
        """Leave the connections to the parent; the pool's threads are not here."""
        self._lock = threading.RLock()
        if self._pool is not None:
            _parents.append(self._pool)
        self._pool = None


def _undo(connection: psycopg.Connection[Any]) -> None:
    """End what was not committed; a connection that broke is closed, and so let go."""
    if connection.info.transaction_status.name == "IDLE":
        return
    driver, _ = drivers()
    try:
        connection.execute(b"ROLLBACK")
    except driver.Error:
        connection.close()


_numbers = count(1)
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_parents: list[Any] = []
"""Pools of the parent of this process: kept, so that nothing closes them."""

_ending = threading.Event()


@atexit.register
def _end() -> None:
    """A pool that is open when the interpreter ends waits seconds for its threads, which are gone by then."""
    _ending.set()
    for pool in list(_pools):
        with suppress(Exception):
            pool.drop()
