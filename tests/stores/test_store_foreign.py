from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from cli_runs import one_line, ran
from scripts import environment
from snapshots import everything, taught

from toolpulse import Baseline
from toolpulse.errors import StoreForeign, StoreUnusable
from toolpulse.stores import open_store
from toolpulse.stores import sqlite as _sqlite
from toolpulse.stores.sqlite_file import APPLICATION, refuse_others
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick]

GOOD = {"id": 1, "name": "x"}


@pytest.fixture
def path(tmp_path):
    """Where something is that is not ours."""
    return tmp_path / "app.db"


def url_of(path):
    """The URL of a SQLite file."""
    return f"sqlite:///{path}"


def lies_in(folder):
    """All that lies in a folder: names, bytes, modes, and times of the last change."""
    return {
        found.name: (
            found.read_bytes() if found.is_file() else b"",
            found.lstat().st_mode,
            found.lstat().st_mtime_ns,
            found.is_symlink() and found.readlink(),
        )
        for found in folder.iterdir()
    }


def text(path):
    """A text, longer than a page of a database."""
    path.write_text("notes of mine\n" * 1000)


def short_text(path):
    """A text that is shorter than the header of a database."""
    path.write_text("x")


def database(path):
    """A database of another program, with its content on the disk."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE users (name TEXT)")
        connection.execute("INSERT INTO users VALUES ('mia')")
        connection.commit()


def journalled(path):
    """The same with a write-ahead log, closed well."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    database(path)


def numbered(path):
    """A database that has no table yet, and says whose it is."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")


def versioned(path):
    """A database that has no table yet, and a version of another program."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")


def namesake(path):
    """A database in which another program has a table of the name of ours."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE toolpulse_meta (id INTEGER, note TEXT)")


def half_a_namesake(path):
    """The same, and the table that tells is not among them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE toolpulse_rows (id INTEGER)")


def like_ours(path):
    """A table with the columns of ours, and something else in it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE toolpulse_meta (name TEXT, value TEXT)")
        connection.execute("INSERT INTO toolpulse_meta VALUES ('schema', 'large')")
        connection.commit()


def broken(path):
    """A database of another program that is damaged."""
    database(path)
    path.write_bytes(path.read_bytes()[:100] + b"\x5a" * 8092)


def folder(path):
    """A folder."""
    path.mkdir()


def pipe(path):
    """A pipe, at which reading would wait for ever."""
    os.mkfifo(path)


def listening(path):
    """A socket."""
    with closing(socket.socket(socket.AF_UNIX)) as made:
        here = os.open(path.parent, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def _dying(path, statements):
    """Run statements on a connection ``c`` in a process that is killed with all of it still open."""
    code = f"import os, sqlite3; c = sqlite3.connect({str(path)!r}, isolation_level=None); {statements}"
    code += "; os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9


def in_its_log(path):
    """A database of which even the first table waits in the write-ahead log; its program was killed."""
    _dying(path, "c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE users (name TEXT)')")


def half_written(path):
    """A database whose program was killed in the middle of a transaction, its journal beside it."""
    many = "c.executemany('INSERT INTO users VALUES (?)', [('y' * 500,)] * 5000)"
    _dying(
        path,
        f"c.execute('CREATE TABLE users (name TEXT)'); c.execute('PRAGMA cache_size = 1'); c.execute('BEGIN'); {many}",
    )


def linked(path):
    """A link to a database of another program."""
    database(path.with_name("other.db"))
    path.symlink_to("other.db")


def linked_to_a_folder(path):
    """A link to a folder."""
    path.with_name("other").mkdir()
    path.symlink_to("other")


NOT_OURS = [
    text, short_text, database, journalled, numbered, versioned, namesake, half_a_namesake, like_ours, broken, folder,
    pipe, listening, in_its_log, half_written, linked, linked_to_a_folder,
]  # fmt: skip


@pytest.mark.swallows
@pytest.mark.parametrize("make", NOT_OURS)
def test_what_is_not_ours_is_refused_and_left_as_it_is(make, path, tmp_path, capsys, caplog):
    """A URL with the wrong path must not cost anybody a file, nor change one: not its log, its journal or its time."""
    make(path)
    before = lies_in(tmp_path)
    with RecordingMonitor(store=url_of(path)) as monitor:
        for _ in range(12):
            monitor.observe("t", GOOD)
        assert monitor.health().store == "memory"
        assert monitor.health().tools["t"].state == "watching"
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    for command in (["status"], ["doctor"], ["log"], ["forget", "t"]):
        code, out, err = ran(capsys, *command, "--db", url_of(path))
        assert (code, out) == (4, "")
        assert str(path) in one_line(err)
    assert lies_in(tmp_path) == before


def test_a_database_that_is_in_use_is_left_to_its_program(path, tmp_path):
    """Its program has it open, and its log beside it, while somebody mistypes a path."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE users (name TEXT)")
        before = lies_in(tmp_path)
        with pytest.raises(StoreForeign, match=r"app\.db is the database of another program; it was left as it is"):
            open_store(url_of(path)).tools()
        assert lies_in(tmp_path) == before
        connection.execute("PRAGMA wal_checkpoint")
        before = lies_in(tmp_path)
        with pytest.raises(StoreForeign):
            open_store(url_of(path)).tools()
        assert lies_in(tmp_path) == before


