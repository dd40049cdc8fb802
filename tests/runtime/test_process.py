from __future__ import annotations

import os
import threading

import pytest
from scripts import logged, run

import toolpulse
from toolpulse.runtime.process import process
from toolpulse.stores import open_store
from toolpulse.testing import RecordingMonitor

pytestmark = [pytest.mark.attack, pytest.mark.quick, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")]

TOOLS = """
import multiprocessing, os, sys, threading
import toolpulse
from toolpulse.sinks.jsonl import JsonlSink

def configured():
    return toolpulse.configure(sinks=[JsonlSink(f"{os.getpid()}.jsonl")], flush_interval=10_000.0)

@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}

def calls(name="child"):
    for n in range(12):
        tool(n)
    tool("x")
    open(name, "w").write(str(os.getpid()))
"""


def _of(folder, name):
    """What the process that left its number in a file told."""
    return [event.status for event in logged(folder, f"{(folder / name).read_text()}.jsonl")]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_of_multiprocessing_tells_at_its_end(method, tmp_path):
    """Such children leave by os._exit, so the interpreter's own exit handlers do not run in them."""
    (tmp_path / "tools.py").write_text(TOOLS + "\ndef child():\n    configured()\n    calls()\n", "utf-8")
    script = f"""
import multiprocessing, tools
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    process = context.Process(target=tools.child)
    process.start()
    process.join()
    assert process.exitcode == 0
"""
    (tmp_path / "main.py").write_text(script, "utf-8")
    done = run("import runpy; runpy.run_path('main.py', run_name='__main__')", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _of(tmp_path, "child") == ["learned", "open"]


def test_a_forked_child_tells_its_own_calls_and_the_parent_its_own(tmp_path):
    """What waits when a process forks is the parent's; told by both it would be counted twice."""
    script = (
        TOOLS
        + """
class Sink:
    def emit(self, event):
        open(f"{os.getpid()}.log", "a").write(f"{event.status} {event.count}\\n")

monitor = toolpulse.configure(sinks=[Sink()], flush_interval=10_000.0)
for n in range(11):
    tool(n)

def child():
    assert monitor.health().waiting == 0
    assert monitor.health().tools["t"].calls == 0
    for n in range(15):
        tool(n)
    assert monitor.health().tools["t"].calls == 15
    open("child", "w").write(str(os.getpid()))

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
assert monitor.health().waiting == 11
open("parent", "w").write(str(os.getpid()))
"""
    )
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    logs = {name: tmp_path / f"{(tmp_path / name).read_text()}.log" for name in ("child", "parent")}
    told = {name: log.read_text() for name, log in logs.items() if log.exists()}
    assert told == {"child": "learned 15\n"}
    assert open_store(f"sqlite:///{tmp_path}/.toolpulse/toolpulse.db").load("t", "").observations == 26


def test_a_child_that_leaves_by_os_exit_loses_its_own_at_most(tmp_path):
    """Nothing runs at such an end; the parent must not suffer from it."""
    script = (
        TOOLS
        + """
monitor = configured()
for n in range(12):
    tool(n)
pid = os.fork()
if pid == 0:
    calls()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
tool("x")
open("parent", "w").write(str(os.getpid()))
"""
    )
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _of(tmp_path, "parent") == ["learned", "open"]
    assert not (tmp_path / f"{(tmp_path / 'child').read_text()}.jsonl").exists()


def test_a_child_that_flushes_before_os_exit_loses_nothing(tmp_path):
    """A server that forks by hand has a way to keep what its children saw."""
    script = (
        TOOLS
        + """
monitor = configured()
pid = os.fork()
if pid == 0:
    monitor = configured()
    calls()
    monitor.flush()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )
    assert run(script, tmp_path).returncode == 0
    assert _of(tmp_path, "child") == ["learned", "open"]


def test_a_pool_of_processes_tells_at_its_end(tmp_path):
    """A pool of concurrent.futures ends its workers in order."""
    script = (
        TOOLS
        + """
from concurrent.futures import ProcessPoolExecutor

def work(_):
    configured()
    calls()

if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        list(pool.map(work, [0]))
"""
    )
    done = run(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _of(tmp_path, "child") == ["learned", "open"]


@pytest.mark.parametrize("forks", [12, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("background", [True, False])
def test_forks_while_threads_observe_never_hang_and_never_break_a_count(background, forks, tmp_path):
    """A fork takes a picture in the middle of anything: of a lock that is held, of a judgement half done."""
    script = f"""
import os, threading, toolpulse
monitor = toolpulse.configure(sinks=[], background={background}, flush_interval=0.01)
done = threading.Event()

def observe(number):
    n = 0
    while not done.is_set():
        n += 1
        monitor.observe("t", {{"a": n, f"f{{number}}_{{n % 40}}x": [{{"b": 1}}] * (n % 3)}})

threads = [threading.Thread(target=observe, args=(number,), daemon=True) for number in range(2)]
for thread in threads:
    thread.start()
for _ in range({forks}):
    pid = os.fork()
    if pid == 0:
        import faulthandler
        faulthandler.dump_traceback_later(60, exit=True)
        for n in range(30):
            monitor.observe("t", {{"a": n, "new": {{f"x{{n % 5}}y": n}}}})
        ok = monitor.flush(30)
        told = monitor.health()
        os._exit(0 if ok and told.tools["t"].calls == 30 and not told.swallowed and not told.waiting else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
done.set()
for thread in threads:
    thread.join()
assert monitor.flush()
health = monitor.health()
assert (health.swallowed, health.waiting) == (0, 0), health
assert monitor._flusher.link.store.load("t", "").observations == health.tools["t"].calls + {forks} * 30
"""
    done = run(script, tmp_path, timeout=110)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_monitor_is_made_at_the_first_call_and_only_once(monkeypatch):
    """Two threads that call the first tools at once must report to one monitor."""
    made = []
    monkeypatch.setattr("toolpulse.runtime.process.Monitor", lambda: made.append(RecordingMonitor()) or made[-1])
    before = process.set(None)
    try:
        start = threading.Barrier(8)

        @toolpulse.watch(tool="t")
        def tool():
            return 1

        assert made == []

        def work():
            start.wait()
            tool()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (monitor,) = made
        assert monitor.health().tools["t"].calls == 8
    finally:
        process.set(before)
