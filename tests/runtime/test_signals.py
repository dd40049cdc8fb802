from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from scripts import environment, logged, run

from toolpulse.runtime.background import lifetime
from toolpulse.runtime.background.signals import Signals
from toolpulse.stores import open_store

pytestmark = [
    pytest.mark.attack,
    pytest.mark.quick,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no signals that a process may send itself"),
]

CALLS = 21

CONFIGURED = """
import asyncio, os, signal, sys, threading, time
import toolpulse
from toolpulse.sinks.jsonl import JsonlSink
monitor = toolpulse.configure(sinks=[JsonlSink("drift.jsonl")], flush_interval=10_000.0)
"""

TOOL = """
@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}

def calls():
    for n in range(20):
        tool(n)
    tool("x")

def end(number=signal.SIGTERM):
    os.kill(os.getpid(), number)
    threading.Event().wait(60)  # what was interrupted goes on until the signal comes again

"""

SCRIPT = CONFIGURED + TOOL


def _saved(folder):
    """Calls in the default store of a folder."""
    if not (folder / ".toolpulse").exists():
        return 0
    store = open_store(f"sqlite:///{folder}/.toolpulse/toolpulse.db")
    known = store.load("t", "")
    store.close()
    return known.observations if known else 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_counted_is_saved_and_told_and_the_process_dies_of_the_signal(number, tmp_path):
    """Clients end a server by a signal, and whoever waits for it reads from its status which one it was."""
    done = run(f"{SCRIPT}calls()\nend({int(number)})\n", tmp_path)
    assert (done.returncode, done.stderr) == (-number, "")
    assert _saved(tmp_path) == CALLS
    assert [event.status for event in logged(tmp_path)] == ["learned", "open"]


def test_first_calls_in_a_thread_are_saved_where_only_a_decorator_stood_in_the_main_one(tmp_path):
    """Servers run their tools in threads, which may set no handler, and the monitor is made at the first call."""
    bare = "import os, signal, threading, toolpulse\n" + TOOL
    done = run(f"{bare}thread = threading.Thread(target=calls)\nthread.start()\nthread.join()\nend()\n", tmp_path)
    assert done.returncode == -signal.SIGTERM
    assert _saved(tmp_path) == CALLS


OWN = {
    "set before": ("signal.signal(signal.SIGTERM, mine)\n", ""),
    "set later": ("", "signal.signal(signal.SIGTERM, mine)\n"),
}
MINE = "import signal, sys\ndef mine(number, frame):\n    print('mine')\n    sys.exit(7)\n"


@pytest.mark.parametrize("when", OWN)
def test_a_handler_of_the_application_stands(when, tmp_path):
    """Its clean-up and its exit status are its own affair; the exit saves."""
    before, later = OWN[when]
    done = run(
        f"{MINE}{before}{SCRIPT}{later}calls()\nassert signal.getsignal(signal.SIGTERM) is mine\nend()\n", tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "mine\n", "")
    assert _saved(tmp_path) == CALLS


