from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from toolpulse.cli import COMMANDS, main

DOCS = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
EXAMPLES = DOCS.parents[1] / "examples" / "provenance"
SESSION = re.compile(r"(<!-- session -->\n```console\n)(.*?)(```\n<!-- /session -->)", re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:toolpulse|echo) .*)$", re.MULTILINE)
REWRITE = "TOOLPULSE_REWRITE_DOCS"

# what differs from run to run, as the docs have it
VARIES = (
    (re.compile(r"http://127\.0\.0\.1:[0-9]+"), "http://127.0.0.1:43117"),
    (re.compile(r"sqlite [0-9.]+, schema (\d+), [0-9,]+ KiB"), r"sqlite 3.45.1, schema \1, 168 KiB"),
    (re.compile(r"(?<=  )[0-9]{2}:[0-9]{2}(?=  )"), "14:02"),
    (re.compile(r"[0-9-]{10}T[0-9:.]{12}Z"), "2026-03-01T14:02:07.118Z"),
    (re.compile(r"since (?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}"), "since 14:02"),
)


def _ran(commands: list[str], capsys) -> str:
    """A session: each command with what it printed, on either stream."""
    out, code = [], None
    for command in commands:
        out.append(f"$ {command}\n")
        if command == "echo $?":
            out.append(f"{code}\n")
            continue
        code = main(shlex.split(command)[1:])
        out.extend(capsys.readouterr())
    text = "".join(out).replace(str(Path.cwd()), "/srv/agent")
    for pattern, shown in VARIES:
        text = pattern.sub(shown, text)
    return text


@pytest.fixture
def again(tmp_path, monkeypatch, capsys) -> str:
    """The docs with every session run again, one after the other in a folder with the example's files."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    for name in ("NO_COLOR", "FORCE_COLOR", "TOOLPULSE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    capsys.readouterr()

    def run(match: re.Match[str]) -> str:
        return match[1] + _ran(COMMAND.findall(match[2]), capsys) + match[3]

    return SESSION.sub(run, DOCS.read_text("utf-8"))


def test_the_sessions_are_what_the_program_prints(again):
    """Output in docs that nobody runs is wrong within a month; run with TOOLPULSE_REWRITE_DOCS=1 to write it anew."""
    if os.environ.get(REWRITE):
        DOCS.write_text(again, "utf-8")
    assert _aligned(DOCS.read_text("utf-8")) == _aligned(again)


def _aligned(text):
    """From Python 3.14 on argparse indents the columns of its help by what is there, before by what may be there."""
    return text if sys.version_info < (3, 14) else re.sub(r"\s+", " ", text)


def test_every_command_is_in_the_docs():
    """Each has a heading of its own, its help, and a session that uses it."""
    text = DOCS.read_text("utf-8")
    sessions = "".join(match[2] for match in SESSION.finditer(text))
    for command in COMMANDS:
        assert f"\n## {command.name}\n" in text
        assert f"$ toolpulse {command.name} --help\n" in sessions
        assert re.search(rf"^\$ toolpulse {command.name} (?!--help)", sessions, re.MULTILINE)
        assert command.summary
        assert command.about
    assert sorted(re.findall(r"^## ([a-z]+)$", text, re.MULTILINE)) == sorted(command.name for command in COMMANDS)


def test_no_session_is_left_out():
    """A block that lost its mark would not be run again."""
    text = DOCS.read_text("utf-8")
    assert text.count("$ toolpulse") == sum(match[2].count("$ toolpulse") for match in SESSION.finditer(text))
