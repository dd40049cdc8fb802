from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import environment, one_line, program, write_lines

from toolpulse.cli import main
from toolpulse.cli._kit.output import Output


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGPIPE there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_fault(tmp_path, flags):
    """`toolpulse log | head -1` is the commonest use of all; the verdict of `check` must survive it, too."""
    write_lines(tmp_path / "old.jsonl", *[{"a": 1}] * 3)
    write_lines(tmp_path / "new.jsonl", {f"k{i}": {"x": 1} for i in range(250)})
    baseline = tmp_path / "b.json"
    assert main(["learn", str(tmp_path / "old.jsonl"), "-o", str(baseline)]) == 0
    for argv, expected in (
        (("check", "--baseline", baseline, tmp_path / "new.jsonl", *flags), 1),
        (("show", baseline, *flags), 0),
        (("check", "--help"), 0),
    ):
        reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
        reader.wait()
        done = subprocess.run(
            program(*argv), stdout=reader.stdin, stderr=subprocess.PIPE, env=environment(), check=False
        )
        reader.stdin.close()
        assert (done.returncode, done.stderr) == (expected, b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_is_reported(tmp_path):
    """Output that was lost must not look like success."""
    write_lines(tmp_path / "old.jsonl", {"a": 1})
    main(["learn", str(tmp_path / "old.jsonl"), "-o", str(tmp_path / "b.json")])
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            program("show", tmp_path / "b.json"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == 70
    assert "No space left on device" in one_line(done.stderr)


def test_no_standard_output_at_all(monkeypatch, tmp_path):
    """A process started without one has ``sys.stdout`` None; the exit code is still the answer."""
    write_lines(tmp_path / "old.jsonl", {"a": 1})
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["learn", str(tmp_path / "old.jsonl"), "-o", str(tmp_path / "b.json")]) == 0
    out = Output()
    assert out.gone
    out.write("nowhere")
