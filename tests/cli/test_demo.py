from __future__ import annotations

import shlex
import sys
import threading

import pytest
from cli_runs import one_line, ran, ran_apart

from toolpulse import set_active
from toolpulse.cli.commands._demo_server import DAYS, PLANTED
from toolpulse.cli.commands.demo import FILES
from toolpulse.events import decode

INCIDENTS = {
    ("demo.search_docs", "availability", ("results",)),
    ("demo.fetch_pages", "investigate", ("pages[].error", "pages[].text", "pages[].url", "pages[].words")),
    ("demo.get_invoice", "high", ("total",)),
    ("demo.search_docs", "high", ("results[].score", "results[].snippet", "results[].summary")),
}
"""What is planted, and nothing else may appear."""


def events(folder):
    """The events of a demo's log."""
    return [decode(line) for line in (folder / "drift.jsonl").read_bytes().splitlines()]


def reported(folder) -> list[tuple[str, str, tuple[str, ...]]]:
    """The incidents that a demo's log tells: tool, risk, paths."""
    opened = [one for one in events(folder) if one.status == "open"]
    return [(one.tool, one.risk.value, tuple(sorted(c.path for c in one.changes))) for one in opened]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """One demo in a process of its own, as a user starts it."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    return folder, ran_apart(
        "demo", "--fast", "--dir", folder, http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9"
    )


def test_the_planted_incidents_and_no_others(played):
    """A demonstration of a monitor that cries wolf would demonstrate that."""
    folder, done = played
    assert (done.code, done.err) == (0, "")
    assert sorted(reported(folder)) == sorted(INCIDENTS)
    assert len(INCIDENTS) == len(PLANTED)


def test_a_strict_and_a_lenient_reader_differ(played):
    """The one number with a fraction is high for billing and nothing for the dashboard."""
    folder, done = played
    (invoice,) = [one for one in events(folder) if one.tool == "demo.get_invoice" and one.status == "open"]
    assert {name: risk.value for name, risk in invoice.risks.items()} == {"billing": "high"}
    assert "  for billing: high, dashboard: quiet" in done.out


def test_the_week_and_the_log_are_printed(played):
    """Each day says what happened; the drift log is in the form that `log` has; a rename is recognised."""
    folder, done = played
    for day in range(1, DAYS + 1):
        (line,) = [line for line in done.out.splitlines() if line.startswith(f"day {day} ")]
        assert ("1 incident" in line) == (day in PLANTED)
        assert PLANTED.get(day, "ordinary traffic") in line
    log = ran_apart("log", folder / "drift.jsonl")
    assert log.code == 0
    assert log.out in done.out
    assert "looks renamed to results[].summary" in done.out


def test_no_key_of_a_map_is_kept(played):
    """The ids of users are keys of an object there; they must reach neither log nor baseline nor screen."""
    folder, done = played
    assert b"user_" in (folder / "before.jsonl").read_bytes()
    for name in ("drift.jsonl", "baseline.json", "toolpulse.db"):
        assert b"user_" not in (folder / name).read_bytes()
    assert "user_" not in done.out


def test_what_to_try_next_works(played, capsys):
    """A command that is suggested and fails is worse than none."""
    _, done = played
    suggested = [shlex.split(line) for line in done.out.splitlines() if line.startswith("  toolpulse ")]
    assert [words[1] for words in suggested] == ["log", "incidents", "show", "check"]
    for (_, *words), expected in zip(suggested, (0, 0, 0, 1), strict=True):
        code, out, err = ran(capsys, *words)
        assert (code, err) == (expected, "")
        assert out


def test_the_same_every_time(played, tmp_path, capsys):
    """It is seeded: what a colleague sees is what was seen, here with nothing left running."""
    folder, _ = played
    before = threading.active_count()
    code, _, err = ran(capsys, "demo", "--fast", "--dir", tmp_path)
    assert (code, err) == (0, "")
    assert threading.active_count() == before
    for name in FILES[2:]:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    assert reported(tmp_path) == reported(folder)


def test_the_longer_week_is_as_quiet(tmp_path, capsys, monkeypatch):
    """Without --fast there are more calls, and the same incidents and no others."""
    monkeypatch.setattr("toolpulse.cli.commands.demo.time.sleep", lambda pause: None)
    assert ran(capsys, "demo", "--dir", tmp_path).code == 0
    assert sorted(reported(tmp_path)) == sorted(INCIDENTS)


def test_without_a_folder_it_makes_one(tmp_path, capsys, monkeypatch):
    """It leaves the working directory alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, _ = ran(capsys, "demo", "--fast")
    (folder,) = tmp_path.iterdir()
    assert code == 0
    assert str(folder) in out
    assert sorted(p.name for p in folder.iterdir()) == sorted(FILES)


def test_watching_turned_off_does_not_matter(tmp_path, capsys):
    """Who disabled ToolPulse in a shell and asks for the demo wants the demo; the switch is put back."""
    with set_active(False):
        assert ran(capsys, "demo", "--fast", "--dir", tmp_path).code == 0
        from toolpulse.runtime.switch import switch

        assert not switch.on
    assert reported(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_it_overwrites_nothing(tmp_path, capsys, name):
    """A drift log of production may lie in the folder that is named."""
    (tmp_path / name).write_text("mine")
    code, out, err = ran(capsys, "demo", "--fast", "--dir", tmp_path)
    assert (code, out) == (64, "")
    assert name in one_line(err)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(name, "mine")]


def test_a_bad_folder_is_wrong_use(tmp_path, capsys):
    """A file where the folder should be is named."""
    (tmp_path / "file").write_text("")
    for bad in (tmp_path / "file", tmp_path / "file" / "below", "a\0b"):
        code, out, err = ran(capsys, "demo", "--dir", bad)
        assert (code, out) == (64, "")
        assert one_line(err).startswith("toolpulse: --dir")


def test_without_a_socket_it_says_so(tmp_path, capsys, monkeypatch):
    """A sandbox without a loopback is no fault of ToolPulse."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    code, _, err = ran(capsys, "demo", "--fast", "--dir", tmp_path)
    assert code == 3
    assert "socket on 127.0.0.1: Permission denied" in one_line(err)
    assert sys.stdout is not None
