from __future__ import annotations

import re
import shutil
import sqlite3
import stat

import pytest
from scripts import run
from snapshots import POOL, everything, let_go, taught

from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.shape.nodes import Scalar
from toolpulse.stores import open_store
from toolpulse.stores import sqlite as _sqlite
from toolpulse.stores import sqlite_file as _sqlite_file
from toolpulse.stores.sql import schema as _schema
from toolpulse.stores.sql.store import SqlStore
from toolpulse.stores.sqlite import SqliteEngine

EVENT = """INSERT INTO toolpulse_events (id, tool_id, body, writer, leased, written)
    VALUES ('e', 't', '5', '', 0, 0)"""
"""Puts an event in a file that cannot be read."""


@pytest.fixture
def path(tmp_path):
    """Where the file is."""
    return tmp_path / "t.db"


_opened = []


@pytest.fixture(autouse=True)
def closed():
    """Close what a test opened."""
    yield
    while _opened:
        _opened.pop().close()


def _open(path, **options):
    _opened.append(SqlStore(SqliteEngine(str(path), **options)))
    return _opened[-1]


def _saved(path):
    """A store on a file in which something is known."""
    store = _open(path)
    with store.transaction("t", "", "w") as transaction:
        transaction.save(everything(), (), 1)
    return store


