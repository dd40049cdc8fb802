"""Where things are kept when nobody says where."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from toolpulse.errors import ConfigurationError
from toolpulse.stores import open_store

if TYPE_CHECKING:
    from toolpulse.stores.base import Store

VARIABLE: Final = "TOOLPULSE_DB"
"""The environment variable that holds the URL of the default store."""

DEFAULT_FILE: Final = ".toolpulse/toolpulse.db"
"""The SQLite file without one, below the working directory."""


def default_store() -> Store:
    """The store at ``$TOOLPULSE_DB``, else the file below the working directory; memory where it cannot be written.

    Raises ConfigurationError naming the variable where what it holds is no URL of a store.
    """
    url = os.environ.get(VARIABLE)
    if url:
        try:
            return open_store(url)
        except ConfigurationError as error:
            raise ConfigurationError(f"{VARIABLE}: {str(error).removeprefix('store: ')}") from None
    from toolpulse.stores.sql.store import SqlStore
    from toolpulse.stores.sqlite import SqliteEngine

    return SqlStore(SqliteEngine(DEFAULT_FILE, optional=True))
