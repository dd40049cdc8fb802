"""The tables, and how they come about: one migration a version, made in one transaction, never gone back.

The version is a row of ``toolpulse_meta``, not one of the database, so that the tables may live beside others.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from toolpulse.errors import StoreForeign, StoreMissing, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from toolpulse.stores.sql.engine import Database, Engine

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE toolpulse_meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
        """INSERT INTO toolpulse_meta (name, value)
            VALUES ('schema', 0), ('decided', 0), ('forgotten', 0), ('tidied', 0)""",
        """CREATE TABLE toolpulse_tools (
            id TEXT PRIMARY KEY, tool TEXT NOT NULL, key TEXT NOT NULL, born TEXT NOT NULL,
            flush BIGINT NOT NULL, epoch BIGINT NOT NULL, observations BIGINT NOT NULL, merged BIGINT NOT NULL,
            state TEXT NOT NULL, first_time DOUBLE PRECISION NOT NULL, last_time DOUBLE PRECISION NOT NULL)""",
        "CREATE TABLE toolpulse_merged (tool_id TEXT PRIMARY KEY, profile TEXT NOT NULL)",
        """CREATE TABLE toolpulse_rows (
            tool_id TEXT NOT NULL, id TEXT NOT NULL, place BIGINT NOT NULL, held INTEGER NOT NULL,
            fingerprint TEXT NOT NULL, shape TEXT NOT NULL, encoding TEXT NOT NULL, body TEXT NOT NULL,
            seen BIGINT NOT NULL, first_at BIGINT NOT NULL, last_at BIGINT NOT NULL,
            changed BIGINT NOT NULL, written BIGINT NOT NULL, PRIMARY KEY (tool_id, id))""",
        """CREATE TABLE toolpulse_incidents (
            tool_id TEXT NOT NULL, id TEXT NOT NULL, place BIGINT NOT NULL, body TEXT NOT NULL, findings TEXT NOT NULL,
            changed BIGINT NOT NULL, written BIGINT NOT NULL, PRIMARY KEY (tool_id, id))""",
        """CREATE TABLE toolpulse_decisions (
            tool_id TEXT NOT NULL, id TEXT NOT NULL, place BIGINT NOT NULL, body TEXT NOT NULL, findings TEXT NOT NULL,
            changed BIGINT NOT NULL, written BIGINT NOT NULL, PRIMARY KEY (tool_id, id))""",
        """CREATE TABLE toolpulse_events (
            seq {serial}, id TEXT NOT NULL UNIQUE, tool_id TEXT NOT NULL, body TEXT NOT NULL, writer TEXT NOT NULL,
            leased DOUBLE PRECISION NOT NULL, written DOUBLE PRECISION NOT NULL, sent DOUBLE PRECISION)""",
        "CREATE INDEX toolpulse_events_of_tool ON toolpulse_events (tool_id)",
        "CREATE INDEX toolpulse_events_waiting ON toolpulse_events (seq) WHERE sent IS NULL",
        """CREATE TABLE toolpulse_writers (
            tool_id TEXT NOT NULL, writer TEXT NOT NULL, batch BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (tool_id, writer))""",
        """CREATE TABLE toolpulse_hours (
            tool_id TEXT NOT NULL, shape TEXT NOT NULL, hour BIGINT NOT NULL, seen BIGINT NOT NULL,
            PRIMARY KEY (tool_id, shape, hour))""",
    ),
    (
        "ALTER TABLE toolpulse_tools RENAME COLUMN born TO created_nonce",
        "ALTER TABLE toolpulse_tools RENAME COLUMN flush TO version",
        "ALTER TABLE toolpulse_tools RENAME COLUMN epoch TO deletions",
        "ALTER TABLE toolpulse_rows RENAME COLUMN held TO quarantined",
        "ALTER TABLE toolpulse_rows RENAME COLUMN place TO order_number",
        "ALTER TABLE toolpulse_incidents RENAME COLUMN place TO order_number",
        "ALTER TABLE toolpulse_decisions RENAME COLUMN place TO order_number",
    ),
)
"""Statements that lead from each version to the next; versions count from 1."""

SCHEMA: Final = len(MIGRATIONS)
"""The version this program reads and writes."""

TABLES: Final = tuple(
    f"toolpulse_{name}" for name in "meta tools merged rows incidents decisions events writers hours".split()
)

NAMES: Final = frozenset({*TABLES, "toolpulse_events_of_tool", "toolpulse_events_waiting"})
"""Of the tables and their indexes."""

OF_A_TOOL: Final = tuple(table for table in TABLES if table not in {"toolpulse_meta", "toolpulse_tools"})
"""The tables whose rows belong to a tool and key."""


def are_there(columns: Mapping[str, AbstractSet[str]], where: str) -> bool:
    """Whether our tables are in a database, by the columns of those that have their names.

    Raises StoreForeign where somebody else made tables of these names.
    """
    if not columns:
        return False
    if not {"name", "value"} <= columns.get("toolpulse_meta", frozenset()):
        raise _foreign(where, min(columns))
    return True


def _foreign(where: str, table: str) -> StoreForeign:
    return StoreForeign(f"{where}: a table {table} is there that ToolPulse did not make; nothing was changed")


def dropped(where: str) -> StoreUnusable:
    """What is raised where the tables were there, and are not any more."""
    return StoreUnusable(f"{where}: its tables were dropped; a new process makes new ones")


def facts(db: Database, where: str) -> dict[str, int]:
    """What the tables say of themselves: ``schema``, their version; ``identity``, by which they are told from others.

    ``decided`` grows with each change that nobody observed, ``forgotten`` with each tool that is forgotten; ``tidied``
    is when they were tidied last, in seconds since 1970. Raises StoreUnusable where a newer program made them,
    StoreForeign where another one did.
    """
    try:
        values = {str(name): int(value) for name, value in db.execute("SELECT name, value FROM toolpulse_meta")}
        version, _ = values["schema"], values["identity"]
    except (KeyError, TypeError, ValueError):
        raise _foreign(where, "toolpulse_meta") from None
    if version > SCHEMA:
        raise StoreUnusable(
            f"{where} has schema {version}, which a newer ToolPulse made; this one reads up to {SCHEMA}: upgrade it"
        )
    return values


def prepare(engine: Engine) -> None:
    """Make the tables, or bring them up to this version, in one transaction; a newer one is left as it is.

    Raises StoreUnusable for a newer one, and where they were there and are not any more; StoreForeign for another
    program's; StoreMissing where there are none and none are to be made.
    """
    with engine.reading() as db:
        there = engine.has_tables(db)
        if there and facts(db, engine.shown)["schema"] == SCHEMA:
            return
    if engine.existing and not there:
        raise StoreMissing(f"{engine.shown}: there is no store of ToolPulse in it")
    if engine.used and not there:
        raise engine.lost()
    with engine.transaction("schema") as db:
        version = facts(db, engine.shown)["schema"] if engine.has_tables(db) else 0
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                db.execute(statement.replace("{serial}", engine.serial))
        if not version:
            db.execute("INSERT INTO toolpulse_meta (name, value) VALUES ('identity', ?)", (secrets.randbits(62),))
        db.execute("UPDATE toolpulse_meta SET value = ? WHERE name = 'schema'", (SCHEMA,))
