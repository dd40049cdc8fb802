"""Makes the files beside it. They were made by the code of commit efc5258, and stay as they are:

    git worktree add /tmp/before efc5258 && PYTHONPATH=/tmp/before python make.py

There is everything in them that a store, a baseline file and an event log hold: shapes learned, let go and kept apart,
incidents of every status, decisions, maps, calls that failed, events sent and not sent. The rows are the same for both
databases; only the statements that make the tables differ.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

from toolpulse.paths import format_path
from toolpulse.stores._postgres import PostgresEngine
from toolpulse.stores._schema import MIGRATIONS, TABLES
from toolpulse.stores._sqlite import SqliteEngine

from toolpulse import Baseline, Consumer, Limits, Monitor, taught
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.stores.sql import SqlStore

HERE = Path(__file__).parent

CLOCK = 1_790_000_000.0
"""The store's time, in seconds since 1970."""

GOOD = {"id": 1, "name": "x", "tags": ["a"]}
NO_NAME = {"id": 1, "tags": ["a"]}
TEXT_ID = {"id": "1", "name": "x", "tags": ["a"]}
MORE = {**GOOD, "more": 1}
NO_TAGS = {"id": 1, "name": "x"}


def see(monitor, tool, response, times=1, key=None):
    """Observe a response so many times."""
    for _ in range(times):
        monitor.observe(tool, response, key=key)
    monitor.flush()


def learn(monitor, tool):
    """Have a tool known."""
    see(monitor, tool, GOOD, 60)


def one(monitor, tool):
    """The id of a tool's only incident."""
    (incident,) = monitor.incidents(tool)
    return incident.id


class Failing:
    """A sink that takes nothing."""

    def emit(self, event):
        """Raise."""
        raise OSError("the disk is full")


def traffic(store, log):
    """Everything that may happen to a tool, a tool for each."""
    with Monitor(store, sinks=[JsonlSink(log)], background=False) as monitor:
        for tool in ("open", "resolved", "reopened", "accepted", "rejected", "ignored", "noted"):
            learn(monitor, tool)
        see(monitor, "open", TEXT_ID, 3)
        see(monitor, "open", NO_NAME, 2)
        see(monitor, "noted", MORE, 3)
        for tool in ("resolved", "reopened"):
            see(monitor, tool, TEXT_ID, 4)
            see(monitor, tool, GOOD, 60)
        see(monitor, "reopened", TEXT_ID, 20)
        for tool in ("accepted", "rejected", "ignored"):
            see(monitor, tool, TEXT_ID, 4)
        monitor.accept(one(monitor, "accepted"), reason="agreed", who="me")
        monitor.reject(one(monitor, "rejected"), reason="a bug of theirs")
        monitor.ignore(one(monitor, "ignored"), "id", reason="nobody reads it")
        see(monitor, "accepted", TEXT_ID, 2)
        for key in ("de", "é\0\ud800'\\"):
            see(monitor, "keyed", GOOD, 30, key)
            see(monitor, "keyed", NO_TAGS, 3, key)
        for number in range(40):
            see(monitor, "maps", {"stock": {f"item-{number}": 1, f"item-{number + 1}": 2}})
        for number in range(30):
            see(monitor, "let go", {"id": 1, **{f"f{bit}": 1 for bit in range(5) if number >> bit & 1}})

        @monitor.watch(tool="failing", limits=Limits(elements=3), unwrap="none")
        def failing(good):
            if not good:
                raise TimeoutError
            return {"items": list(range(9))}

        for number in range(30):
            with suppress(TimeoutError):
                failing(number % 4 > 0)
        monitor.flush()
    with Monitor(store, sinks=[], background=False, confirm=10) as monitor:
        learn(monitor, "pending")
        see(monitor, "pending", TEXT_ID, 3)
    with Monitor(store, sinks=[Failing()], background=False) as monitor:
        learn(monitor, "unsent")
        see(monitor, "unsent", TEXT_ID, 3)


def literal(value):
    """A value as both databases take it."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def inserts(connection):
    """A statement for each row."""
    for table in TABLES:
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        columns = ", ".join(name for name, *_ in rows.description)
        for row in rows:
            yield f"INSERT INTO {table} ({columns}) VALUES ({', '.join(map(literal, row))})"


def write(name, statements):
    """Write statements, a line each."""
    (HERE / name).write_text("".join(f"{statement};\n" for statement in statements), "ascii")


def tables(engine):
    """The statements that make the tables."""
    statements = (statement for version in MIGRATIONS for statement in version if not statement.startswith("INSERT"))
    return [" ".join(statement.replace("{serial}", engine.serial).split()) for statement in statements]


def known(store):
    """What the code that made the files knows by them, in words that stay."""
    return {
        "tools": [[*name, of_tool(store.load(*name))] for name in store.tools()],
        "events": [event.id for event in store.events()],
        "waiting": [event.id for event in SqlStore(store._engine, lambda: CLOCK + 100).claim("make", 1000)],
    }


def of_tool(now):
    """The same of one tool."""
    return {
        "observations": now.observations,
        "learned": sorted([row.shape.fingerprint, row.count, row.first, row.last] for row in now.rows.values()),
        "quarantined": sorted([one.row.shape.fingerprint, one.row.count] for one in now.held.values()),
        "incidents": {i.id: [i.status, i.count, i.opened, i.last, i.told, i.tellings] for i in now.incidents.values()},
        "decisions": {d.id: [d.action, d.incident, d.reason, d.who] for d in now.decisions.values()},
        "maps": [format_path(decision.path) for decision in now.maps_learned],
        "merged": now.merged.observations.count if now.merged else 0,
        "errors": now.calls.errors,
        "cuts": sorted(map(list, now.cuts)),
    }


def main():
    """Make the files."""
    taught.MOST_SHAPES = 8  # so that shapes are let go, and the files stay small
    (HERE / "drift.jsonl").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/store.db"
        store = SqlStore(SqliteEngine(path), clock=lambda: CLOCK)
        traffic(store, HERE / "drift.jsonl")
        assert store.check() == []
        connection = sqlite3.connect(path)
        write("rows.sql", inserts(connection))
        write("sqlite.sql", tables(SqliteEngine))
        last = connection.execute("SELECT MAX(seq) FROM toolpulse_events").fetchone()[0]
        again = f"ALTER TABLE toolpulse_events ALTER COLUMN seq RESTART WITH {last + 1}"
        write("postgresql.sql", [*tables(PostgresEngine), again])
        connection.close()
        (HERE / "known.json").write_text(json.dumps(known(store), indent=1) + "\n", "ascii")
        store.close()
    responses = [{**GOOD, "stock": {f"item-{n}": 1, f"item-{n + 100}": 2}} for n in range(40)]
    responses += [{"id": 1, "name": "x", "stock": {"other": 1}}] * 3
    Baseline.learn(responses, consumers=[Consumer("reader", requires=["id", "name"], null="high")]).save(
        HERE / "baseline.json"
    )


if __name__ == "__main__":
    main()
