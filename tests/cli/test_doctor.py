from __future__ import annotations

import shutil
import socket
from itertools import pairwise
from types import SimpleNamespace

import pytest
from cli_runs import one_line, ran
from cli_stores import GOOD, HOSTILE, as_json, broken, change, files, fill, newer, printed, refused, sqlite

from toolpulse import Monitor
from toolpulse.stores.sql import schema as _schema


def problems(capsys, url):
    """What the doctor finds, in both forms; each comes with what to do."""
    code, out, err = ran(capsys, "doctor", "--db", url)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    found = [(what.strip(), todo.strip()) for what, todo in pairwise(lines) if "to do:" in todo]
    assert lines[0] == f"{len(found)} PROBLEM{'S' * (len(found) > 1)}"
    assert all(todo.removeprefix("to do: ") for _, todo in found)
    assert all(line.isprintable() for line in lines)
    code, out, err = ran(capsys, "doctor", "--db", url, "--json")
    assert (code, err) == (1, "")
    return [what for what, _ in found]


def test_a_store_that_is_well(any_db, capsys):
    """Where is it, what is it, how big is it, who writes, what is open: all that a report of a fault should say."""
    broken(any_db)
    fill(any_db, (GOOD, 1), tool="app.other")
    lines = printed(capsys, any_db, "doctor")
    assert lines[0] == "HEALTHY"
    found = as_json(capsys, any_db, "doctor")
    assert (found["schema"], found["code"]) == (1, 0)
    store = found["store"]
    assert store["engine"] == any_db.partition(":")[0]
    assert store["version"][0].isdigit()
    assert store["schema"] == _schema.SCHEMA
    assert store["size"] > 10_000
    assert (store["tools"], store["incidents"], store["risk"]) == (2, 1, "high")
    assert store["outbox"] == {"waiting": 0, "oldest": "", "writers": 2}
    assert store["problems"] == []
    text = "\n".join(lines)
    for shown in (store["where"], store["version"], f"schema {_schema.SCHEMA}", "1 open, worst high"):
        assert shown in text


def test_it_shows_no_password(postgres_url, capsys):
    """Its output goes into tickets."""
    password = postgres_url.partition(":")[2].partition(":")[2].partition("@")[0]
    broken(postgres_url)
    for flags in ([], ["--json"]):
        assert password not in "\n".join(printed(capsys, postgres_url, "doctor", *flags))


def test_it_changes_nothing(db, tmp_path, capsys):
    """An examination that alters the patient is none; a store that is no more written is still the same file."""
    broken(db)
    before = files(tmp_path)
    printed(capsys, db, "doctor")
    assert files(tmp_path) == before


def test_a_damaged_page(db, tmp_path, capsys):
    """SQLite's own examination, in a sentence each, or the plain refusal where not even that is possible."""
    broken(db)
    whole = bytearray((tmp_path / "toolpulse.db").read_bytes())
    page = int.from_bytes(whole[16:18], "big")
    whole[-page + 8 : -page + 200] = b"\xff" * 192
    (tmp_path / "toolpulse.db").write_bytes(whole)
    code, out, err = ran(capsys, "doctor", "--db", db)
    assert code in (1, 4)
    assert "aside" in (out if code == 1 else one_line(err))
    assert (tmp_path / "toolpulse.db").read_bytes() == whole


@pytest.mark.parametrize(
    ("statement", "told_of"),
    [
        ("UPDATE toolpulse_rows SET shape = '{' WHERE quarantined = 0", "cannot be read"),
        ("UPDATE toolpulse_rows SET shape = '\"string\"' WHERE quarantined = 0", "does not have this fingerprint"),
        ("UPDATE toolpulse_rows SET seen = 999", "count"),
        ("UPDATE toolpulse_incidents SET findings = '[1]'", "incident"),
        ("UPDATE toolpulse_events SET body = '{}'", "event"),
        ("UPDATE toolpulse_tools SET state = 's3cr3t'", "state"),
    ],
)
def test_what_is_not_whole(db, capsys, statement, told_of):
    """A hand in the tables, a disk that lies: which tool, what, and how to go on; never the text itself."""
    broken(db)
    change(db, statement)
    found = problems(capsys, db)
    assert any(told_of in what for what in found)
    assert "s3cr3t" not in str(found)


def test_events_that_nobody_sends(db, capsys):
    """A decision made while nobody runs waits for the next process; after an hour that is worth a word."""
    broken(db)
    printed(capsys, db, "reject", "search_docs", "--reason", "x")
    store = as_json(capsys, db, "doctor")["store"]
    assert store["outbox"]["waiting"] == 1
    assert store["outbox"]["oldest"].startswith("20")
    change(db, 'UPDATE toolpulse_events SET body = REPLACE(body, \'"time":"2\', \'"time":"1\') WHERE sent IS NULL')
    (what,) = problems(capsys, db)
    assert "1 event to be sent" in what
    sent = []
    with Monitor(db, background=False, sinks=[SimpleNamespace(emit=sent.append)]) as monitor:
        monitor.observe("app.search_docs", GOOD)
    assert [event.status for event in sent] == ["rejected"]
    assert printed(capsys, db, "doctor")[0] == "HEALTHY"


