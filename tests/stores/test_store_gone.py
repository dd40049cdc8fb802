from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from cli_stores import _without_privileges
from scripts import environment

from toolpulse.stores import open_store
from toolpulse.stores.sql import schema as _schema
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick, pytest.mark.swallows]

GOOD = {"id": 1, "name": "x", "tags": ["a"]}
BREAK = {**GOOD, "id": "1"}


@contextmanager
def running(url, background):
    """A monitor that has learned something and has a store."""
    with RecordingMonitor(store=url, background=background, flush_interval=10_000.0) as monitor:
        for _ in range(40):
            monitor.observe("t", GOOD)
        assert monitor.flush()
        assert monitor.health().store == "ok"
        yield monitor


def goes_on_in_memory(monitor, caplog):
    """With what it knew: a break is told, nothing is counted twice or waits, and one warning says why."""
    for _ in range(2):
        monitor.observe("t", BREAK)
        assert monitor.flush()
    assert monitor.health().store == "memory"
    assert monitor.health().waiting == 0
    assert monitor.health().tools["t"].state == "watching"
    assert [event.status for event in monitor.events] == ["learned", "open"]
    (record,) = caplog.records
    return record.getMessage()


def starts_anew(url):
    """The next process uses what it finds, or makes it."""
    with RecordingMonitor(store=url) as fresh:
        fresh.observe("t", GOOD)
        assert fresh.health().store == "ok"
    store = open_store(url)
    assert store.load("t", "").observations == 1
    store.close()


def file_deleted(path):
    """Somebody cleaned up."""
    for part in path.parent.iterdir():
        part.unlink()


def folder_deleted(path):
    """Somebody cleaned up all of it."""
    shutil.rmtree(path.parent)


def folder_replaced(path):
    """Something else has the name of the folder."""
    shutil.rmtree(path.parent)
    path.parent.write_text("not a folder any more")


def moved_away(path):
    """Somebody archived it."""
    path.parent.rename(path.parent.with_name("archive"))


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("folder", ["data", ".toolpulse"])
@pytest.mark.parametrize("delete", [file_deleted, folder_deleted, folder_replaced, moved_away])
def test_a_file_that_is_deleted_is_no_outage(delete, folder, background, tmp_path, caplog):
    """Trying again would wait for ever; a new file under a running process would know nothing and say all is well."""
    path = tmp_path / folder / "t.db"
    path.parent.mkdir()
    with running(f"sqlite:///{path}", background) as monitor:
        delete(path)
        assert "was deleted; a new process makes a new one" in goes_on_in_memory(monitor, caplog)
    assert not path.exists()
    if path.parent.is_file():
        path.parent.unlink()
    path.parent.mkdir(exist_ok=True)
    starts_anew(f"sqlite:///{path}")


def by_a_text(path):
    """A text that has another place in the file system."""
    path.with_name("new").write_text("notes of mine\n" * 1000)


def by_a_database(path):
    """Another program's."""
    with closing(sqlite3.connect(path.with_name("new"))) as connection:
        connection.execute("CREATE TABLE users (name TEXT)")


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("make", [by_a_text, by_a_database])
def test_what_takes_the_place_of_the_file_is_left_alone(make, background, tmp_path, caplog):
    """A deployment moved another program's file to the place while this one ran."""
    path = tmp_path / "t.db"
    with running(f"sqlite:///{path}", background) as monitor:
        for part in tmp_path.iterdir():
            part.unlink()
        make(path)
        before = path.with_name("new").read_bytes()
        path.with_name("new").rename(path)
        assert "it was left as it is" in goes_on_in_memory(monitor, caplog)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


SHUT_OUT = """
import json, os, sys
import toolpulse
monitor = toolpulse.Monitor("sqlite:///data/inner/t.db", sinks=[], flush_interval=10_000.0)
said = []
for mode in (0o700, 0o000, 0o700):
    os.chmod("data", mode)
    monitor.observe("t", {"id": 1})
    said.append((monitor.flush(), monitor.health().store, monitor.health().waiting))
print(json.dumps(said))
"""


