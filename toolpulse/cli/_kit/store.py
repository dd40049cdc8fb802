"""The store that a command works on: which one, and opening it without creating or moving anything."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.exits import Exit, complain
from toolpulse.cli._kit.text import listed, plural, with_key
from toolpulse.errors import ConfigurationError, StoreError, StoreMissing, StoreUnreadable
from toolpulse.stores import open_store
from toolpulse.stores.default import DEFAULT_FILE, VARIABLE

if TYPE_CHECKING:
    from toolpulse.state.snapshot import Snapshot
    from toolpulse.stores.sql.store import SqlStore

_SQLITE: Final = "sqlite:///"

FOLLOW: Final = "running processes follow within one flush interval"
"""What happens after a change to the store."""


def db_argument(parser: argparse.ArgumentParser) -> None:
    """``--db``: the URL of the store; it becomes ``args.db``."""
    parser.add_argument("--db", metavar="URL",
                        help=f"the store: sqlite:///file or postgresql://... (default ${VARIABLE}, "
                        f"else {_SQLITE}{DEFAULT_FILE})")  # fmt: skip


def url_of(args: argparse.Namespace) -> str:
    """The URL that was given, else that of the environment variable, else the default one."""
    if args.db is not None:
        return str(args.db)
    return os.environ.get(VARIABLE) or _SQLITE + DEFAULT_FILE


def file_of(url: str) -> Path | None:
    """The file of a SQLite store; None for another store."""
    return Path(url[len(_SQLITE) :]) if url.lower().startswith(_SQLITE) else None


def may_be_there(url: str) -> bool:
    """Whether other processes can find a store at this URL, now or later: not in the memory of one process."""
    return not url.lower().startswith("memory:")


def is_missing(error: StoreError, url: str) -> bool:
    """Whether an error says that there is no store, or not even a folder for it."""
    file = file_of(url)
    return isinstance(error, StoreMissing) or (file is not None and lacks_folder(file))


def lacks_folder(file: Path) -> bool:
    """Whether the folder of a file does not exist. False where this user may not look."""
    try:
        file.absolute().parent.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def exists(path: str | Path) -> bool:
    """Whether a file exists. False where its folder may not be read, for which ``Path.exists`` raises."""
    return os.path.exists(path)  # noqa: PTH110 - see above


@contextmanager
def opened(args: argparse.Namespace, *, make: bool = False) -> Iterator[SqlStore]:
    """A block with the store of a command, closed at its end. Only with ``make`` a missing store is created.

    Raises ConfigurationError for a bad URL. A store that is missing or damaged raises StoreError at its first use.
    """
    from toolpulse.stores.sql.store import SqlStore

    url = url_of(args)
    file = file_of(url)
    # `existing` leaves a damaged file where it is, instead of moving it aside
    existing = not make or (file is not None and exists(file))
    try:
        store = open_store(url, existing=existing)
        if not isinstance(store, SqlStore):
            raise ConfigurationError("memory: is the memory of one process; name a store that outlives it")
    except ConfigurationError as error:
        named = "--db" if args.db is not None else VARIABLE
        # the message names a monitor's setting; here it was an option or a variable
        raise ConfigurationError(f"{named}: {str(error).removeprefix('store: ')}") from None
    try:
        yield store
    finally:
        store.close()


class Snapshots:
    """Every tool and key of a store whose tool is ``wanted``, with its snapshot.

    One that cannot be read is named on stderr and left out.
    """

    def __init__(self, store: SqlStore, wanted: Callable[[str], bool]) -> None:
        self._store = store
        self._wanted = wanted
        self.code = Exit.OK
        """The exit code of the command, once all were read: INPUT where one was left out."""

    def __iter__(self) -> Iterator[tuple[str, str, Snapshot]]:
        for tool, key in self._store.tools():
            if not self._wanted(tool):
                continue
            try:
                snapshot = self._store.load(tool, key)
            except StoreUnreadable as error:
                complain(f"{with_key(tool, key)} was left out: {error}")
                self.code = Exit.INPUT
                continue
            if snapshot is not None:
                yield tool, key, snapshot


def keys_of(store: SqlStore, tool: str) -> list[str]:
    """The keys of a tool that the store knows."""
    return [key for name, key in store.tools() if name == tool]


def one_key(store: SqlStore, tool: str, key: str | None) -> str:
    """The key that was asked for, else the only key of the tool.

    Raises ConfigurationError where the tool has not that key, or where it has several and none was asked for.
    """
    keys = keys_of(store, tool)
    if key is not None:
        if key not in keys:
            raise ConfigurationError(f"{tool} has no key {key!r}; it has {listed(list(map(repr, keys)), 8)}")
        return key
    if len(keys) != 1:
        raise ConfigurationError(
            f"{tool} has {plural(len(keys), 'key')}, so --key has to name one: {listed(list(map(repr, keys)), 8)}"
        )
    return keys[0]
