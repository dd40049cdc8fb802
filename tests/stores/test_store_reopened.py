from __future__ import annotations

import sqlite3
from contextlib import closing

import snapshots
from snapshots import POOL

from toolpulse.state.snapshot import EMPTY
from toolpulse.stores import open_store


def save(store, batch, shape):
    """One batch of a writer: one more observation of a shape."""
    with store.transaction("t", "", "w") as transaction:
        transaction.save(snapshots.taught(transaction.now or EMPTY, shape), batch=batch, events=())


def test_what_was_known_is_forgotten_when_a_database_is_opened_again(tmp_path):
    """It may be a backup, which has as many changes by now as the one before, and other ones."""
    path, backup = tmp_path / "t.db", tmp_path / "backup.db"
    store = open_store(f"sqlite:///{path}")
    save(store, 1, POOL[1])
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    save(store, 2, POOL[3])
    assert {row.shape for row in store.load("t", "").rows.values()} == {POOL[1], POOL[3]}
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    backup.replace(path)
    other = open_store(f"sqlite:///{path}")
    save(other, 2, POOL[4])
    assert store.load("t", "") == other.load("t", "")
    assert {row.shape for row in store.load("t", "").rows.values()} == {POOL[1], POOL[4]}
    store.close()
    other.close()