@pytest.mark.parametrize("when", ["before", "later"])
def test_a_signal_that_is_ignored_stays_ignored(when, tmp_path):
    """``nohup`` ignores SIGHUP for the program it starts; it must live on."""
    ignore = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    script = f"{ignore}{SCRIPT}" if when == "before" else f"{SCRIPT}{ignore}"
    done = run(f"{script}calls()\nos.kill(os.getpid(), signal.SIGHUP)\nprint('alive')\n", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


@pytest.mark.parametrize("when", ["before", "later"])
def test_a_handler_of_an_event_loop_stands(when, tmp_path):
    """asyncio keeps its handlers beside Python's."""
    use = "toolpulse.configure(flush_interval=10_000.0)\ncalls()"
    first, second = (ADD, use) if when == "before" else (use, ADD)
    main = f"async def main():\n{_indented(chr(10).join(['stopped = asyncio.Event()', first, second, WAIT]))}\n"
    done = run(f"import asyncio, os, signal, threading, toolpulse\n{TOOL}{main}asyncio.run(main())\n", tmp_path)
    assert (done.returncode, done.stdout) == (0, "in order\n")
    assert _saved(tmp_path) == CALLS


ADD = "asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)"
WAIT = "os.kill(os.getpid(), signal.SIGTERM)\nawait stopped.wait()\nprint('in order')"


def _indented(lines):
    return "\n".join(f"    {line}" for line in lines.splitlines())


def test_an_idle_event_loop_dies_of_the_signal(tmp_path):
    """The loop waits in a system call when the signal comes, and again while what waits is saved."""
    main = "async def main():\n    calls()\n    os.kill(os.getpid(), signal.SIGTERM)\n    await asyncio.sleep(60)\n"
    done = run(f"{SCRIPT}{main}asyncio.run(main())\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == CALLS


def test_a_server_that_puts_back_the_handlers_it_found_and_raises_the_signal_again(tmp_path):
    """uvicorn ends so: in order, and then by the signal; with the default put back nothing at all would be saved."""
    server = """
def serve():
    got = []
    found = {n: signal.signal(n, lambda number, frame: got.append(number)) for n in (signal.SIGTERM, signal.SIGINT)}
    os.kill(os.getpid(), signal.SIGTERM)
    while not got:
        time.sleep(0.001)
    calls()
    for number, handler in found.items():
        signal.signal(number, handler)
    for number in got:
        signal.raise_signal(number)

serve()
"""
    done = run(SCRIPT + server, tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == CALLS


def test_an_application_that_sets_its_handler_only_where_the_default_stands(tmp_path):
    """It finds ours and sets none: then the process still dies of the signal, and what was counted is saved."""
    polite = "if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:\n    signal.signal(signal.SIGTERM, print)\n"
    done = run(f"{SCRIPT}{polite}calls()\nend()\n", tmp_path)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == CALLS


LEFT = {
    "turned off": SCRIPT.replace("flush_interval", "save_on_signals=False, flush_interval"),
    "turned off after the decorator": CONFIGURED[: CONFIGURED.index("monitor =")]
    + TOOL
    + "toolpulse.configure(save_on_signals=False, flush_interval=10_000.0)\n",
    "a monitor of its own, turned off": "import os, signal, threading\nfrom toolpulse import Monitor\n"
    "monitor = Monitor(flush_interval=10_000.0, save_on_signals=False)\n" + TOOL.replace("toolpulse.", "monitor."),
    "not in the main thread": "import os, signal, threading\ndef use():\n    import toolpulse\n"
    "    toolpulse.configure(flush_interval=10_000.0)\n"
    + _indented(TOOL.replace("def calls", "global calls, end\ndef calls"))
    + "\nthread = threading.Thread(target=use)\nthread.start()\nthread.join()\n"
    "thread = threading.Thread(target=calls)\nthread.start()\nthread.join()\ncalls = int\n",
    "watching is off": "import os\nos.environ['TOOLPULSE_DISABLED'] = '1'\nimport signal, threading, toolpulse\n"
    + TOOL,
    "imported only": "import os, signal, threading, toolpulse\nimport toolpulse.runtime.monitor\n"
    + TOOL.replace('@toolpulse.watch(tool="t")', ""),
}


@pytest.mark.parametrize("way", LEFT)
def test_where_the_default_is_left(way, tmp_path):
    """Who asked for nothing, or said no, has the signals that Python has."""
    check = "assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGHUP) is signal.SIG_DFL\n"
    done = run(f"{LEFT[way]}calls()\n{check}end()\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == 0


def test_a_default_that_the_application_sets_itself_stands(tmp_path):
    """It has decided that the signal ends the process at once."""
    done = run(f"{SCRIPT}signal.signal(signal.SIGTERM, signal.SIG_DFL)\ncalls()\nend()\n", tmp_path)
    assert done.returncode == -signal.SIGTERM
    assert _saved(tmp_path) == 0


CHILD = """
def child():
    {reset}
    monitor.flush()
    calls()
    end()

"""
RESET = "signal.signal(signal.SIGTERM, signal.SIG_DFL)"


@pytest.mark.parametrize("reset", ["pass", RESET], ids=["inherited", "put back to the default"])
@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_forked_child_saves_what_it_counted(how, reset, tmp_path):
    """Pools end their workers by SIGTERM; some put all signals back before they work."""
    start = {
        "os.fork": "pid = os.fork()\nif pid == 0:\n    child()\nstatus = os.waitpid(pid, 0)[1]\n"
        "assert os.WTERMSIG(status) == signal.SIGTERM, status\n",
        "multiprocessing": "import multiprocessing\n"
        "process = multiprocessing.get_context('fork').Process(target=child)\nprocess.start()\nprocess.join()\n"
        "assert process.exitcode == -signal.SIGTERM, process.exitcode\n",
    }[how]
    done = run(SCRIPT + CHILD.format(reset=reset) + start, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _saved(tmp_path) == CALLS


def test_the_end_of_a_pool_saves_what_its_workers_counted(tmp_path):
    """``with Pool()`` ends its workers by SIGTERM."""
    pool = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(tool, range(100))
"""
    done = run(SCRIPT + pool, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert _saved(tmp_path) == 100


def test_a_program_that_is_started_has_the_default(tmp_path):
    """A handler must not be left to what does not know of it."""
    ask = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"]
    done = run(f"{SCRIPT}import subprocess\ncalls()\nsubprocess.run({ask!r})\n", tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\n")


@pytest.mark.parametrize("second", ["SIGTERM", "SIGHUP"])
def test_a_second_signal_neither_hurries_nor_replaces_the_first(second, tmp_path):
    """A terminal sends SIGHUP twice, systemd sends SIGHUP right after SIGTERM."""
    slow = """
class Slow(JsonlSink):
    def emit(self, event):
        os.kill(os.getpid(), signal.SECOND)
        time.sleep(0.2)
        super().emit(event)
"""
    script = SCRIPT.replace("monitor =", f"{slow.replace('SECOND', second)}monitor =").replace("[JsonlSink", "[Slow")
    done = run(f"{script}calls()\nend()\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert [event.status for event in logged(tmp_path)] == ["learned", "open"]


HELD = """
from contextlib import contextmanager
from toolpulse.stores import open_store

store = open_store("sqlite:///.toolpulse/toolpulse.db")
transaction = store.transaction
ready = []

@contextmanager
def interrupted(*names):
    with transaction(*names) as begun:
        yield begun
        if ready:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)

store.transaction = interrupted
"""


def test_a_signal_in_the_middle_of_a_transaction_of_the_main_thread(tmp_path):
    """The handler must not wait for what the code that it interrupted holds: the store, and the turn to use it."""
    monitor = "monitor = toolpulse.configure(store, sinks=[], background=False)\n"
    script = CONFIGURED[: CONFIGURED.index("monitor =")] + HELD + monitor + TOOL
    begun = time.monotonic()
    done = run(f"{script}calls()\nready.append(1)\ntool(1)\nend()\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == CALLS + 1
    assert time.monotonic() - begun < lifetime.EXIT_PATIENCE + 20


def test_a_store_that_hangs_does_not_keep_the_process_from_dying(tmp_path):
    """Who sends SIGTERM waits a while, and then sends SIGKILL."""
    hanging = """
from contextlib import contextmanager
from toolpulse.stores.memory import MemoryStore

class Hanging(MemoryStore):
    @contextmanager
    def transaction(self, *names):
        threading.Event().wait()
        yield
"""
    script = SCRIPT.replace("monitor =", f"{hanging}monitor =").replace("configure(", "configure(Hanging(), ")
    begun = time.monotonic()
    done = run(f"{script}calls()\nend()\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert time.monotonic() - begun < lifetime.EXIT_PATIENCE + 20


ENDING = {
    "while threads are waited for": "threading.Timer(0.1, end).start()\n",
    "in a handler of atexit": "atexit.register(os.kill, os.getpid(), signal.SIGTERM)\n",
    "in a handler of atexit that runs after ours": "late.append(lambda: os.kill(os.getpid(), signal.SIGTERM))\n",
    "in the last flush": "class Sink:\n    def emit(self, event):\n        os.kill(os.getpid(), signal.SIGTERM)\n"
    "        time.sleep(0.05)\nmonitor = toolpulse.configure(sinks=[Sink()], flush_interval=10_000.0)\n",
}


@pytest.mark.parametrize("when", ENDING)
def test_a_signal_while_the_interpreter_ends(when, tmp_path):
    """What waits for the exit's own flush must be saved, too, and the status be the signal's."""
    first = "import atexit\nlate = []\natexit.register(lambda: [call() for call in late])\n"
    done = run(f"{first}{SCRIPT}{ENDING[when]}calls()\n", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert _saved(tmp_path) == CALLS


def test_signals_at_any_moment_of_a_busy_process(tmp_path):
    """Wherever it meets the process it dies of it, and what was counted before is in the store."""
    busy = """
monitor = toolpulse.configure(sinks=[], flush_interval=0.001)
sys.stdout.write("ready\\n"); sys.stdout.flush()
while True:
    tool(1)
    os.write(1, b".")
"""
    for round_ in range(12):
        folder = tmp_path / str(round_)
        folder.mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT + busy], cwd=folder, env=environment(), stdout=subprocess.PIPE
        ) as child:
            assert child.stdout.readline() == b"ready\n"
            before = len(child.stdout.read(1 + 37 * round_))
            child.send_signal(signal.SIGTERM)
            later = len(child.stdout.read())
        assert child.returncode == -signal.SIGTERM
        # a call is reported after it was counted, and what came after the signal may be lost
        assert before <= _saved(folder) <= before + later + 1


SERVER = """
import json, sys
import toolpulse
toolpulse.configure(sinks=[], flush_interval=10_000.0)

@toolpulse.watch(tool="t")
def search(query):
    return {"query": query}

for line in sys.stdin:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": search(**request["params"])}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def test_a_server_over_pipes_that_its_client_ends_by_a_signal(tmp_path):
    """It waits for its next request in a read, with everything answered and nothing saved."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for number in range(CALLS):
        request = {"jsonrpc": "2.0", "id": number, "method": "search", "params": {"query": "q"}}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == number
    server.terminate()
    rest, errors = server.communicate(timeout=60)
    assert (server.returncode, rest, errors) == (-signal.SIGTERM, b"", b"")
    assert _saved(tmp_path) == CALLS


def test_handlers_are_set_in_the_main_thread_only(monkeypatch):
    """From another one Python refuses, and an application there has its main thread to decide."""
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signals = Signals(lambda: False, lambda: None, 1.0)
    try:
        thread = threading.Thread(target=signals.want)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
        signals.again()
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
        signals.leave()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_error_in_the_handler_does_not_reach_the_code_that_it_interrupted():
    """Whatever is wrong with a monitor, it is saved as far as that goes, and the signal ends the process."""

    def broken():
        raise RuntimeError("Set changed size during iteration")

    saved, sent = threading.Event(), []
    signals = Signals(broken, saved.set, 1.0)
    before = signal.signal(signal.SIGTERM, lambda number, frame: sent.append(number))
    try:
        signals._handle(signal.SIGTERM, None)
        assert saved.wait(30)
        while not sent:
            time.sleep(0.001)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert sent == [signal.SIGTERM]
