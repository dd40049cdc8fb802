from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import threading

import pytest
from cli_runs import environment, one_line, program, ran
from cli_stores import BAD, GOOD, HOSTILE, broken, change, files, fill, newer, refused, sqlite, told

from toolpulse.cli._events import arriving
from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.sinks.jsonl import JsonlSink


@pytest.fixture
def db(tmp_path):
    """The URL of a store that is not there yet."""
    return sqlite(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_db(request, tmp_path):
    """The same, on either engine."""
    return sqlite(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_a_store_reads_as_its_log_does(any_db, tmp_path, capsys):
    """Whoever has no drift.jsonl at hand misses nothing: the same events, the same words."""
    from toolpulse import Monitor

    log = tmp_path / "drift.jsonl"
    with Monitor(any_db, background=False, sinks=[JsonlSink(log)]) as monitor:
        for response, times in ((GOOD, 20), (BAD, 3), (GOOD, 60)):
            for _ in range(times):
                monitor.observe("app.search_docs", response)
    for flags in ([], ["--risk", "high"], ["--tool", "search_*"], ["--since", "1h"], ["--tool", "none"]):
        code, out, err = ran(capsys, "log", log, *flags)
        assert (code, err) == (0, "")
        assert told(capsys, any_db, "log", *flags) == out.splitlines()
        _, out, _ = ran(capsys, "log", log, "--json", *flags)
        assert [json.loads(line) for line in told(capsys, any_db, "log", "--json", *flags)] == [
            json.loads(line) for line in out.splitlines()
        ]


def test_a_decision_is_an_event(db, capsys):
    """The audit trail can be followed without any process running."""
    broken(db)
    told(capsys, db, "accept", "search_docs", "--reason", "planned")
    assert "  decision: accept: planned" in told(capsys, db, "log")


def test_which_log_is_read(tmp_path, capsys, monkeypatch):
    """A file here, else the default store, else the word of before; a store that is named stands before all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    assert ran(capsys, "log") == (4, "", "toolpulse: drift.jsonl: No such file or directory\n")
    fill(None, (GOOD, 12), tool="app.default")
    assert "default" in ran(capsys, "log").out
    fill(sqlite(tmp_path), (GOOD, 12), tool="app.variable")
    monkeypatch.setenv("TOOLPULSE_DB", sqlite(tmp_path))
    assert "variable" in ran(capsys, "log").out
    (tmp_path / "drift.jsonl").write_bytes(b"")
    assert ran(capsys, "log").out == "no events\n"
    assert "variable" in ran(capsys, "log", "--db", sqlite(tmp_path)).out
    monkeypatch.setenv("TOOLPULSE_DB", "memory:")
    (tmp_path / "drift.jsonl").unlink()
    assert ran(capsys, "log").code == 4
    monkeypatch.setenv("TOOLPULSE_DB", "memroy:")
    code, out, err = ran(capsys, "log")
    assert (code, out) == (64, "")
    assert one_line(err).startswith("toolpulse: TOOLPULSE_DB: ")


def test_a_file_and_a_store_are_two_logs(db, capsys):
    """Which of them was meant is not for us to guess."""
    assert "one of them" in refused(capsys, 64, db, "log", "x.jsonl")


def test_hostile_events_are_harmless(db, capsys):
    """Names in a store are no better than those in a file; lone surrogates included."""
    fill(db, ({HOSTILE: 1, "\ud800": 1}, 20), ({HOSTILE: "x", "\ud800": "x"}, 2), tool=HOSTILE, key=HOSTILE)
    for flags in ([], ["--json"]):
        lines = told(capsys, db, "log", *flags)
        assert len(lines) > 1
        assert all(line.isprintable() for line in lines)
        assert not any(line.startswith("HIGH forged") for line in lines)


def test_an_event_that_is_none(db, capsys):
    """What a store cannot read it passes over, and the doctor tells of it; a time that is none ends with 4."""
    broken(db)
    change(db, "UPDATE toolpulse_events SET body = '{}' WHERE seq = 1")
    assert [json.loads(line)["status"] for line in told(capsys, db, "log", "--json")] == ["open"]
    change(db, 'UPDATE toolpulse_events SET body = REPLACE(body, \'"time":"2\', \'"time":"x\')')
    for flags in ([], ["--json"]):
        assert "ISO 8601" in refused(capsys, 4, db, "log", *flags)


class Watching:
    """A store that is followed in this process: nobody waits, each rest is when the next thing happens."""

    def __init__(self, db, monkeypatch):
        self.args = argparse.Namespace(db=db)
        self.steps = []
        self.ended = False
        monkeypatch.setattr("toolpulse.cli._events.time.sleep", self._next)

    def _next(self, pause):
        assert pause > 0
        if self.steps:
            self.steps.pop(0)()
        else:
            self.ended = True

    def run(self, *steps):
        """The statuses of the events told while the steps happen."""
        self.steps = list(steps)
        return [event.status for _, event in arriving(self.args, lambda: self.ended)]


@pytest.fixture
def watching(any_db, monkeypatch):
    """A store that is followed, still without anything in it."""
    return Watching(any_db, monkeypatch)


def test_follow_tells_each_event_once(watching, capsys):
    """All there are, and then each new one, whoever writes it."""
    db = watching.args.db
    fill(db, (GOOD, 12))
    decide = lambda: told(capsys, db, "reject", "search_docs", "--reason", "x")  # noqa: E731
    assert watching.run(lambda: None, lambda: fill(db, (BAD, 2)), decide, lambda: None) == [
        "learned",
        "open",
        "rejected",
    ]


def test_follow_waits_for_the_store(db, monkeypatch, tmp_path, capsys):
    """It appears with the first call of a tool; until then nothing is made in its place."""
    watching = Watching(db, monkeypatch)
    nothing = lambda: files(tmp_path) and pytest.fail("a file was made")  # noqa: E731
    assert watching.run(nothing, nothing, lambda: fill(db, (GOOD, 12))) == ["learned"]
    assert "waiting: " in one_line(capsys.readouterr().err)


def test_follow_waits_out_what_passes(db, monkeypatch, tmp_path, capsys):
    """Whoever watches overnight sees the events of after a restart, and a line for each time it was away."""
    broken(db)
    watching = Watching(db, monkeypatch)
    away = tmp_path / "away"
    file = tmp_path / "toolpulse.db"
    go, come = (lambda: file.rename(away)), (lambda: away.rename(file))
    told_of = watching.run(go, lambda: None, come, go, come, lambda: fill(db, ({**GOOD, "note": 5}, 1)))
    assert told_of == ["learned", "open", "open"]
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_follow_ends_where_waiting_is_in_vain(db, monkeypatch):
    """A store of a newer version will not become an older one."""
    broken(db)
    with pytest.raises(StoreUnusable):
        Watching(db, monkeypatch).run(lambda: newer(db))


def test_follow_says_at_once_what_is_wrong(tmp_path, postgres, monkeypatch):
    """A wrong password or a file that is no store is no reason to wait."""
    (tmp_path / "toolpulse.db").write_bytes(b"")
    for url in (sqlite(tmp_path), postgres.url("postgres", "wrong")):
        with pytest.raises(StoreError):
            Watching(url, monkeypatch).run()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent another way there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_follow_in_a_process_of_its_own(db, flags):
    """Events are told as they come, and Ctrl-C is the ordinary end."""
    process = subprocess.Popen(
        program("log", "--follow", "--db", db, *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert "waiting" in process.stderr.readline()
        broken(db)
        seen = ""
        while "score" not in seen:
            line = process.stdout.readline()
            assert line, seen
            seen += line
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()
        assert (process.returncode, err, rest.strip()) == (0, "", "")
        assert "learned" in seen
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