@pytest.mark.parametrize("body", ["'{}'", 'REPLACE(body, \'"time":"2\', \'"time":"x\')'])
def test_an_event_that_waits_and_cannot_be_read(db, capsys, body):
    """It is one problem among others, and keeps nobody from seeing them."""
    broken(db)
    printed(capsys, db, "reject", "search_docs", "--reason", "x")
    change(db, f"UPDATE toolpulse_events SET body = {body} WHERE sent IS NULL")
    change(db, "UPDATE toolpulse_rows SET shape = '{' WHERE quarantined = 0")
    assert any("shape" in what for what in problems(capsys, db))


def test_files_kept_aside(db, tmp_path, capsys):
    """A process moved a damaged store and went on; somebody has to look at it before it is thrown away."""
    broken(db)
    kept = tmp_path / "toolpulse.db.damaged-20260301T120000Z"
    shutil.copy(tmp_path / "toolpulse.db", kept)
    for suffix in ("-wal", "-shm"):
        kept.with_name(kept.name + suffix).write_bytes(b"")
    (what,) = problems(capsys, db)
    assert str(kept) in what
    (tmp_path / "toolpulse.db").unlink()
    line = refused(capsys, 4, db, "doctor")
    assert "there is no such file" in line
    assert str(kept) in line


def test_a_disk_that_is_nearly_full(db, capsys, monkeypatch):
    """The store will refuse soon; what was counted waits in memory only."""
    broken(db)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(total=10**9, used=10**9 - 5, free=5))
    (what,) = problems(capsys, db)
    assert what.startswith("5 bytes are left")


def test_a_store_this_user_cannot_write(db, capsys, monkeypatch):
    """The doctor is often asked by another user than the one the application runs as."""
    broken(db)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    (what,) = problems(capsys, db)
    assert "cannot be written by this user" in what


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_what_cannot_be_read(tmp_path, capsys, flags):
    """Each line says what to do."""
    assert "--db names another" in refused(capsys, 4, sqlite(tmp_path), "doctor", *flags)
    assert f"make the folder {tmp_path / 'no'}" in refused(capsys, 4, sqlite(tmp_path / "no"), "doctor", *flags)
    (tmp_path / "text.db").write_text("notes of mine " * 500)
    line = refused(capsys, 4, sqlite(tmp_path, "text.db"), "doctor", *flags)
    assert line.endswith("text.db is no SQLite database; it was left as it is; --db names another")
    broken(sqlite(tmp_path, "cut.db"))
    (tmp_path / "cut.db").write_bytes((tmp_path / "cut.db").read_bytes()[:8192])
    assert "move it aside" in refused(capsys, 4, sqlite(tmp_path, "cut.db"), "doctor", *flags)
    broken(sqlite(tmp_path))
    newer(sqlite(tmp_path))
    line = refused(capsys, 4, sqlite(tmp_path), "doctor", *flags)
    assert "upgrade it" in line
    assert "aside" not in line


def server_advice(capsys, url) -> str:
    """The one line of a server that cannot be used, which ends with what to do."""
    line = refused(capsys, 4, url, "doctor")
    return line.partition("; ")[2]


def test_a_server_that_cannot_be_used(postgres, postgres_url, capsys, tmp_path):
    """Whoever sets it up for the first time reads what to do next, and not only what failed."""
    database = postgres_url.split("@/")[1].split("?")[0]
    assert "tables are made" in server_advice(capsys, postgres_url)
    assert "CREATE in the schema" in server_advice(capsys, postgres_url)
    assert "PGPASSWORD" in server_advice(capsys, postgres.url("postgres", "wr0ng"))
    assert "CREATE DATABASE" in server_advice(capsys, postgres.url("nothing"))
    postgres.execute(database, "CREATE TABLE toolpulse_meta (id integer, note text)")
    assert server_advice(capsys, postgres_url) == "nothing was changed; --db names another"
    assert "start the server" in server_advice(capsys, f"postgresql://me@/db?host={tmp_path}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "start the server" in server_advice(capsys, f"postgresql://me@127.0.0.1:{port}/db")


def test_a_user_that_may_do_nothing(postgres, postgres_url, capsys):
    """The doctor of a colleague with a role of his own."""
    broken(postgres_url)
    database = postgres_url.split("@/")[1].split("?")[0]
    postgres.execute(database, "CREATE ROLE mia LOGIN PASSWORD 'pw'")
    try:
        url = f"postgresql://mia:pw@/{postgres_url.split('@/')[1]}"
        assert "GRANT" in server_advice(capsys, url)
        assert "CREATE on the schema" in server_advice(capsys, url)
    finally:
        postgres.execute(database, "DROP ROLE mia")


def test_hostile_names_are_harmless(db, capsys):
    """Its report names tools."""
    broken(db, tool=HOSTILE)
    change(db, "UPDATE toolpulse_tools SET state = 'x'")
    assert problems(capsys, db)
