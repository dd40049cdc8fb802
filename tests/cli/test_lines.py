from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolpulse.cli._kit.lines import follow


class Followed:
    """A file being followed in this process: what was given, and the end of it after so many looks at nothing."""

    def __init__(self, path: Path, monkeypatch) -> None:
        self.path = path
        self.steps: list = []
        self.got: list[tuple[int, bytes]] = []
        monkeypatch.setattr("toolpulse.cli._kit.lines.time.sleep", self._next)
        self._ended = False

    def _next(self, pause: float) -> None:
        """Nobody waits: while the reader rests, the next thing happens to the file."""
        if self.steps:
            self.steps.pop(0)()
        else:
            self._ended = True

    def run(self, *steps) -> list[tuple[int, bytes]]:
        """Follow while the steps happen, one at each rest."""
        self.steps = list(steps)
        return list(follow(str(self.path), lambda: self._ended))

    def append(self, data: bytes):
        """A step that writes to the file."""

        def step() -> None:
            with self.path.open("ab") as file:
                file.write(data)

        return step


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """A file that is followed, still absent."""
    return Followed(tmp_path / "d.jsonl", monkeypatch)


def test_follow_waits_for_the_file(followed):
    """The log appears with the first event, often after somebody began to watch."""
    assert followed.run(lambda: None, followed.append(b"a\n"), followed.append(b"\n \nb\n")) == [
        (1, b"a\n"),
        (4, b"b\n"),
    ]


def test_follow_waits_for_the_end_of_a_line(followed):
    """Half a line is no line yet, however long it takes."""
    assert followed.run(followed.append(b"ab"), followed.append(b"c"), followed.append(b"d\ne")) == [(1, b"abcd\n")]


def test_follow_survives_truncation(followed):
    """A log emptied in place begins anew, with its line numbers; half a line of before is gone with it."""
    cut = lambda: followed.path.write_bytes(b"")  # noqa: E731
    steps = [followed.append(b"a\nbbbbb\nhalf"), cut, followed.append(b"c\n")]
    assert followed.run(*steps) == [(1, b"a\n"), (2, b"bbbbb\n"), (1, b"c\n")]


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be renamed there")
def test_follow_survives_rotation(followed, tmp_path):
    """logrotate renames the file; what was still written to the old one is read, then the new one from its start."""

    def rotate() -> None:
        with followed.path.open("ab") as file:
            file.write(b"b\nlast")
        followed.path.rename(tmp_path / "old")

    steps = [followed.append(b"a\n"), rotate, lambda: None, followed.append(b"c\n"), followed.append(b"d\n")]
    assert followed.run(*steps) == [(1, b"a\n"), (2, b"b\n"), (3, b"last"), (1, b"c\n"), (2, b"d\n")]
