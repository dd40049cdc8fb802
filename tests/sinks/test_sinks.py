# ruff: noqa: D102
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from scripts import logged, run

from toolpulse import Monitor, Risk
from toolpulse._base.guard import Guard
from toolpulse.events import DriftEvent, EventChange, decode, encode
from toolpulse.sinks.base import Sink
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.sinks.logs import LogSink
from toolpulse.sinks.queue import MOST_EVENTS, Outbox, Pause


def _event(number=0, **fields):
    settings = {
        "id": f"{number:016x}",
        "time": "2026-01-02T03:04:05.678Z",
        "tool": "search_docs",
        "key": "",
        "incident": "0123456789ab",
        "status": "open",
        "risk": Risk.HIGH,
        "risks": {"default": Risk.HIGH},
        "summary": "score: number -> string",
        "pattern": None,
        "changes": (
            EventChange("score", "kind-changed", "number", "string", Risk.HIGH, "412 of 412 before; absent now"),
        ),
        "fingerprint_before": "a" * 64,
        "fingerprint_after": "b" * 64,
        "encoding": "native",
        "count": 1,
        "share": 1.0,
        "coverage": (),
    }
    return DriftEvent(**{**settings, **fields})


def _drift(monitor, tool="t", changes=1):
    """Two events and more: learned, then one for each change."""
    for _ in range(12):
        monitor.observe(tool, {f"f{n}": 1 for n in range(changes)})
    for n in range(changes):
        monitor.observe(tool, {f"f{m}": 1 for m in range(changes)} | {f"f{n}": "x"})


class Kept:
    def __init__(self):
        self.events = []
        self.closed = 0

    def emit(self, event):
        self.events.append(event)

    def close(self):
        self.closed += 1


class Failing(Kept):
    broken = True

    def emit(self, event):
        if self.broken:
            raise OSError("full")
        super().emit(event)


class Hanging(Kept):
    def __init__(self):
        super().__init__()
        self.entered = threading.Event()
        self.go = threading.Event()

    def emit(self, event):
        self.entered.set()
        self.go.wait()
        super().emit(event)


# -- the drift log ---------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace").decode())


@given(TEXTS, TEXTS, st.integers(0, 2**53), st.floats(0, 1), st.lists(TEXTS, max_size=3))
def test_an_event_comes_back_from_its_line(tmp_path_factory, text, path, count, share, coverage):
    """What another program reads is what happened, in any language and with any line break in a name."""
    change = EventChange(path, "kind-changed", text, "string", Risk.HIGH, text, text, path)
    event = _event(summary=text, count=count, share=share, coverage=tuple(coverage), changes=(change,), pattern=text)
    file = tmp_path_factory.mktemp("log") / "drift.jsonl"
    for _ in range(2):
        JsonlSink(file).emit(event)
    assert logged(file.parent) == [event, event]


def test_the_schema_is_the_first_thing_on_a_line(tmp_path):
    """A reader decides by it whether it can read the rest."""
    JsonlSink(tmp_path / "drift.jsonl").emit(_event())
    assert (tmp_path / "drift.jsonl").read_bytes().startswith(b'{"schema":1,')


def test_the_file_comes_with_the_first_event_and_is_private(tmp_path):
    """A tool that never drifts leaves no file, and field names are nobody else's."""
    sink = JsonlSink(tmp_path / "a" / "b" / "drift.jsonl")
    assert list(tmp_path.iterdir()) == []
    sink.emit(_event())
    assert sink.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("torn", [b'{"schema":1,"id":"01', b'{"schema":1}'])
def test_a_torn_line_is_ended_before_the_next(torn, tmp_path):
    """A process that was killed in the middle of a line must not cost the next event too."""
    file = tmp_path / "drift.jsonl"
    file.write_bytes(encode(_event(1)) + b"\n" + torn)
    JsonlSink(file).emit(_event(2))
    first, second, third = file.read_bytes().splitlines()
    assert (decode(first), second, decode(third)) == (_event(1), torn, _event(2))


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path):
    """Log rotation renames the file while the process runs."""
    sink = JsonlSink(tmp_path / "drift.jsonl")
    sink.emit(_event(1))
    sink.path.rename(tmp_path / "old.jsonl")
    sink.emit(_event(2))
    assert (logged(tmp_path, "old.jsonl"), logged(tmp_path)) == ([_event(1)], [_event(2)])