def test_a_program_that_makes_its_first_table_meanwhile_keeps_its_file(path, monkeypatch):
    """Between the look at an empty file and the first word in it another program may have been faster."""
    path.touch()
    store = open_store(url_of(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE users (name TEXT)")
        looked = threading.Event()
        monkeypatch.setattr(_sqlite.turns, "begin", _after(looked.set, _sqlite.turns.begin))
        found = []
        asking = threading.Thread(target=lambda: found.append(_refusal(store)))
        asking.start()
        looked.wait()
        other.execute("COMMIT")
        asking.join()
        assert found == [StoreForeign]
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("users",)]
        assert other.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def _after(first, then):
    def run(*arguments):
        first()
        return then(*arguments)

    return run


def _refusal(store):
    try:
        store.tools()
    except StoreUnusable as error:
        return type(error)
    return None


def save(store, batch=1):
    """Save something."""
    with store.transaction("t", "", "w") as transaction:
        transaction.save(taught(transaction.now) if transaction.now.observations else everything(), (), batch)


def _application(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA application_id").fetchone()[0]


def _unsigned(path):
    """What earlier versions made: no number in the header says whose file it is."""
    store = open_store(url_of(path))
    save(store)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA application_id = 0")


@pytest.mark.parametrize("existing", [True, False])
def test_a_database_of_an_earlier_version_is_ours(path, existing):
    """What was learned before the header said whose it is must not be refused; who only asks leaves it so."""
    _unsigned(path)
    store = open_store(url_of(path), existing=existing)
    assert store.load("t", "") == everything()
    store.close()
    assert _application(path) == (0 if existing else APPLICATION)


@pytest.mark.parametrize("signed", [True, False])
def test_a_file_that_is_being_written_to_is_no_damaged_one(signed, path):
    """What waits is written from the first page on, which says how many there will be; one may look in between."""
    _unsigned(path)
    if signed:
        open_store(url_of(path)).tools()
    refuse_others(path, "it")
    whole = path.read_bytes()
    path.write_bytes(whole[:-4096])
    refuse_others(path, "it")


def test_our_tables_among_those_of_another_program_are_ours(path):
    """An earlier version made them there; they go on, and the header stays the other program's."""
    _unsigned(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA application_id = 7")
        connection.execute("CREATE TABLE users (name TEXT)")
    store = open_store(url_of(path))
    assert store.load("t", "") == everything()
    store.close()
    assert _application(path) == 7


def test_an_empty_file_is_ours_to_fill_and_keeps_its_mode(path):
    """Whoever wants several users to share a store makes the file for them first."""
    path.touch()
    path.chmod(0o660)
    store = open_store(url_of(path))
    save(store)
    assert {stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()} == {0o660}
    store.close()


def test_a_link_leads_to_the_file(path, tmp_path):
    """A deployment links the place to a volume; the file is made there, once."""
    (tmp_path / "volume").mkdir()
    path.symlink_to("volume/real.db")
    for batch in (1, 2):
        store = open_store(url_of(path))
        save(store, batch)
        store.close()
    assert path.is_symlink()
    assert [found.name for found in (tmp_path / "volume").iterdir()] == ["real.db"]


MANIFEST = {
    "schema": 1, "model_requested": "m", "model_returned": "m-1", "model_params": {}, "tool_timeout_s": 30,
    "tool_schemas": "a" * 64, "prompts": "b" * 64, "lockfile": "c" * 64, "python": "3.11.7",
}  # fmt: skip

MADE = [
    "./t.db", "./t.db-wal", "./t.db-shm", "./logs/agent/drift.jsonl", "./baseline.json", "./trace.jsonl",
    "./releases/prompts/answer.json", "./.toolpulse/toolpulse.db",
]  # fmt: skip

WRITING = """
import json, os, sys
os.umask(int(sys.argv[1], 8))
import toolpulse
from toolpulse.sinks.jsonl import JsonlSink
monitor = toolpulse.Monitor("sqlite:///t.db", sinks=[JsonlSink("logs/agent/drift.jsonl")], background=False)
for _ in range(12):
    monitor.observe("t", {"id": 1})
with toolpulse.Monitor(sinks=[], background=False) as other:
    other.observe("t", {"id": 1})
toolpulse.Baseline.learn([{"id": 1}]).save("baseline.json")
toolpulse.Baseline.learn([{"id": 1}, {"id": 2}]).save("baseline.json")
from toolpulse.provenance.ledger import Ledger
from toolpulse.provenance.manifest import manifest_of
from toolpulse.provenance.writer import TraceWriter
Ledger("releases/prompts").record("answer", {"system": "s"}, partial=True)
TraceWriter("trace.jsonl", manifest_of(json.loads(sys.argv[2]))).close()
import stat
for folder, _, names in os.walk("."):
    for name in names:
        print(oct(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)), os.path.join(folder, name))
    if folder != ".":
        print(oct(stat.S_IMODE(os.stat(folder).st_mode)), folder + "/")
"""


@pytest.mark.parametrize("umask", ["000", "022"])
def test_what_we_make_is_for_its_user_alone(umask, tmp_path):
    """Names of fields tell what an application is about; nobody else on the machine has to read them."""
    done = subprocess.run(
        [sys.executable, "-c", WRITING, umask, json.dumps(MANIFEST)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    modes = {name: mode for mode, name in (line.split() for line in done.stdout.splitlines())}
    folders = {name for name in modes if name.endswith("/")}
    assert folders == {"./.toolpulse/", "./logs/", "./logs/agent/", "./releases/", "./releases/prompts/"}
    assert {modes[name] for name in folders} == {"0o700"}
    # in a folder of ours, and tells nothing
    files = modes.keys() - folders - {"./.toolpulse/.gitignore"}
    assert files == {*MADE}
    assert {modes[name] for name in files} == {"0o600"}


def test_no_file_is_readable_by_others_even_for_a_moment(tmp_path, monkeypatch):
    """A mode that is set after the file is there leaves it open in between: it is made with the mode."""
    modes = []
    opened, made = os.open, os.mknod

    def watched(path, flags, mode=0o777, **more):
        if flags & os.O_CREAT:
            modes.append(mode)
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", watched)
    monkeypatch.setattr(os, "mknod", lambda path, mode: (modes.append(stat.S_IMODE(mode)), made(path, mode)))
    store = open_store(url_of(tmp_path / "t.db"))
    save(store)
    store.close()
    Baseline.learn([GOOD]).save(tmp_path / "baseline.json")
    assert modes
    assert set(modes) == {0o600}


def test_a_file_that_was_there_keeps_its_mode(tmp_path):
    """A baseline is committed and read by a build; learning it anew must not lock that out."""
    target = tmp_path / "baseline.json"
    Baseline.learn([GOOD]).save(target)
    target.chmod(0o644)
    Baseline.learn([GOOD, GOOD]).save(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


LOCKING = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_a_look_at_a_file_lets_go_of_no_lock(path):
    """The locks of a file are a process's: one connection that is closed badly ends the transaction of another."""
    _unsigned(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN IMMEDIATE")
        other = open_store(url_of(path), existing=True)
        assert other.tools() == [("t", "")]
        other.close()
        done = subprocess.run([sys.executable, "-c", LOCKING, path], capture_output=True, text=True, check=True)
        assert done.stdout == "database is locked\n"


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE toolpulse_meta (id integer, note text)"],
        ["CREATE TABLE toolpulse_rows (id integer)"],
        ["CREATE VIEW toolpulse_tools AS SELECT 1 AS id"],
        [
            "CREATE TABLE toolpulse_meta (name text, value text)",
            "INSERT INTO toolpulse_meta VALUES ('schema', 'large')",
        ],
        ["CREATE TABLE toolpulse_meta (name text, value bigint)"],
    ],
)
@pytest.mark.swallows
def test_tables_of_another_program_on_a_server_are_refused(statements, postgres, postgres_url, caplog):
    """Two programs that chose the same names must not write into each other's tables."""
    name = postgres_url.split("@/")[1].split("?")[0]
    for statement in statements:
        postgres.execute(name, statement)
    tables = "SELECT relname, relkind FROM pg_class WHERE relname LIKE 'toolpulse%' ORDER BY 1"
    before = postgres.execute(name, tables)
    with RecordingMonitor(store=postgres_url) as monitor:
        monitor.observe("t", GOOD)
        assert monitor.health().store == "memory"
    (record,) = caplog.records
    assert "that ToolPulse did not make; nothing was changed" in record.getMessage()
    assert postgres.execute(name, tables) == before
