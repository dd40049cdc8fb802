"""Where baselines, counts, incidents and events are kept: in memory, in a SQLite file or in PostgreSQL.

``base`` is the protocol that the monitor calls; ``memory``, ``sqlite`` and ``postgres`` keep it, the latter two by the
statements in ``sql``. The stores read clocks and open files and connections; they judge nothing. ``runtime`` and
``cli`` call them.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolpulse.stores import url as _url

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolpulse.stores.base import Store

SCHEMES: Final = {
    "memory": "toolpulse.stores.memory",
    "sqlite": "toolpulse.stores.sqlite",
    "postgresql": "toolpulse.stores.postgres",
    "postgres": "toolpulse.stores.postgres",
}
"""The module for each scheme of a URL, imported when used. It has ``open_url(url, existing, clock) -> Store``."""


def open_store(url: str, *, existing: bool = False, clock: Callable[[], float] = time.time) -> Store:
    """The store at a URL: ``memory:``, ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://...``.

    Nothing is opened before it is first used, so that a store may be down by then. With ``existing`` nothing is made
    where nothing is, and a damaged file stays where it is. ``clock`` gives seconds since 1970.

    Raises ConfigurationError for a URL that is none of these, and where the driver is not installed; no message holds a
    password.
    """
    module = import_module(SCHEMES[_url.scheme(url, SCHEMES)])
    store: Store = module.open_url(url, existing, clock)
    return store
