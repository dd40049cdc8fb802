"""Where baselines, counts and incidents live."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from toolpulse.stores import url as _url

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpulse.stores.base import Store


def open_store(url: str, *, existing: bool = False, clock: Callable[[], float] = time.time) -> Store:
    """The store at a URL: ``memory:``, ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://...``.

    Nothing is opened before it is first used, so that a store may be down by then. With ``existing`` nothing is made
    where nothing is, and a damaged file stays where it is. ``clock`` gives seconds since 1970.

    Raises ConfigurationError for a URL that is none of these, and where the driver is not installed; no message holds a
    password.
    """
    scheme, rest = _url.parts(url)
    if scheme == "memory":
        from toolpulse.stores.memory import MemoryStore

        return MemoryStore(clock)
    from toolpulse.stores.sql.store import SqlStore

    if scheme == "sqlite":
        from toolpulse.stores.sqlite import SqliteEngine

        return SqlStore(SqliteEngine(_url.sqlite_path(rest), existing=existing), clock)
    from toolpulse.stores.postgres import PostgresEngine

    return SqlStore(PostgresEngine(url, existing=existing), clock)