def test_something_that_is_no_file_can_be_written_to(tmp_path):
    """A pipe to a log shipper has no size and cannot be cut."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        JsonlSink(pipe).emit(_event())
        assert decode(os.read(reader, 100_000).strip()) == _event()
    finally:
        os.close(reader)


WRITER = """
import sys
from toolpulse.events import decode
from toolpulse.sinks.jsonl import JsonlSink
import msgspec
event = decode(sys.argv[1])
sys.stdin.readline()
for n in range(300):
    JsonlSink("drift.jsonl").emit(msgspec.structs.replace(event, count=n, summary=sys.argv[2] * (n % 50)))
"""


def test_several_processes_write_whole_lines(tmp_path):
    """Workers of one service share a log; a line mixed of two would lose both."""
    from scripts import environment

    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, encode(_event(number)), str(number) * 100],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    assert [writer.wait(60) for writer in writers] == [0] * 4
    for writer in writers:
        writer.stdin.close()
    events = logged(tmp_path)
    for number in range(4):
        of_one = [event.count for event in events if event.id == _event(number).id]
        assert of_one == list(range(300))


FULL = """
import sys, resource, signal
import toolpulse
from toolpulse.sinks.jsonl import JsonlSink

def calls(n, fields=("a",)):
    response = {name: 1 for name in "abcdefgh"}
    for _ in range(n):
        tool(response | {name: "x" for name in fields})

@toolpulse.watch(tool="t")
def tool(response):
    return response

monitor = toolpulse.configure("memory:", sinks=[JsonlSink("disk/drift.jsonl")], flush_interval=10_000.0)
calls(12, ())
assert monitor.flush()
fill()
for name in "abcdefgh":
    calls(1, (name,))
    monitor.flush()
assert monitor.flush() is False
assert monitor.health().sinks == {"JsonlSink": "failing"}, monitor.health().sinks
assert monitor.health().swallowed_by.keys() == {"emitting to JsonlSink: OSError"}
torn = open("disk/drift.jsonl", "rb").read()
assert torn.endswith(b"\\n"), "a torn line was left"
empty()
assert monitor.flush() is True
assert monitor.health().sinks == {"JsonlSink": "ok"}
"""

LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def fill():
    import os
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize("disk/drift.jsonl") + 500, resource.RLIM_INFINITY))
def empty():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""

FILLED = """
import os
def fill():
    with open("disk/other", "wb", buffering=0) as other:
        try:
            while other.write(b"x" * 512): pass
        except OSError:
            pass
def empty():
    os.unlink("disk/other")
"""


def _full_disk(setup, tmp_path):
    done = run(setup + FULL, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    events = logged(tmp_path / "disk")
    assert [event.status for event in events] == ["learned"] + ["open"] * 8
    assert [event.changes[0].path for event in events[1:]] == list("abcdefgh")


def test_a_file_that_must_not_grow_loses_no_event_and_keeps_no_torn_line(tmp_path):
    """A write stops in the middle at a limit as on a full disk; the caller notices nothing and the log is whole."""
    pytest.importorskip("resource")
    (tmp_path / "disk").mkdir()
    _full_disk(LIMITED, tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 24 kB; for whoever may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk may be mounted here")
    yield tmp_path
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_loses_no_event_and_keeps_no_torn_line(small_disk):
    """The same on a disk that is full in earnest."""
    _full_disk(FILLED, small_disk)


# -- structlog -------------------------------------------------------------------------------------------------------

DRIFTING = """
@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}
for n in [1] * 12 + ["x", None]:
    tool(n)
