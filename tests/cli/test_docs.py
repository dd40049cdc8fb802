from __future__ import annotations

import io
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from docs_sessions import COMMAND, EXAMPLES, REWRITE, SESSION, session

from toolpulse.cli import COMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


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
        return match[1] + session(COMMAND.findall(match[2]), capsys) + match[3]

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
