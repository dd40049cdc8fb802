"""Where baselines, counts and incidents are kept: one module for each store, and ``open_store``, which finds it by URL.

A store in this folder is a file with the methods of ``base.Store`` and a row in ``SCHEMES``. Stores touch files and
databases; the monitor and the command line call them. Nothing here judges.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from toolpulse.stores import url as _url

if TYPE_CHECKING:
    from toolpulse.stores.base import Store

Clock: TypeAlias = Callable[[], float]
"""Gives seconds since 1970."""


class Scheme(NamedTuple):
    """A scheme of store URLs."""

    name: str
    begins: str
    """How such a URL begins, for messages."""
    open: Callable[[str, bool, Clock], Store]
    """Makes the store of a URL; the second argument is ``existing``, see ``open_store``."""


def _memory(url: str, existing: bool, clock: Clock) -> Store:
    from toolpulse.stores.memory import MemoryStore

    if _url.rest(url):
        raise _url.nothing_follows(url)
    return MemoryStore(clock)


def _sqlite(url: str, existing: bool, clock: Clock) -> Store:
    from toolpulse.stores.sql.store import SqlStore
    from toolpulse.stores.sqlite import SqliteEngine

    return SqlStore(SqliteEngine(_url.sqlite_path(_url.rest(url)), existing=existing), clock)


def _postgresql(url: str, existing: bool, clock: Clock) -> Store:
    from toolpulse.stores.postgres import PostgresEngine
    from toolpulse.stores.sql.store import SqlStore

    return SqlStore(PostgresEngine(url, existing=existing), clock)


SCHEMES: Final[tuple[Scheme, ...]] = (
    Scheme("memory", "memory:", _memory),
    Scheme("sqlite", "sqlite:///", _sqlite),
    Scheme("postgresql", "postgresql://", _postgresql),
)
"""Every scheme. A store's module is imported when a URL asks for it, since it may need a driver."""

_OTHER_NAMES: Final = {"postgres": "postgresql"}


def open_store(url: str, *, existing: bool = False, clock: Clock = time.time) -> Store:
    """The store at a URL: ``memory:``, ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://...``.

    Nothing is opened before it is first used, so that a store may be down by then. With ``existing`` nothing is made
    where nothing is, and a damaged file stays where it is. ``clock`` gives seconds since 1970.

    Raises ConfigurationError for a URL that is none of these, and where the driver is not installed; no message holds a
    password.
    """
    name = _url.scheme(url)
    for scheme in SCHEMES:
        if scheme.name == _OTHER_NAMES.get(name, name):
            return scheme.open(url, existing, clock)
    raise _url.unknown(url, [scheme.begins for scheme in SCHEMES])
