from __future__ import annotations

import os
import subprocess

import pytest
from cli_runs import environment, program, write_lines

from toolpulse import Baseline

pty = pytest.importorskip("pty", reason="no terminals to open here")


def on_terminal(*argv, **extra) -> str:
    """What a command writes to a terminal of 40 columns."""
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm-256color", COLUMNS="40", **extra)
    process = subprocess.Popen(program(*argv), stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux reports the other end's closing this way
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    process.wait()
    return seen.decode()


@pytest.fixture
def drifted(tmp_path):
    """A check that finds two changes, one of them in a hostile key."""
    Baseline.learn([{"a_field_name_" * 5: 1, "[red]x[/red]\x1b[2J": 1}] * 3).save(tmp_path / "b.json")
    write_lines(tmp_path / "after.jsonl", {"a_field_name_" * 5: "x", "[red]x[/red]\x1b[2J": "x"})
    return ["check", "--baseline", tmp_path / "b.json", tmp_path / "after.jsonl"]


def test_risks_are_coloured_on_a_terminal(drifted):
    """Colour is for eyes; paths stay whole on a narrow terminal, and a key is never taken for markup."""
    seen = on_terminal(*drifted)
    assert "\x1b[1;31mHIGH\x1b[0m" in seen
    assert "a_field_name_" * 5 in seen
    assert "[red]x[/red]\\u001b[2J" in seen
    assert "\x1b[2J" not in seen


def test_no_color_is_respected(drifted):
    """https://no-color.org: who sets it wants none."""
    seen = on_terminal(*drifted, NO_COLOR="1")
    assert "HIGH  2 findings" in seen
    assert "\x1b[" not in seen


def test_json_is_never_coloured(drifted):
    """A terminal is no reason to spoil the one object."""
    assert "\x1b" not in on_terminal(*drifted, "--json")