def test_a_folder_that_may_not_be_looked_into_is_an_outage(tmp_path):
    """Whether the file is there cannot be seen, so nothing says that it was deleted."""
    (tmp_path / "data" / "inner").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", SHUT_OUT], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
        preexec_fn=_without_privileges if os.geteuid() == 0 else None,
    )  # fmt: skip
    assert json.loads(done.stdout) == [[True, "ok", 0], [False, "retrying", 1], [True, "ok", 0]]
    assert len(done.stderr.splitlines()) == 1


def database_of(url):
    """The name of a test's own database."""
    return url.split("@/")[1].split("?")[0]


@pytest.mark.parametrize("background", [True, False])
def test_a_database_that_is_dropped_is_no_outage(background, postgres, postgres_url, caplog):
    """Nobody brings it back by asking again; what was known is judged by all the same."""
    name = database_of(postgres_url)
    with running(postgres_url, background) as monitor:
        postgres.drop_database(name)
        try:
            message = goes_on_in_memory(monitor, caplog)
        finally:
            postgres.execute("postgres", f"CREATE DATABASE {name}")
    assert "the database was dropped; a new process begins anew once there is one" in message
    assert "correct-horse" not in message
    starts_anew(postgres_url)


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize(
    "statement",
    [
        f"DROP TABLE {', '.join(_schema.TABLES)}",
        "DROP TABLE toolpulse_meta",
        "DROP TABLE toolpulse_rows",
        "DROP SCHEMA public CASCADE",
    ],
)
def test_tables_that_are_dropped_are_no_outage(statement, background, postgres, postgres_url, caplog):
    """The tables that a running process made anew would be others, and empty: it makes none."""
    name = database_of(postgres_url)
    with running(postgres_url, background) as monitor:
        postgres.execute(name, statement)
        before = postgres.execute(name, "SELECT relname FROM pg_class WHERE relname LIKE 'toolpulse%' ORDER BY 1")
        assert "its tables were dropped; a new process makes new ones" in goes_on_in_memory(monitor, caplog)
    assert before == postgres.execute(name, "SELECT relname FROM pg_class WHERE relname LIKE 'toolpulse%' ORDER BY 1")


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize(
    ("taken", "given", "why"),
    [
        ("REVOKE ALL ON {tables} FROM mia", "GRANT ALL ON {tables} TO mia", "the user may not do that"),
        (
            "REVOKE ALL ON SCHEMA public FROM mia, public",
            "GRANT USAGE ON SCHEMA public TO mia",
            "the user may not do that",
        ),
        ("ALTER ROLE mia NOLOGIN", "ALTER ROLE mia LOGIN", "or the user may not connect"),
        ("ALTER ROLE mia PASSWORD 'other'", "ALTER ROLE mia PASSWORD 'pw'", "password authentication failed"),
    ],
)
def test_rights_that_are_taken_away_are_an_outage(taken, given, why, background, postgres, postgres_url, caplog):
    """Somebody may give them back, and what was counted meanwhile is in the store then."""
    name = database_of(postgres_url)
    postgres.execute(name, "CREATE ROLE mia LOGIN PASSWORD 'pw'")
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mia'"
    tables = ", ".join(_schema.TABLES)
    try:
        postgres.execute(name, "GRANT ALL ON SCHEMA public TO mia")
        open_store(postgres_url).tools()
        postgres.execute(name, f"GRANT ALL ON {tables} TO mia")
        postgres.execute(name, "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO mia")
        url = f"postgresql://mia:pw@/{postgres_url.split('@/')[1]}"
        with running(url, background) as monitor:
            postgres.execute(name, taken.format(tables=tables))
            if taken.startswith("ALTER"):
                postgres.execute(name, cut)
            monitor.observe("t", BREAK)
            assert not monitor.flush()
            assert monitor.health().store == "retrying"
            assert [event.status for event in monitor.events] == ["learned", "open"]
            postgres.execute(name, given.format(tables=tables))
            assert monitor.flush()
            assert monitor.health().store == "ok"
        (record,) = caplog.records
        assert why in record.getMessage()
        known = open_store(postgres_url).load("t", "")
        assert known.observations == 41
    finally:
        postgres.execute(name, cut)
        postgres.execute(name, "DROP OWNED BY mia")
        postgres.execute(name, "DROP ROLE mia")