def _statement(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_a_newer_schema_is_refused_and_left_as_it_is(path):
    """An older program on a newer file must not write what the newer one cannot read."""
    _saved(path).close()
    _statement(path, "UPDATE toolpulse_meta SET value = 99 WHERE name = 'schema'")
    before = path.read_bytes()
    for existing in (False, True):
        store = _open(path, existing=existing)
        for ask in (store.tools, lambda store=store: store.forget("t", ""), store.check):
            with pytest.raises(StoreUnusable, match=rf"schema 99.* newer ToolPulse.* up to {_schema.SCHEMA}"):
                ask()
        store.close()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_a_newer_program_migrates_is_let_go_at_once(path):
    """A rolling upgrade: the old process notices in its next transaction, and writes nothing more."""
    store = _saved(path)
    newer = _schema.SCHEMA + 1
    _statement(path, f"UPDATE toolpulse_meta SET value = {newer} WHERE name = 'schema'")
    with (
        pytest.raises(StoreUnusable, match=f"schema {newer}"),
        store.transaction("t", "", "w") as transaction,
    ):
        transaction.save(taught(transaction.now), (), 2)
    with pytest.raises(StoreUnusable, match=f"schema {newer}"):
        store.load("t", "")


def test_a_migration_that_fails_leaves_the_version_before(path, monkeypatch):
    """A half-made schema would be refused by every version."""
    _saved(path).close()
    before, version = _schema.MIGRATIONS, _schema.SCHEMA + 1
    newer = ("CREATE TABLE toolpulse_more (id TEXT)", "NO SQL")
    monkeypatch.setattr(_schema, "MIGRATIONS", (*before, newer))
    monkeypatch.setattr(_schema, "SCHEMA", version)
    store = _open(path)
    with pytest.raises(StoreError, match="syntax error"):
        store.tools()
    monkeypatch.setattr(_schema, "MIGRATIONS", (*before, newer[:1]))
    assert store.tools() == [("t", "")]
    assert store.schema == version
    assert store.load("t", "") == everything()


def _pages(path):
    """Damage every page but the first."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)


def _header(path):
    path.write_bytes(b"no database at all" + path.read_bytes()[18:])


def _tail(path):
    """Cut off all but the first two pages."""
    path.write_bytes(path.read_bytes()[: 2 * 4096])


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize("damage", [_pages, _tail])
def test_a_damaged_file_is_set_aside(path, damage):
    """The next start begins anew, and what can be saved of the old file still can."""
    _saved(path).close()
    damage(path)
    damaged = path.read_bytes()
    store = _open(path)
    with pytest.raises(StoreUnusable, match=r"t\.db is .*; it was moved to t\.db\.damaged-\d{8}T\d{6}Z, and the"):
        store.load("t", "")
    assert not path.exists()
    (aside,) = (file for file in path.parent.iterdir() if file.name.endswith("Z"))
    assert aside.read_bytes() == damaged
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600
    assert _open(path).load("t", "") is None


@pytest.mark.parametrize("damage", [_pages, _header])
def test_who_only_asks_moves_no_damaged_file(path, damage):
    """A look at a file, even at a damaged one, changes nothing."""
    _saved(path).close()
    damage(path)
    damaged = path.read_bytes()
    with pytest.raises(StoreUnusable, match="it was left as it is"):
        _open(path, existing=True).tools()
    assert path.read_bytes() == damaged
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.attack
@pytest.mark.quick
def test_a_file_that_was_replaced_meanwhile_is_not_moved(path, monkeypatch):
    """Two processes find the same damage; the second must not move the sound file of the first."""
    _saved(path).close()
    _pages(path)
    damaged = path.read_bytes()
    monkeypatch.setattr(_sqlite_file, "identity", lambda path: object())
    with pytest.raises(StoreUnusable, match="by now another file is in its place"):
        _open(path).load("t", "")
    assert path.read_bytes() == damaged
    assert list(path.parent.iterdir()) == [path]


def test_a_row_that_cannot_be_read_is_told_and_named(path):
    """Damage that SQLite does not see: the store says so in one line, and the check names the place."""
    store = _saved(path)
    _statement(path, "UPDATE toolpulse_rows SET shape = '{' WHERE quarantined = 0")
    _statement(path, "UPDATE toolpulse_incidents SET findings = '[5]'")
    other = _open(path)
    with pytest.raises(StoreUnusable, match="holds what cannot be read; see `toolpulse doctor`"):
        other.load("t", "")
    faults = store.check()
    assert any(fault.startswith("t: shape ") and fault.endswith(" cannot be read") for fault in faults)
    assert any(fault.startswith("t: incident ") for fault in faults)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE toolpulse_rows SET seen = seen + 1000", r"t: its shapes count \d+ of \d+ observations"),
        ("UPDATE toolpulse_rows SET fingerprint = 'f'", r"t: shape f does not have this fingerprint"),
        ("UPDATE toolpulse_rows SET first_at = last_at + 1", r"t: shape \w+: count, first and last do not go together"),
        ("UPDATE toolpulse_rows SET tool_id = 'none'", r"none: shape \w+ belongs to no tool"),
        ("UPDATE toolpulse_merged SET profile = '5'", r"t: the evidence of the shapes let go cannot be read"),
        ("UPDATE toolpulse_tools SET state = '5'", r"t: its state cannot be read"),
        ("UPDATE toolpulse_decisions SET body = '5'", r"t: decision d99 cannot be read"),
        (
            EVENT,
            "events: event e cannot be read",
        ),
    ],
)
def test_the_check_names_what_is_wrong(path, statement, fault):
    """Whoever runs it wants to know what, and where."""
    store = _saved(path)
    _statement(path, statement)
    assert [said for said in store.check() if re.fullmatch(fault, said)]


def test_hours_of_shapes_that_are_gone_are_one(path):
    """A tool of which every response has another shape must not leave a line an hour for each."""
    store = _open(path)
    for number in range(1, 21):
        with store.transaction("t", "", "w") as transaction:
            now = taught(transaction.now, Scalar(f"other:app.Thing{number}"))
            transaction.save(let_go(now) if number > 3 else now, (), number)
    connection = sqlite3.connect(path)
    counted = connection.execute("SELECT COUNT(*), SUM(seen) FROM toolpulse_hours").fetchone()
    connection.close()
    assert counted == (len(store.load("t", "").rows) + 1, 20)


def test_an_event_that_cannot_be_read_keeps_no_other_back(path):
    """One damaged line must not silence a store."""
    store = _open(path)
    store.tools()
    _statement(
        path,
        EVENT,
    )
    assert store.events() == store.claim("w", 10) == []


def test_tables_that_are_gone_are_made_by_the_next_process(path):
    """Somebody dropped the tables by hand: what a new process learns is kept again."""
    store = _saved(path)
    for table in _schema.TABLES:
        _statement(path, f"DROP TABLE {table}")
    for _ in range(2):
        with pytest.raises(StoreUnusable, match="its tables were dropped; a new process makes new ones"):
            store.tools()
    with _open(path).transaction("t", "", "w") as transaction:
        assert transaction.now.observations == 0


@pytest.mark.attack
@pytest.mark.quick
def test_whoever_used_a_file_that_was_deleted_does_not_take_the_new_one_for_it(path):
    """It would forget what it knows, take a break for what is ordinary, and say that all is well."""
    store = _saved(path)
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(StoreUnusable, match=r"t\.db was deleted; a new process makes a new one"):
        store.load("t", "")
    assert list(path.parent.iterdir()) == []
    with _open(path).transaction("t", "", "w") as transaction:
        transaction.save(taught(transaction.now, POOL[0]), (), 1)
    assert _open(path).load("t", "").observations == 1
    with pytest.raises(StoreUnusable, match="replaced"), store.transaction("t", "", "w"):
        pass


@pytest.mark.attack
@pytest.mark.quick
def test_a_copy_that_was_put_back_is_read_from_its_beginning(path, tmp_path):
    """It has the same numbers as what was read before, and another history."""
    store = _saved(path)
    store.close()
    shutil.copy(path, tmp_path / "copy")
    with store.transaction("t", "", "w") as transaction:
        transaction.save(taught(transaction.now, POOL[1]), (), 2)
    shutil.move(tmp_path / "copy", path)
    other = _open(path)
    for number, shape in enumerate(POOL[2:4], 2):
        with other.transaction("t", "", "v") as transaction:
            transaction.save(taught(transaction.now, shape), (), number)
    assert store.load("t", "") == _open(path).load("t", "")


def test_its_folder_is_made_private_and_out_of_git(tmp_path):
    """What tools return is not for the repository, nor for whoever shares the machine."""
    store = _open(tmp_path / ".toolpulse" / "toolpulse.db")
    assert store.tools() == []
    folder = tmp_path / ".toolpulse"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"


def test_another_folder_is_not_made(tmp_path):
    """A misspelt path is told, not created."""
    store = _open(tmp_path / "none" / "t.db")
    with pytest.raises(StoreError, match="none: there is no such folder"):
        store.tools()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path):
    """The error names the path; where nobody asked for that place, trying again is in vain."""
    (tmp_path / ".toolpulse").write_text("a file where the folder should be")
    for optional, kind in ((False, StoreError), (True, StoreUnusable)):
        with pytest.raises(StoreError, match=str(tmp_path)) as raised:
            _open(tmp_path / ".toolpulse" / "toolpulse.db", optional=optional).tools()
        assert type(raised.value) is kind


def test_a_lock_that_is_held_is_waited_for_and_then_told(path, monkeypatch):
    """Another program that holds the file is no reason to give it up: the next attempt finds it."""
    monkeypatch.setattr(_sqlite.turns, "BUSY_TIMEOUT", 0.01)
    store = _saved(path)
    store.close()
    holder = sqlite3.connect(path, isolation_level=None)
    store.tools()
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked") as raised, store.transaction("t", ""):
        raise AssertionError
    assert type(raised.value) is StoreError
    assert store.load("t", "") == everything()
    holder.close()
    with store.transaction("t", ""):
        pass


def test_a_full_disk_loses_nothing(path):
    """The flush fails as a whole, and the next one that fits is saved."""
    store = _saved(path)
    pages = store._engine._connection.execute("PRAGMA page_count").fetchone()[0]
    store._engine._connection.execute(f"PRAGMA max_page_count = {pages}")
    before = store.load("t", "")
    large = "x" * 1_000_000
    with pytest.raises(StoreError, match="full"), store.transaction("t", "", "w") as transaction:
        transaction.save(taught(transaction.now, encoding=large), (), 2)
    assert store.load("t", "") == before
    with store.transaction("t", "", "w") as transaction:
        assert transaction.saved == 1
        transaction.save(taught(transaction.now), (), 2)


def test_an_old_sqlite_is_refused(path, monkeypatch):
    """Without RETURNING nothing works; the version that does is named."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreUnusable, match=r"too old; 3\.35\.0 is the oldest"):
        _open(path).tools()
    assert not path.exists()


def test_a_file_name_is_taken_letter_by_letter(tmp_path):
    """What looks like an option or an escape is a name."""
    path = tmp_path / "file:t%20 é.db"
    store = open_store(f"sqlite:///{path}")
    assert store.tools() == []
    store.close()
    assert path.exists()


def test_a_monitor_that_nobody_closed_leaves_no_open_file_behind(tmp_path):
    """In development mode Python warns of files that are left open; ours would be noise in every program."""
    script = """
import gc, os, toolpulse
def used():
    toolpulse.Monitor("sqlite:///own.db", sinks=[], background=False).observe("t", 1)
used()
gc.collect()
fds = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
assert not [link for link in fds if "own.db" in os.path.realpath(f"/proc/self/fd/{link}")]
toolpulse.watch(tool="t")(lambda: 1)()
"""
    done = run(script, tmp_path, env={"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"})
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / ".toolpulse" / "toolpulse.db").exists()