toolpulse.configure()
"""


def test_without_configuration_events_go_to_stderr_as_json(tmp_path):
    """stdout may carry a protocol, so nothing of ours goes there."""
    done = run("import toolpulse" + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["event"], line["level"], line["status"]) for line in lines] == [
        ("tool_drift", "info", "learned"),
        ("tool_drift", "error", "open"),
        ("tool_drift", "warning", "open"),
    ]
    assert lines[1]["changes"][0]["path"] == "n"
    assert lines[1]["schema"] == 1


def test_without_stderr_nothing_is_said_and_nothing_fails(tmp_path):
    """A program without a console has none, and stdout is not ours to take."""
    done = run("import sys; sys.stderr = None\nimport toolpulse" + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_events_go_through_the_application_s_configuration(tmp_path):
    """Its format and its destination are the application's to choose."""
    configured = """
import structlog, sys, toolpulse
structlog.configure(processors=[structlog.processors.KeyValueRenderer(key_order=["event", "risk"])],
                    logger_factory=structlog.PrintLoggerFactory(open("app.log", "w")))
"""
    done = run(configured + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = (tmp_path / "app.log").read_text().splitlines()
    assert [line.split(" ")[0] for line in lines] == ["event='tool_drift'"] * 3
    assert "'high'" in lines[1]


@pytest.fixture
def _structlog_configured():
    structlog.configure()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("_structlog_configured")
def test_an_event_is_one_record_with_a_level_by_its_risk():
    """Whoever alerts on errors hears of what is high, and of nothing less."""
    levels = {"high": "error", "availability": "warning", "investigate": "warning", "info": "info", "quiet": "debug"}
    for risk, level in levels.items():
        with structlog.testing.capture_logs() as logs:
            LogSink().emit(_event(risk=Risk(risk)))
        (record,) = logs
        assert (record["event"], record["log_level"], record["risk"]) == ("tool_drift", level, risk)
        assert record["changes"][0]["rule_id"] == "kind-changed"
        assert not {"decision", "coverage", "pattern"} & record.keys()


# -- sinks that misbehave --------------------------------------------------------------------------------------------


@pytest.mark.swallows
def test_a_sink_that_raises_gets_its_events_again_in_order():
    """A log server that was away for an hour has everything afterwards, once."""
    failing, kept = Failing(), Kept()
    with Monitor(sinks=[failing, kept], flush_interval=10_000.0) as monitor:
        _drift(monitor, changes=3)
        assert monitor.flush() is False
        assert monitor.health().sinks == {"Failing": "failing", "Kept": "ok"}
        assert (failing.events, len(kept.events)) == ([], 4)
        failing.broken = False
        assert monitor.flush() is True
        assert failing.events == kept.events
        assert monitor.health().sinks == {"Failing": "ok", "Kept": "ok"}


@pytest.mark.swallows
def test_a_sink_that_failed_is_tried_again_without_a_new_event(monkeypatch):
    """The last event before a quiet night must not wait for the morning's first."""
    monkeypatch.setattr(Pause, "left", property(lambda pause: pause._until and 0.001))
    failing = Failing()
    sent = threading.Event()
    with Monitor(sinks=[failing], flush_interval=0.001) as monitor:
        _drift(monitor)
        while monitor.health().sinks != {"Failing": "failing"}:
            threading.Event().wait(0.001)
        monkeypatch.undo()
        failing.emit = lambda event: (failing.events.append(event), sent.set())
        assert sent.wait(20)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_sink_that_hangs_holds_up_nobody_else(order):
    """The caller goes on, and the other sinks have their events while it hangs."""
    sinks = [Hanging(), Kept()]
    hanging, kept = sinks
    with Monitor(sinks=[sinks[index] for index in order], flush_interval=10_000.0) as monitor:
        _drift(monitor)
        assert monitor.flush(timeout=0.05) is False
        assert hanging.entered.wait(10)
        assert [event.status for event in kept.events] == ["learned", "open"]
        assert monitor.health().sinks == {"Hanging": "busy", "Kept": "ok"}
        _drift(monitor, "other")
        assert monitor.flush(timeout=0.05) is False
        assert len(kept.events) == 4
        hanging.go.set()
        assert monitor.flush() is True
        assert hanging.events == kept.events


def test_a_slow_sink_gets_every_event_in_order():
    """Slowness is no failure."""

    class Slow(Kept):
        def emit(self, event):
            threading.Event().wait(0.001)
            super().emit(event)

    slow = Slow()
    with Monitor(sinks=[slow], flush_interval=0.001) as monitor:
        _drift(monitor, changes=20)
    assert [event.status for event in slow.events] == ["learned"] + ["open"] * 20
    assert slow.closed == 1


@pytest.mark.parametrize("background", [True, False])
def test_close_sends_what_waits_and_closes_each_sink_once(background):
    """A sink with a connection is told when it may let go of it."""
    kept = Kept()
    monitor = Monitor(sinks=[kept], background=background, flush_interval=10_000.0)
    _drift(monitor)
    monitor.close()
    monitor.close()
    assert (len(kept.events), kept.closed) == (2, 1)


@pytest.mark.swallows
@pytest.mark.parametrize("background", [True, False])
def test_a_sink_that_cannot_be_closed_keeps_nobody(background):
    """Closing is for the others too."""

    class Unclosable(Kept):
        def close(self):
            raise OSError

    kept = Kept()
    monitor = Monitor(sinks=[Unclosable(), kept], background=background)
    _drift(monitor)
    monitor.close()
    assert kept.closed == 1
    assert monitor.health().swallowed_by == {"closing Unclosable: OSError": 1}


def test_a_sink_that_hangs_does_not_keep_close():
    """A program that ends its monitor wants to go on ending, and the other sinks are closed."""
    hanging, kept = Hanging(), Kept()
    kept.close = (closed := threading.Event()).set
    monitor = Monitor(sinks=[hanging, kept], flush_interval=10_000.0)
    _drift(monitor)
    monitor.close(timeout=0.05)
    assert closed.wait(10)
    assert (len(kept.events), hanging.closed) == (2, 0)
    hanging.go.set()


def test_two_sinks_of_a_kind_are_told_apart():
    """Health must say which of the two fails."""
    with Monitor(sinks=[Kept(), Kept(), Kept()]) as monitor:
        assert list(monitor.health().sinks) == ["Kept", "Kept 2", "Kept 3"]


def test_the_protocol_is_one_method():
    """A sink is anything with emit; nothing needs to be inherited."""
    assert isinstance(Kept(), Sink)
    assert isinstance(JsonlSink(), Sink)
    assert isinstance(LogSink(), Sink)
    assert not isinstance(object(), Sink)


# -- the outbox ------------------------------------------------------------------------------------------------------


@pytest.mark.swallows
def test_a_full_outbox_lets_the_oldest_go_and_counts_it():
    """A sink that fails for a week must not fill the memory, and the loss must be seen."""
    failing = Failing()
    outbox = Outbox("o", failing, Guard())
    for number in range(MOST_EVENTS + 5):
        outbox.put(_event(number))
    assert (outbox.waiting, outbox.dropped) == (MOST_EVENTS, 5)
    assert outbox.send(0) is False
    assert outbox.state == "failing, 5 dropped"
    failing.broken = False
    assert outbox.send(0) is True
    assert failing.events == [_event(number) for number in range(5, MOST_EVENTS + 5)]


def test_an_outbox_that_fills_while_it_sends_loses_none_it_did_not_count():
    """The event that is being sent is in no queue; it must be neither counted as lost nor sent twice."""
    hanging = Hanging()
    outbox = Outbox("o", hanging, Guard())
    outbox.start()
    outbox.put(_event(0))
    assert hanging.entered.wait(10)
    for number in range(1, MOST_EVENTS + 4):
        outbox.put(_event(number))
    hanging.go.set()
    assert outbox.send(10) is True
    outbox.stop()
    assert outbox.dropped == 3
    assert hanging.events == [_event(0), *(_event(number) for number in range(4, MOST_EVENTS + 4))]


def test_pauses_grow_to_a_minute():
    """A sink that is down for long is not hammered, a short outage is over soon, and a fleet does not come as one."""
    pause = Pause()
    left = []
    for _ in range(12):
        pause.failed()
        left.append(pause.left)
    for found, wanted in zip(left, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60], strict=True):
        assert 0.7 * wanted < found <= 1.25 * wanted
    assert len({round(seconds, 6) for seconds in left[-6:]}) > 1
    pause.worked()
    assert (pause.left <= 0, pause.failures) == (True, 0)


def test_a_sink_that_asks_for_a_flush_is_turned_away():
    """It would wait for its own return."""
    asked = []

    class Asking(Kept):
        def emit(self, event):
            asked.append(monitor.flush())
            super().emit(event)

    sink = Asking()
    monitor = Monitor(sinks=[sink], flush_interval=0.001)
    _drift(monitor)
    monitor.close()
    assert asked == [False, False]
    assert len(sink.events) == 2


def test_an_interrupt_in_an_inline_sink_passes_and_loses_no_event():
    """Ctrl-C while a sink writes ends the program's call, and the event is still to be told."""

    class Interrupted(Kept):
        def emit(self, event):
            if not self.events and not self.closed:
                self.closed += 1
                raise KeyboardInterrupt
            super().emit(event)

    sink = Interrupted()
    monitor = Monitor(sinks=[sink], background=False)
    with pytest.raises(KeyboardInterrupt):
        _drift(monitor)
    assert monitor.flush()
    assert [event.status for event in sink.events] == ["learned"]
