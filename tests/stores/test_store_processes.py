from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from snapshots import taught
from store_writers import save, save_for_sure, write, write_for_ever, write_to

from toolpulse.stores import open_store

pytestmark = [pytest.mark.attack, pytest.mark.quick]

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def sqlite(tmp_path):
    """The URL of a new file."""
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture(params=["sqlite", "postgres_url"])
def url(request):
    """The URL of an empty database of each engine."""
    return request.getfixturevalue(request.param)


@contextmanager
def opened(url):
    """A store that is closed at the end."""
    store = open_store(url)
    yield store
    store.close()


def assert_whole(url, batches):
    """Each batch is there once: in the counts, the ordinals, the incident and the hours."""
    with opened(url) as store:
        now = store.load("t", "")
        assert now.observations == 2 * batches
        assert sum(row.count for row in now.rows.values()) == batches
        assert [one.row.count for one in now.quarantined.values()] == [batches]
        assert [incident.count for incident in now.incidents.values()] == [batches]
        assert sum(store.traffic("t", "", 0).values()) == 2 * batches
        assert store.check() == []


def test_processes_take_turns(url):
    """Three processes that begin at the same moment, on a database without tables: not one batch is lost."""
    processes = [SPAWN.Process(target=write, args=(url, f"w{number}", 40)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert_whole(url, 120)


def test_threads_with_a_store_each_take_turns(url):
    """Several monitors of one process are like several processes."""
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, url, f"w{number}", 30) for number in range(4)]:
            done.result(100)
    assert_whole(url, 120)


def test_threads_that_share_a_store_take_turns(url):
    """A store that is given to two monitors is one connection for both."""
    with opened(url) as store, ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write_to, store, f"w{number}", 20) for number in range(4)]:
            done.result(100)
    assert_whole(url, 80)


def test_a_transaction_excludes_others_on_its_tool(url):
    """What was read is still so when it is written; other tools need not wait where the engine can tell them apart."""
    inside, go = threading.Event(), threading.Event()

    def first():
        with opened(url) as store, store.transaction("t", "", "w") as transaction:
            inside.set()
            go.wait(60)
            transaction.save(taught(transaction.now), (), 1)

    def second():
        with opened(url) as store, store.transaction("t", "", "v") as transaction:
            return transaction.now.observations

    with ThreadPoolExecutor(2) as pool, opened(url) as store:
        store.tools()
        one = pool.submit(first)
        assert inside.wait(60)
        other = pool.submit(second)
        assert store.load("t", "") is None
        if url.startswith("postgresql"):
            assert store.forget("u", "") is False
        assert not other.done()
        go.set()
        one.result(60)
        assert other.result(60) == 1


def test_a_writer_that_is_killed_loses_no_batch(url):
    """kill -9 in the middle of a flush: what was reported is there, and nothing is there by half."""
    reported = 0
    for _ in range(4):
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=write_for_ever, args=(url, "w", theirs))
        process.start()
        for _ in range(5):
            assert ours.poll(60)
            reported = ours.recv()
        process.kill()
        process.join(60)
        while ours.poll(0):
            reported = ours.recv()
        with opened(url) as store, store.transaction("t", "", "w") as transaction:
            saved = transaction.saved
        assert saved - reported in (0, 1)
        assert_whole(url, saved)
    assert reported >= 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_a_fork_has_a_connection_of_its_own(url):
    """A pre-fork server: what the parent opened is the parent's, and both go on."""
    with opened(url) as store:
        save(store, "parent", 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.after_fork()
                for batch in range(1, 21):
                    save_for_sure(store, "child", batch)
                code = 0
            finally:
                os._exit(code)
        for batch in range(2, 21):
            save_for_sure(store, "parent", batch)
        assert os.waitpid(child, 0)[1] == 0
        save(store, "parent", 21)
    assert_whole(url, 41)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_in_the_middle_of_a_transaction_harms_neither(url):
    """Any thread may fork at any time: the child has nothing of the transaction, and the parent all of it."""
    with opened(url) as store, store.transaction("t", "", "parent") as transaction:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.after_fork()
                code = 0 if store.load("t", "") is None else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        transaction.save(taught(transaction.now), (), 1)
    with opened(url) as store:
        assert store.load("t", "").observations == 1
        assert store.check() == []


@pytest.mark.skipif(sys.platform != "linux", reason="the files that are open are listed by Linux")
def test_sqlite_is_closed_while_the_process_forks(sqlite, tmp_path):
    """SQLite's locks are those of a process; a child that inherits a connection would believe to have them."""
    with opened(sqlite) as store:
        save(store, "w", 1)
        assert _open_files(tmp_path)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, str(len(_open_files(tmp_path))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 10) == b"0"
        os.close(reader)
        os.close(writer)
        save(store, "w", 2)
    assert_whole(sqlite, 2)


def _open_files(folder):
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(link.readlink())
    return [path for path in found if folder in path.parents]


LAST_FLUSH = """
import atexit, sys
from store_writers import open_store, save
store = open_store(sys.argv[1])
if sys.argv[2] == "used":
    store.tools()
atexit.register(lambda: save(store, "w", 1))
from toolpulse.stores import pool as _pool
atexit.register(lambda: save(store, "v", 1))
"""


@pytest.mark.parametrize("before", ["used", "not used"])
def test_what_is_saved_as_the_interpreter_ends_is_saved(url, before):
    """A short program's only flush is its last; no thread can be started by then, and none must be waited for."""
    command = [sys.executable, "-W", "ignore", "-c", LAST_FLUSH, url, before]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert_whole(url, 2)


def test_a_server_that_is_killed_loses_no_batch(postgres, postgres_url, caplog):
    """kill -9 of PostgreSQL under load: writers try again, and each batch is there once."""
    stores = [open_store(postgres_url) for _ in range(2)]
    half = threading.Barrier(3)

    def work(number):
        for batch in range(1, 41):
            if batch == 10:
                half.wait(60)
            save_for_sure(stores[number], f"w{number}", batch)

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(work, number) for number in range(2)]
        half.wait(60)
        postgres.kill()
        postgres.start()
        for done in jobs:
            done.result(100)
    assert_whole(postgres_url, 80)
    assert "toolpulse" not in caplog.text
    for store in stores:
        store.close()


def test_a_connection_that_was_cut_is_replaced(postgres, postgres_url, caplog):
    """Administrators, proxies and firewalls end idle connections; the next flush must not notice."""
    with opened(postgres_url) as store:
        save(store, "w", 1)
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolpulse'"
        assert postgres.execute("postgres", ended)
        save(store, "w", 2)
    assert_whole(postgres_url, 2)
    assert caplog.text == ""
