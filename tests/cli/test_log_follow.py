from __future__ import annotations

import json
import os
import signal
import subprocess
import threading

import pytest
from cli_logs import event, learned, write_log
from cli_runs import environment, one_line, program, ran

from toolpulse.events import encode


def test_following_what_cannot_be_read_is_4(tmp_path, capsys):
    """Waiting for a folder to become a log would take for ever."""
    code, out, err = ran(capsys, "log", "--follow", tmp_path)
    assert (code, out) == (4, "")
    assert one_line(err).startswith(f"toolpulse: {tmp_path}: ")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent another way there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_follow_in_a_process_of_its_own(tmp_path, flags):
    """Events are shown one by one as they come, a bad line is passed over, and Ctrl-C is the ordinary end."""
    log = tmp_path / "d.jsonl"
    process = subprocess.Popen(
        program("log", "--follow", log, *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stderr.readline() == f"toolpulse: waiting for {log}\n"
        write_log(log, event(), event(id="e2", count=18))
        seen = [process.stdout.readline()]
        while "18" not in seen[-1]:
            seen.append(process.stdout.readline())
            assert seen[-1], seen
        with log.open("ab") as file:
            file.write(b"{bad\n" + encode(learned()) + b"\n")
        while "learned 7" not in seen[-1]:
            seen.append(process.stdout.readline())
            assert seen[-1], seen
        assert f"{log}:3: not JSON" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()
        assert process.returncode == 0
        assert err == ""
        assert rest.strip() == ""
        if flags:
            assert [json.loads(line)["id"] for line in seen] == ["e1", "e2", "l1"]
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()


@pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE there")
def test_follow_ends_when_its_reader_leaves(tmp_path):
    """`log --follow | head -1` must not run on for ever."""
    log = write_log(tmp_path / "d.jsonl", *(learned(id=str(n)) for n in range(3)))
    process = subprocess.Popen(
        program("log", "--follow", log), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline()
        process.stdout.close()
        while process.poll() is None:
            with log.open("ab") as file:
                file.write(encode(learned()) + b"\n")
            threading.Event().wait(0.05)
        assert process.returncode == 0
        assert process.stderr.read() == b""
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stderr.close()
