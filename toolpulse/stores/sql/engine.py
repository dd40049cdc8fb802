"""What an engine gives to the SQL store: transactions on a database, with its errors in our words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from toolpulse.errors import StoreError


class Database(Protocol):
    """Statements within a transaction. Values stand for ``?`` and are never part of a statement."""

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; the rows it gives."""

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each of many rows of values."""


class Engine(Protocol):
    """One database, opened at its first use. Raises StoreError, or StoreUnusable where trying again is in vain."""

    name: str
    shown: str
    """Where it is, without a password."""
    serial: str
    """The type of a column that numbers its rows."""
    existing: bool
    """Whether nothing is made where nothing is."""
    used: bool
    """Whether its tables were there before: what is not there any more then was deleted."""
    opened: int
    """How often it was opened. What was read before may be of another history: of a copy put back, or a replica."""
    skip_locked: str
    """What makes a SELECT lock its rows and pass over those that others have locked."""

    def transaction(self, lock: str = "") -> AbstractContextManager[Database]:
        """Begin a transaction that writes; transactions with the same ``lock`` exclude each other."""

    def reading(self) -> AbstractContextManager[Database]:
        """Begin a transaction that reads: it sees one state throughout, and waits for nobody."""

    def has_tables(self, db: Database) -> bool:
        """Whether our tables are there. Raises StoreForeign where it is not ours to make them."""

    def lost(self) -> StoreError:
        """What is raised where our tables were there, and are not found any more."""

    def version(self, db: Database) -> str:
        """The engine's version."""

    def size(self, db: Database) -> int:
        """How many bytes the store takes."""

    def faults(self, db: Database) -> list[str]:
        """What the engine itself finds wrong with the database."""

    def ready(self) -> None:
        """Open it and bring its tables up to date, if that is still to do."""

    def after_fork(self) -> None:
        """Leave connections to the parent."""

    def close(self) -> None:
        """Let go of connections."""
