from __future__ import annotations

import asyncio
import sqlite3
import threading
import time

import pytest

from toolpulse import Monitor
from toolpulse.stores import open_store

BLOCKED = 2.0
"""Seconds for which the store does not answer."""

LATE = BLOCKED / 4
"""Seconds a tick may be late; what it would be late by if the loop waited for the store is ``BLOCKED``."""

CALLS = 200


async def _worst_lag(work):
    """Seconds by which the latest tick of a millisecond was late while ``work`` ran."""
    worst, done = 0.0, False

    async def tick():
        nonlocal worst
        while not done:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - before - 0.001)

    ticking = asyncio.create_task(tick())
    await work
    done = True
    await ticking
    return worst


class Held:
    """A SQLite file on which somebody else has the lock for a while."""

    def __init__(self, path):
        self.url = f"sqlite:///{path}"
        self._path = path

    def block(self):  # noqa: D102
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN IMMEDIATE")
        return connection.close


class Asleep:
    """A table of PostgreSQL that somebody else has locked for a while."""

    def __init__(self, server, url):
        self.url = url
        self._server = server

    def block(self):  # noqa: D102
        import psycopg

        connection = psycopg.connect(self.url)
        connection.execute("LOCK TABLE toolpulse_tools, toolpulse_events, toolpulse_meta IN ACCESS EXCLUSIVE MODE")
        return connection.close


@pytest.fixture(params=["sqlite", "postgresql"])
def blocked(request, tmp_path):
    """A database of each kind that can be made to wait."""
    if request.param == "sqlite":
        return Held(tmp_path / "t.db")
    return Asleep(request.getfixturevalue("postgres"), request.getfixturevalue("postgres_url"))


def watched(monitor, **options):
    """An async tool, an async stream and a plain tool of one monitor, and a call of all three."""

    @monitor.watch(tool="call", **options)
    async def call(number):
        await asyncio.sleep(0)
        return {"id": number, "tags": ["a"] * (number % 3)}

    @monitor.watch(tool="stream", **options)
    async def stream(number):
        for item in range(3):
            await asyncio.sleep(0)
            yield {"item": item}

    @monitor.watch(tool="plain", **options)
    def plain(number):
        return [number]

    async def one(number):
        await call(number)
        async for _ in stream(number):
            pass
        plain(number)

    return one


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.swallows
@pytest.mark.parametrize("on_drift", ["log", "callable"])
def test_a_store_that_does_not_answer_holds_up_no_tick(blocked, on_drift):
    """A server of a thousand requests has one loop: our input and output must not take it from any of them."""
    callback = (lambda event: None) if on_drift == "callable" else on_drift
    monitor = Monitor(blocked.url, sinks=[], flush_interval=0.01, on_drift=callback)
    one = watched(monitor)

    async def work():
        for number in range(20):
            await one(number)
        assert await asyncio.to_thread(monitor.flush)
        free = await asyncio.to_thread(blocked.block)
        began = time.perf_counter()
        for number in range(CALLS):
            await one(number)
            monitor.health()
            await asyncio.sleep(BLOCKED / CALLS)
        assert monitor.health().waiting > 0
        assert time.perf_counter() - began >= BLOCKED
        free()

    assert asyncio.run(_worst_lag(work())) < LATE
    assert monitor.flush(60)
    for tool in ("call", "stream", "plain"):
        assert open_store(blocked.url).load(tool, "").observations == 20 + CALLS
    monitor.close()


def test_the_first_call_opens_no_store_in_the_loop(tmp_path):
    """Opening may take as long as a look-up of a name: the first call of a tool must not wait for it either."""

    class Opening:
        """A store that takes long to do anything for the first time."""

        def __init__(self, store):
            self._store = store
            self._opened = threading.Event()

        def __getattr__(self, name):
            if not self._opened.is_set():
                self._opened.wait(BLOCKED)
                self._opened.set()
            return getattr(self._store, name)

    store = open_store(f"sqlite:///{tmp_path}/t.db")
    slow = Opening(store)
    monitor = Monitor(store, sinks=[], flush_interval=0.001)
    monitor._flusher.link.store = slow
    one = watched(monitor)

    async def work():
        for number in range(CALLS):
            await one(number)
        await asyncio.sleep(BLOCKED / 2)

    assert asyncio.run(_worst_lag(work())) < LATE
    assert monitor.flush(60)
    assert store.load("call", "").observations == CALLS
    monitor.close()


def test_without_a_worker_the_loop_waits_for_the_store(tmp_path):
    """``background=False`` is for functions that are frozen between calls: it judges and saves inside the call."""
    store = open_store(f"sqlite:///{tmp_path}/t.db")
    monitor = Monitor(store, sinks=[], background=False)
    threads = []
    transaction = store.transaction

    def seen(*arguments):
        threads.append(threading.current_thread())
        return transaction(*arguments)

    store.transaction = seen
    one = watched(monitor)
    asyncio.run(one(1))
    assert set(threads) == {threading.main_thread()}
    assert store.load("call", "").observations == 1
    monitor.close()


def test_what_is_judged_in_the_loop_asks_no_store_there(tmp_path):
    """With ``on_drift="raise"`` a tool's first call waits for its baseline, half a second at most; no later one."""
    store = open_store(f"sqlite:///{tmp_path}/t.db")
    monitor = Monitor(store, sinks=[], flush_interval=10_000.0, on_drift="raise")
    asked = []
    transaction = store.transaction

    def seen(*arguments):
        asked.append(threading.current_thread().name)
        return transaction(*arguments)

    store.transaction = seen
    one = watched(monitor)

    async def work():
        for number in range(CALLS):
            await one(number)

    asyncio.run(work())
    assert asked
    assert "MainThread" not in asked
    monitor.close()
