from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from programs import PRELUDE, told, whole
from scripts import run

from toolpulse.errors import StoreUnusable
from toolpulse.stores import open_store
from toolpulse.stores import sqlite as _sqlite
from toolpulse.stores.base import LEASE
from toolpulse.stores.sql.schema import SCHEMA
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")]

GOOD = {"id": 1, "name": "x", "tags": ["a"]}
BREAK = {**GOOD, "id": "1"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A new database of each kind."""
    return f"sqlite:///{tmp_path}/t.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def file(tmp_path):
    """Where a SQLite file is to be."""
    return tmp_path / "t.db"


KILLED = """
url, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
FIELDS = {f"field_{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]}": 1 for n in range(60)}
broken = {**FIELDS, sorted(FIELDS)[number]: "text"}
monitor = Monitor(url, sinks=[JsonlSink("drift.jsonl")], flush_interval=0.001)
known = open("known", "w")
for _ in range(40 if number == 0 else 1):
    monitor.observe("t", FIELDS)
n = 0
while True:
    n += 1
    for _ in range(5):
        monitor.observe("t", FIELDS)
        monitor.observe("t", broken)
        monitor.observe("t", {**FIELDS, f"more_{'abcdefghij'[n % 10]}": n})
    if n % 3 == seed % 3 and monitor.flush(60):
        known.seek(0)
        known.write(f"{monitor.health().tools['t'].calls:9}")
        known.flush()
"""


def _killed_again_and_again(start, folder, rounds):
    url = f"sqlite:///{folder}/t.db"
    chance = random.Random(rounds)
    store = open_store(url)
    observations, incidents = 0, {}
    for number in range(rounds):
        (folder / "known").unlink(missing_ok=True)
        program = start(KILLED, url, number, number)
        program.wait_until(lambda: (folder / "known").exists() and (folder / "known").read_text())
        time.sleep(chance.uniform(0, 0.05))
        program.kill()
        known = whole(store)
        assert known.observations >= observations + int((folder / "known").read_text())
        for name, incident in incidents.items():
            assert known.incidents[name].count >= incident.count
        assert incidents.keys() <= known.incidents.keys()
        observations, incidents = known.observations, known.incidents
    store.close()
    _all_is_told_in_the_end(folder, url, rounds)


def _all_is_told_in_the_end(folder, url, rounds):
    """One more process sees each break again, when every lease of those before it has run out."""
    script = f"""{PRELUDE}
from toolpulse.stores import open_store
FIELDS = {{f"field_{{'abcdefghij'[n // 10]}}{{'abcdefghij'[n % 10]}}": 1 for n in range(60)}}
store = open_store({url!r}, clock=lambda: time.time() + {10 * LEASE})
with Monitor(store, sinks=[JsonlSink("drift.jsonl")], flush_interval=10_000.0) as monitor:
    for number in range({rounds}):
        monitor.observe("t", {{**FIELDS, sorted(FIELDS)[number]: "text"}})
    assert monitor.flush(60)
"""
    done = run(script, folder)
    assert (done.returncode, done.stderr) == (0, "")
    store = open_store(url, clock=lambda: time.time() + 100 * LEASE)
    known = whole(store)
    breaks = [incident for incident in known.incidents.values() if incident.risk.is_news]
    assert len(breaks) == rounds
    reported, stored = told(folder), {event.id: event.status for event in store.events()}
    assert stored.items() <= reported.items()
    # a writer that was killed between the report and the commit may have seen an incident end that then went on
    assert {status for name, status in reported.items() if name not in stored} <= {"resolved"}
    assert store.claim("somebody", 1000) == []
    store.close()


def test_killed_writers_lose_nothing_that_was_committed(start, tmp_path):
    """A container that is out of memory ends in the middle of a flush; the next one must find a whole store."""
    _killed_again_and_again(start, tmp_path, 8)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_killed_writers_lose_nothing_that_was_committed(start, tmp_path):
    """The same at fifty other moments."""
    _killed_again_and_again(start, tmp_path, 50)


EVERY_STATEMENT = """
import signal
from toolpulse.stores import sqlite as _sqlite, open_store
url = sys.argv[1]

def flush(monitor):
    monitor.observe("t", BREAK)
    monitor.observe("t", GOOD)
    return monitor.flush(60)

class Sink:
    def emit(self, event):
        with open("drift.jsonl", "a") as file:
            file.write(event.id + " " + event.status + chr(10))

def monitor_of(clock=time.time):
    return Monitor(open_store(url, clock=clock), sinks=[Sink()], background=False)

with monitor_of() as monitor:
    for _ in range(40):
        monitor.observe("t", GOOD)
store = open_store(url)
committed = 0
execute = _sqlite._Database.execute

class Dying:
    left = 0

    def execute(self, statement, values=()):
        if "SELECT" != statement[:6]:
            Dying.left -= 1
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(self, statement, values)

    def many(self, statement, rows):
        rows = list(rows)
        if rows:
            Dying.left -= 1
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._connection.executemany(statement, rows)

deaths = 0
for number in range(1, 40):
    before = store.load("t", "")
    pid = os.fork()
    if pid == 0:
        _sqlite._Database.execute, _sqlite._Database.many = Dying.execute, Dying.many
        Dying.left = number
        os._exit(0 if flush(monitor_of()) else 3)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    after = store.load("t", "")
    assert store.check() == [], number
    gained = after.observations - before.observations
    assert sum(row.count for row in after.rows.values()) + sum(
        held.row.count for held in after.quarantined.values()) == after.observations
    assert before.incidents.keys() <= after.incidents.keys()
    if code == 0:
        assert gained == 2
        break
    assert code == -signal.SIGKILL, code
    assert gained in (0, 1, 2)
    deaths += 1
with monitor_of(lambda: time.time() + 10_000) as monitor:
    flush(monitor)
(incident,) = store.load("t", "").incidents.values()
lines = dict(line.split() for line in open("drift.jsonl"))
assert lines == {event.id: event.status for event in store.events()}, lines
assert sorted(lines.values()) == ["learned", "open"]
print(json.dumps([deaths, incident.count == sum(held.row.count for held in store.load("t", "").quarantined.values())]))
"""


def test_a_writer_killed_before_each_statement_leaves_all_or_nothing(start, file):
    """A transaction that is half there at any of its points would be found at that one only."""
    (deaths, counted), warnings = start(EVERY_STATEMENT, f"sqlite:///{file}").result()
    assert deaths > 8
    assert counted
    assert warnings == []


LOADED = """
import threading
name, url = sys.argv[1:]
monitor = Monitor(url, sinks=[JsonlSink("drift.jsonl")], flush_interval=0.02)
calls = while_down = outages = 0
slowest = 0.0

def observe(response):
    global calls, slowest
    began = time.perf_counter()
    monitor.observe("t", response)
    slowest = max(slowest, time.perf_counter() - began)
    calls += 1

for _ in range(20):
    observe(GOOD)
while not Path("stop").exists():
    observe(GOOD)
    observe({**GOOD, "note": calls})
    if calls % 10 == 0:
        observe(BREAK)
    store = monitor.health().store
    if store == "retrying":
        while_down += 1
        if while_down == 100:
            Path(f"{name}.down{outages}").touch()
    elif while_down >= 100:
        Path(f"{name}.up{outages}").touch()
        while_down = 0
        outages += 1
    if calls - monitor.health().waiting > 100:
        Path(name + ".running").touch()
    time.sleep(0.0005)
ok = monitor.flush(60)
print(json.dumps({"calls": calls, "slowest": slowest, "ok": ok, "waiting": monitor.health().waiting,
                  "store": monitor.health().store, "kinds": len(monitor.health().swallowed_by)}))
monitor.close()
"""


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_and_comes_back_costs_nothing(kills, start, postgres, postgres_url, tmp_path):
    """Calls go on while it is away, as fast as before, and every one of them is in it afterwards."""
    programs = {name: start(LOADED, name, postgres_url) for name in ("one", "two")}
    for name, program in programs.items():
        program.wait_for(f"{name}.running")
    for kill in range(kills):
        postgres.kill()
        try:
            for name, program in programs.items():
                program.wait_for(f"{name}.down{kill}")
        finally:
            postgres.start()
        for name, program in programs.items():
            program.wait_for(f"{name}.up{kill}")
    (tmp_path / "stop").touch()
    said = [program.result() for program in programs.values()]
    for result, warnings in said:
        assert (result["ok"], result["waiting"], result["store"], result["kinds"]) == (True, 0, "ok", 1)
        assert result["slowest"] < 2.0
        assert len(warnings) == 1
        assert "(while using the store" in warnings[0]
        assert "correct-horse" not in warnings[0]
    store = open_store(postgres_url)
    known = whole(store)
    assert known.observations == known.calls.calls == sum(result["calls"] for result, _ in said)
    (broken,) = (incident for incident in known.incidents.values() if incident.risk.is_news)
    (held,) = known.quarantined.values()
    assert broken.count == held.row.count
    assert Counter(told(tmp_path).values()).items() >= {"learned": 1, "open": 1}.items()
    assert {event.id for event in store.events()} <= told(tmp_path).keys()
    store.close()


def test_a_server_that_is_down_at_the_start_is_found_later(start, postgres, postgres_url, tmp_path):
    """A program that is deployed before its database must not have to be started again."""
    postgres.kill()
    try:
        program = start(LOADED, "early", postgres_url)
        program.wait_for("early.down0")
    finally:
        postgres.start()
    program.wait_for("early.up0")
    (tmp_path / "stop").touch()
    result, warnings = program.result()
    assert (result["ok"], result["waiting"], result["store"], len(warnings)) == (True, 0, "ok", 1)
    assert whole(open_store(postgres_url)).observations == result["calls"]


class Wrapped:
    """A store of which some operations go wrong: ``before``, ``inside`` and ``after`` are called around each."""

    def __init__(self, store):
        self._store = store
        self.before = self.inside = self.after = lambda name: None

    def __getattr__(self, name):
        asked = getattr(self._store, name)

        def ask(*arguments):
            self.before(name)
            answer = asked(*arguments)
            self.after(name)
            return answer

        return ask

    @contextmanager
    def transaction(self, tool, key, writer=""):  # noqa: D102
        self.before("transaction")
        with self._store.transaction(tool, key, writer) as transaction:
            yield transaction
            self.inside("transaction")
        self.after("transaction")

    # what a protocol that is checked at run time looks for
    load = tools = incidents = forget = decided = claim = renew = sent = events = tidy = after_fork = close = None

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__")
        if name.startswith("_") or name in own or name == "transaction":
            return object.__getattribute__(self, name)
        return self.__getattr__(name)


def _failing_in(number, *names):
    """Raises at the ``number``th call on for these names."""
    calls = Counter()

    def fail(name):
        if name in names:
            calls[name] += 1
            if calls[name] >= number:
                raise ConnectionError("the reply was lost")

    return fail


@pytest.mark.swallows
@pytest.mark.parametrize("lost", [["transaction"], ["sent"], ["claim"], ["decided"], ["transaction", "sent", "claim"]])
def test_what_was_committed_is_not_counted_again_where_the_reply_was_lost(lost, url, caplog):
    """Whoever does not learn that a commit arrived must find that out, and neither repeat nor drop it."""
    store = Wrapped(open_store(url))
    with RecordingMonitor(store=store, background=True, flush_interval=10_000.0) as monitor:
        for round_ in range(4):
            store.after = _failing_in(1, *lost) if round_ != 1 else lambda name: None
            for _ in range(12):
                monitor.observe("t", GOOD)
            for _ in range(round_):
                monitor.observe("t", BREAK)
            monitor.flush()
            monitor.flush()
            store.after = lambda name: None
            assert monitor.flush()
        known = whole(open_store(url))
        assert known.observations == known.calls.calls == 4 * 12 + 6
        (held,) = known.quarantined.values()
        (incident,) = known.incidents.values()
        assert (held.row.count, incident.count) == (6, 6)
        assert Counter(event.status for event in monitor.events) == {"learned": 1, "open": 1}
        assert monitor.health().store == "ok"
        assert len(caplog.records) == 1
    later = open_store(url, clock=lambda: time.time() + 10 * LEASE)
    assert later.claim("somebody", 100) == []


@pytest.mark.swallows
def test_a_connection_that_is_killed_in_a_transaction_is_made_anew(postgres, postgres_url, caplog):
    """An administrator ends a session; what it had not committed is written by the next one."""
    store = Wrapped(open_store(postgres_url))
    name = postgres_url.split("?")[0].rsplit("/", 1)[1]
    killing = f"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'toolpulse' AND datname = '{name}'"""
    with RecordingMonitor(store=store, background=True, flush_interval=10_000.0) as monitor:
        for _ in range(12):
            monitor.observe("t", GOOD)
        assert monitor.flush()
        monitor.observe("t", BREAK)
        killed = []
        store.inside = lambda name: killed.append(postgres.execute("postgres", killing))
        assert monitor.flush() is False
        store.inside = lambda name: None
        assert killed
        assert monitor.health().store == "retrying"
        assert monitor.flush()
        assert [event.status for event in monitor.events] == ["learned", "open"]
        assert len(caplog.records) == 1
        # between two transactions, too: the pool looks before it gives one out
        postgres.execute("postgres", killing)
        monitor.observe("t", GOOD)
        assert monitor.flush()
        assert len(caplog.records) == 1
    assert whole(open_store(postgres_url)).observations == 14


@contextmanager
def small_disk(folder, megabytes=8):
    """A file system of its own at a folder. Skips the test where none may be mounted: only root may."""
    folder.mkdir()
    mounted = os.name == "posix" and shutil.which("mount")
    if not mounted or _ran("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder):
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        _ran("umount", "-l", folder)


def _ran(*command):
    return subprocess.run(command, check=False, capture_output=True).returncode


FULL = """
import resource, signal
how = sys.argv[1]
PAIRS = [a + b for a in "abcdefghij" for b in "abcdefghij"]
LARGE = {f"field_{pair}": 1 for pair in PAIRS}
limits = resource.getrlimit(resource.RLIMIT_FSIZE)

def fill():
    if how == "limit":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(p.stat().st_size for p in Path().iterdir()) + 4096, limits[1]))
        return
    with open("filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass

def make_room():
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    else:
        Path("filler").unlink()

monitor = Monitor("sqlite:///t.db", sinks=[], flush_interval=0.01)
calls = 0
def observe(response):
    global calls
    monitor.observe("t", response)
    monitor.observe(f"other {calls % 100}", LARGE)
    calls += 1
for _ in range(40):
    observe(GOOD)
assert monitor.flush(60)
fill()
while monitor.health().store != "retrying":
    observe(GOOD)
    time.sleep(0.0005)
for _ in range(500):
    observe(GOOD)
    observe(BREAK)
flushed = monitor.flush(60)
make_room()
assert monitor.flush(60)
health = monitor.health()
print(json.dumps([calls, flushed, health.store, health.waiting, list(health.swallowed_by)]))
monitor.close()
"""


def _nothing_is_lost_on_a_full_disk(program, folder):
    (calls, flushed, *state), warnings = program.result()
    assert flushed is False
    assert state == ["ok", 0, ["using the store: StoreError"]]
    assert len(warnings) == 1
    store = open_store(f"sqlite:///{folder}/t.db")
    known = whole(store)
    assert known.observations == calls
    (held,) = known.quarantined.values()
    (incident,) = known.incidents.values()
    assert held.row.count == incident.count == 500
    assert sum(store.load(*names).observations for names in store.tools()) == 2 * calls
    store.close()


def test_a_full_disk_costs_nothing(start, tmp_path):
    """Calls go on, and all is there once somebody made room."""
    with small_disk(tmp_path / "disk") as disk:
        _nothing_is_lost_on_a_full_disk(start(FULL, "disk", folder=disk), disk)


def test_a_file_that_may_not_grow_costs_nothing(start, tmp_path):
    """The same by a limit of the process, where no file system can be mounted: SQLite cannot write a page more."""
    _nothing_is_lost_on_a_full_disk(start(FULL, "limit"), tmp_path)


@contextmanager
def read_only(folder):
    """A folder that cannot be written to. Root is not stopped by a folder's mode, so a mount has to do it for root."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    mounted = shutil.which("mount") and not _ran("mount", "--bind", folder, folder)
    if not mounted or _ran("mount", "-o", "remount,ro,bind", folder):
        pytest.skip("root can write anywhere, and no file system can be mounted here")
    try:
        yield
    finally:
        _ran("umount", "-l", folder)


@pytest.mark.swallows
@pytest.mark.parametrize("known", [True, False], ids=["with a store", "empty"])
def test_a_store_that_was_named_is_asked_again_where_it_cannot_be_written(known, tmp_path, caplog):
    """Whoever names a store wants that one: calls go on, one warning says why, and all is there afterwards."""
    folder = tmp_path / "folder"
    folder.mkdir()
    url = f"sqlite:///{folder}/t.db"
    if known:
        with RecordingMonitor(store=url) as monitor:
            monitor.observe("t", GOOD)
    with RecordingMonitor(store=url, background=True, flush_interval=10_000.0) as monitor:
        with read_only(folder):
            for _ in range(20):
                monitor.observe("t", GOOD)
            assert monitor.flush() is False
            assert monitor.flush() is False
            assert monitor.health().store == "retrying"
        monitor.observe("t", BREAK)
        assert monitor.flush()
        assert monitor.health().store == "ok"
        assert len(caplog.records) == 1
        assert str(folder) in caplog.text
    assert whole(open_store(url)).observations == 21 + known


def test_the_store_that_nobody_named_is_memory_where_it_cannot_be_written(tmp_path):
    """A container with a read-only file system must be watched all the same, with one warning."""
    folder = tmp_path / "folder"
    folder.mkdir()
    script = f"""{PRELUDE}
monitor = Monitor(sinks=[])
for _ in range(12):
    monitor.observe("t", GOOD)
monitor.observe("t", BREAK)
assert monitor.flush(60)
assert monitor.flush(60)
print(monitor.health().store, monitor.health().tools["t"].incidents)
"""
    with read_only(folder):
        done = run(script, folder)
    assert (done.returncode, done.stdout) == (0, "memory 1\n")
    assert len(done.stderr.splitlines()) == 1
    assert list(folder.iterdir()) == []


HOLDING = """
import sqlite3
connection = sqlite3.connect("t.db", isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
Path("held").touch()
while not Path("free").exists():
    time.sleep(0.005)
connection.execute("ROLLBACK")
Path("freed").touch()
"""


@pytest.mark.swallows
def test_a_lock_that_is_held_too_long_costs_nothing(start, file, caplog, monkeypatch):
    """A backup that holds the file for minutes must neither stop the calls nor cost one."""
    monkeypatch.setattr(_sqlite.turns, "BUSY_TIMEOUT", 0.05)
    with RecordingMonitor(store=f"sqlite:///{file}", background=True, flush_interval=0.01) as monitor:
        for _ in range(12):
            monitor.observe("t", GOOD)
        assert monitor.flush()
        program = start(HOLDING)
        program.wait_for("held")
        for _ in range(100):
            monitor.observe("t", GOOD)
        assert monitor.flush() is False
        assert monitor.health().store == "retrying"
        monitor.observe("t", BREAK)
        assert monitor.flush() is False
        assert [event.status for event in monitor.events] == ["learned", "open"]
        (file.parent / "free").touch()
        program.wait_until((file.parent / "freed").exists)
        assert monitor.flush()
        assert monitor.health().store == "ok"
        assert len(caplog.records) == 1
        assert "locked" in caplog.text
    assert whole(open_store(f"sqlite:///{file}")).observations == 113


LEAVING = """
from toolpulse.errors import StoreError
from toolpulse.stores import sqlite as _sqlite
transaction, failed = _sqlite.SqliteEngine.transaction, []

def fail_once(self, lock=""):
    if not failed:
        failed.append(1)
        raise StoreError("t.db: not now")
    return transaction(self, lock)

_sqlite.SqliteEngine.transaction = fail_once
monitor = Monitor("sqlite:///t.db", sinks=[JsonlSink("drift.jsonl")], flush_interval=0.001)
monitor.observe("t", GOOD)
while not failed:
    time.sleep(0.001)
for _ in range(11):
    monitor.observe("t", GOOD)
print(json.dumps(monitor.health().tools["t"].calls))
"""


def test_what_waits_for_the_next_attempt_is_saved_as_the_process_ends(start, file):
    """A store that failed a moment ago may work again: a process that ends has no later attempt."""
    calls, warnings = start(LEAVING).result()
    assert (calls, len(warnings)) == (12, 1)
    assert whole(open_store(f"sqlite:///{file}")).observations == 12
    assert list(told(file.parent).values()) == ["learned"]


def _spoil(path):
    """Overwrite all of a database and of what waits beside it but the first bytes, which say what it is."""
    for part in (path, path.with_name(f"{path.name}-wal")):
        if part.exists() and part.stat().st_size > 100:
            with part.open("r+b") as file:
                file.seek(100)
                file.write(b"\x5a" * (part.stat().st_size - 100))
    return path.read_bytes()


def _aside(folder):
    return [path for path in folder.iterdir() if ".damaged-" in path.name and not path.name.endswith(("-wal", "-shm"))]


@pytest.mark.swallows
@pytest.mark.parametrize("running", [True, False], ids=["while running", "at the start"])
def test_a_damaged_file_is_kept_aside_and_watching_goes_on(running, file, caplog):
    """Nothing must be written to what somebody may still repair, and nothing more be lost than it held."""
    url = f"sqlite:///{file}"
    with RecordingMonitor(store=url) as monitor:
        for _ in range(40):
            monitor.observe("t", GOOD)
    monitor = RecordingMonitor(store=url, background=True, flush_interval=10_000.0)
    if running:
        monitor.observe("t", GOOD)
        assert monitor.flush()
    damaged = _spoil(file)
    monitor.observe("t", {**GOOD, "more": {"x": 1}})
    assert monitor.flush()
    assert monitor.health().store == "memory"
    assert len(caplog.records) == 1
    (aside,) = _aside(file.parent)
    assert str(file) in caplog.text
    assert aside.name in caplog.text
    assert aside.read_bytes() == damaged
    for _ in range(12):
        monitor.observe("t", GOOD)
    monitor.observe("t", BREAK)
    assert monitor.flush()
    assert monitor.health().tools["t"].incidents == 1
    assert len(caplog.records) == 1
    monitor.close()
    with RecordingMonitor(store=url) as fresh:
        fresh.observe("t", GOOD)
        assert fresh.health().store == "ok"
    assert whole(open_store(url)).observations == 1
    assert aside.read_bytes() == damaged


@pytest.mark.parametrize("background", [True, False])
def test_a_slow_store_costs_no_call(background, url):
    """Every transaction takes long; callers of a worker do not wait for it, and nothing is lost either way."""
    store = Wrapped(open_store(url))
    store.inside = lambda name: threading.Event().wait(0.05)
    with RecordingMonitor(store=store, background=background, flush_interval=0.001) as monitor:
        calls = 2000 if background else 20
        for number in range(calls):
            monitor.observe("t", GOOD if number % 10 or number < 100 else BREAK)
        assert monitor.flush(60)
    known = whole(open_store(url))
    assert known.observations == known.calls.calls == calls
    assert known.incidents.keys() == ({event.incident for event in monitor.drift} if background else set())


NEWER = """
from toolpulse.stores.sql import schema as _schema
from toolpulse.stores import open_store
_schema.MIGRATIONS = (*_schema.MIGRATIONS, (
    "ALTER TABLE toolpulse_tools ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'",
    "CREATE TABLE toolpulse_moods (id TEXT PRIMARY KEY)",
))
_schema.SCHEMA = len(_schema.MIGRATIONS)
with Monitor(sys.argv[1], sinks=[]) as monitor:
    monitor.observe("t", GOOD)
    assert monitor.flush(60)
    assert monitor.health().store == "ok"
store = open_store(sys.argv[1])
known = store.load("t", "")
print(json.dumps([known.observations, store.schema, store.check(), [i.status for i in known.incidents.values()]]))
"""


@pytest.mark.swallows
def test_an_older_version_leaves_alone_what_a_newer_one_migrated(start, url, caplog):
    """A roll-out has both for a while: the older one says so once, writes nothing more, and goes on in memory."""
    with RecordingMonitor(store=url, background=True, flush_interval=10_000.0) as monitor:
        for _ in range(12):
            monitor.observe("t", GOOD)
        monitor.observe("t", BREAK)
        assert monitor.flush()
        (observations, schema, faults, statuses), warnings = start(NEWER, url).result()
        assert (observations, schema, faults, statuses, warnings) == (14, SCHEMA + 1, [], ["open"], [])
        for _ in range(3):
            monitor.observe("t", {**GOOD, "tags": "a"})
            monitor.observe("t", BREAK)
            assert monitor.flush()
        assert monitor.health().store == "memory"
        assert monitor.health().tools["t"].incidents == 2
        (record,) = caplog.records
        assert f"schema {SCHEMA + 1}" in record.getMessage()
        assert f"up to {SCHEMA}" in record.getMessage()
    with pytest.raises(StoreUnusable):
        open_store(url).load("t", "")
    (observations, *_), _ = start(NEWER, url).result()
    assert observations == 15


DYING = """
from toolpulse.runtime.background import delivery
from toolpulse.stores.sql import outbox as _events
from toolpulse.stores import base, open_store
delivery.LEASE = _events.LEASE = 0.5
url = sys.argv[1]

class Sink:
    def emit(self, event):
        if event.status == "open" and sys.argv[2] == "dies":
            while event.id not in {known.id for known in open_store(url).events()}:
                time.sleep(0.005)
            Path("dead").write_text(event.id)
            os._exit(7)
        with open("told", "a") as file:
            print(event.id, event.status, file=file)

monitor = Monitor(url, sinks=[Sink()], flush_interval=0.01)
for _ in range(20 if sys.argv[2] == "dies" else 1):
    monitor.observe("t", GOOD)
if sys.argv[2] == "dies":
    monitor.observe("t", BREAK)
while " open" not in (Path("told").read_text() if Path("told").exists() else ""):
    monitor.observe("t", GOOD)
    time.sleep(0.01)
assert monitor.flush(60)
print(json.dumps(monitor.health().swallowed))
"""


def test_an_event_whose_sender_died_is_sent_by_another(start, url, tmp_path):
    """A process that ends after the commit and before the webhook must not take the alarm with it."""
    program = start(DYING, url, "dies")
    program.process.communicate(timeout=60)
    assert program.process.returncode == 7
    dead = (tmp_path / "dead").read_text()
    assert start(DYING, url, "lives").result() == (0, [])
    lines = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    assert [name for name, status in lines if status == "open"] == [dead]
    later = open_store(url, clock=lambda: time.time() + 10 * LEASE)
    assert later.claim("somebody", 100) == []
