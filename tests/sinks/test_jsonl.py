from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import logged, run
from sink_events import an_event

from toolpulse import Risk
from toolpulse.events import EventChange, decode, encode
from toolpulse.sinks.jsonl import JsonlSink

TEXTS = st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace").decode())


@given(TEXTS, TEXTS, st.integers(0, 2**53), st.floats(0, 1), st.lists(TEXTS, max_size=3))
def test_an_event_comes_back_from_its_line(tmp_path_factory, text, path, count, share, coverage):
    """What another program reads is what happened, in any language and with any line break in a name."""
    change = EventChange(path, "kind-changed", text, "string", Risk.HIGH, text, text, path)
    event = an_event(summary=text, count=count, share=share, coverage=tuple(coverage), changes=(change,), pattern=text)
    file = tmp_path_factory.mktemp("log") / "drift.jsonl"
    for _ in range(2):
        JsonlSink(file).emit(event)
    assert logged(file.parent) == [event, event]


def test_the_schema_is_the_first_thing_on_a_line(tmp_path):
    """A reader decides by it whether it can read the rest."""
    JsonlSink(tmp_path / "drift.jsonl").emit(an_event())
    assert (tmp_path / "drift.jsonl").read_bytes().startswith(b'{"schema":1,')


def test_the_file_comes_with_the_first_event_and_is_private(tmp_path):
    """A tool that never drifts leaves no file, and field names are nobody else's."""
    sink = JsonlSink(tmp_path / "a" / "b" / "drift.jsonl")
    assert list(tmp_path.iterdir()) == []
    sink.emit(an_event())
    assert sink.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("torn", [b'{"schema":1,"id":"01', b'{"schema":1}'])
def test_a_torn_line_is_ended_before_the_next(torn, tmp_path):
    """A process that was killed in the middle of a line must not cost the next event too."""
    file = tmp_path / "drift.jsonl"
    file.write_bytes(encode(an_event(1)) + b"\n" + torn)
    JsonlSink(file).emit(an_event(2))
    first, second, third = file.read_bytes().splitlines()
    assert (decode(first), second, decode(third)) == (an_event(1), torn, an_event(2))


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path):
    """Log rotation renames the file while the process runs."""
    sink = JsonlSink(tmp_path / "drift.jsonl")
    sink.emit(an_event(1))
    sink.path.rename(tmp_path / "old.jsonl")
    sink.emit(an_event(2))
    assert (logged(tmp_path, "old.jsonl"), logged(tmp_path)) == ([an_event(1)], [an_event(2)])


def test_something_that_is_no_file_can_be_written_to(tmp_path):
    """A pipe to a log shipper has no size and cannot be cut."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        JsonlSink(pipe).emit(an_event())
        assert decode(os.read(reader, 100_000).strip()) == an_event()
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
            [sys.executable, "-c", WRITER, encode(an_event(number)), str(number) * 100],
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
        of_one = [event.count for event in events if event.id == an_event(number).id]
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
