"""Event loops that are not the standard library's: gevent and uvloop, in programs of their own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from programs import whole

from toolpulse.stores import open_store

pytestmark = pytest.mark.attack

GREENLETS = """
from gevent import monkey
monkey.patch_all()
"""

TASKS = """
import gevent
monitor = Monitor("sqlite:///t.db", sinks=[JsonlSink("drift.jsonl")], flush_interval=0.01)

@monitor.watch(tool="t")
def tool(number):
    gevent.sleep(0)
    return GOOD if number % 7 else {**GOOD, "note": number}

def work(first):
    for number in range(200):
        assert tool(first + number)["id"] == 1

jobs = [gevent.spawn(work, first) for first in range(100)]
gevent.joinall(jobs, raise_error=True)
assert monitor.flush(60)
print(json.dumps([monitor.health().tools["t"].calls, monitor.health().swallowed, monitor.health().waiting]))
monitor.close()
"""

LOOP = """
import asyncio, uvloop
monitor = Monitor("sqlite:///t.db", sinks=[JsonlSink("drift.jsonl")], flush_interval=0.01)

@monitor.watch(tool="t")
async def tool(number):
    await asyncio.sleep(0)
    return GOOD if number % 7 else {**GOOD, "note": number}

async def work(first):
    for number in range(200):
        assert (await tool(first + number))["id"] == 1

async def main():
    await asyncio.gather(*(work(first) for first in range(100)))

with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
    assert type(runner.get_loop()).__module__.startswith("uvloop")
assert monitor.flush(60)
print(json.dumps([monitor.health().tools["t"].calls, monitor.health().swallowed, monitor.health().waiting]))
monitor.close()
"""


@pytest.mark.parametrize(("library", "script"), [("gevent", TASKS), ("uvloop", LOOP)])
def test_calls_under_another_loop_are_counted_exactly(library, script, start, tmp_path):
    """Patched locks, threads and sleeps, or another loop, must neither stop the worker nor cost a call."""
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: it has no build for this interpreter or system")
    before = GREENLETS if library == "gevent" else ""
    (calls, swallowed, waiting), warnings = start(script, before=before).result()
    assert (calls, swallowed, waiting, warnings) == (20_000, 0, 0, [])
    store = open_store(f"sqlite:///{tmp_path}/t.db")
    assert whole(store).observations == 20_000
    store.close()
