from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import threading

import msgspec
import pytest
from cli_runs import environment, one_line, program, ran
from cli_stores import BAD, GOOD, HOSTILE, broken, change, files, fill, newer, printed, refused, sqlite

from toolpulse.cli._kit.store_events import StoreWatch, arriving, stored
from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.sinks.jsonl import JsonlSink
from toolpulse.stores.sql import schema as _schema


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
        assert printed(capsys, any_db, "log", *flags) == out.splitlines()
        _, out, _ = ran(capsys, "log", log, "--json", *flags)
        assert [json.loads(line) for line in printed(capsys, any_db, "log", "--json", *flags)] == [
            json.loads(line) for line in out.splitlines()
        ]


def test_a_decision_is_an_event(db, capsys):
    """The audit trail can be followed without any process running."""
    broken(db)
    printed(capsys, db, "accept", "search_docs", "--reason", "planned")
    assert "  decision: accept: planned" in printed(capsys, db, "log")


def test_which_log_is_read(tmp_path, capsys, monkeypatch):
    """A file here, else the default store, else the word of before; a store that is named stands before all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    for flags in ([], ["--json"]):
        code, out, err = ran(capsys, "log", *flags)
        assert (code, out) == (4, "")
        assert one_line(err).startswith(
            "toolpulse: there is no drift.jsonl here, and no store at .toolpulse/toolpulse.db"
        )
    assert files(tmp_path) == {}
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
        lines = printed(capsys, db, "log", *flags)
        assert len(lines) > 1
        assert all(line.isprintable() for line in lines)
        assert not any(line.startswith("HIGH forged") for line in lines)


def test_an_event_that_is_none(db, capsys):
    """What a store cannot read it passes over, and the doctor tells of it; a time that is none ends with 4."""
    broken(db)
    change(db, "UPDATE toolpulse_events SET body = '{}' WHERE seq = 1")
    assert [json.loads(line)["status"] for line in printed(capsys, db, "log", "--json")] == ["open"]
    change(db, 'UPDATE toolpulse_events SET body = REPLACE(body, \'"time":"2\', \'"time":"x\')')
    for flags in ([], ["--json"]):
        assert "ISO 8601" in refused(capsys, 4, db, "log", *flags)


def test_follow_without_a_log_waits_for_the_default_store(tmp_path, capsys, monkeypatch):
    """In a fresh folder both are still missing; what an application that configured nothing writes is the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    steps = [lambda: fill(None, (GOOD, 12))]

    def rest(pause):
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr("toolpulse.cli._kit.store_events.time.sleep", rest)
    code, out, err = ran(capsys, "log", "--follow")
    assert code == 0
    assert "learned 3 paths" in out
    assert one_line(err).startswith("toolpulse: waiting: ")


class Watching:
    """A store that is followed in this process: nobody waits, each rest is when the next thing happens."""

    def __init__(self, db, monkeypatch):
        self.args = argparse.Namespace(db=db)
        self.steps = []
        self.ended = False
        monkeypatch.setattr("toolpulse.cli._kit.store_events.time.sleep", self._next)

    def _next(self, pause):
        assert pause > 0
        if self.steps:
            self.steps.pop(0)()
        else:
            self.ended = True

    def run(self, *steps):
        """The statuses of the events given while the steps happen."""
        self.steps = list(steps)
        return [event.status for _, event in arriving(self.args, lambda: self.ended)]


@pytest.fixture
def watching(any_db, monkeypatch):
    """A store that is followed, still without anything in it."""
    return Watching(any_db, monkeypatch)


def test_follow_shows_each_event_once(watching, capsys):
    """All there are, and then each new one, whoever writes it."""
    db = watching.args.db
    fill(db, (GOOD, 12))
    decide = lambda: printed(capsys, db, "reject", "search_docs", "--reason", "x")  # noqa: E731
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


def test_follow_ends_where_waiting_does_not_help(db, monkeypatch):
    """A store of a newer version will not become an older one."""
    broken(db)
    with pytest.raises(StoreUnusable):
        Watching(db, monkeypatch).run(lambda: newer(db))


def test_follow_says_at_once_what_is_wrong(tmp_path, postgres, monkeypatch):
    """A wrong password or a file that is no database is no reason to wait."""
    (tmp_path / "toolpulse.db").write_text("notes of mine " * 500)
    for url in (sqlite(tmp_path), postgres.url("postgres", "wrong")):
        with pytest.raises(StoreError):
            Watching(url, monkeypatch).run()


def test_follow_brings_up_nothing_old(watching, capsys, monkeypatch):
    """Events that leave make room for older ones among the newest; those were shown long ago."""
    monkeypatch.setattr("toolpulse.cli._kit.store_events._NEWEST", 2)
    db = watching.args.db
    for tool in ("app.a", "app.b", "app.c", "app.d"):
        fill(db, (GOOD, 12), tool=tool)
    forget = lambda tool: lambda: printed(capsys, db, "forget", tool, "--yes")  # noqa: E731
    again = lambda: fill(db, (GOOD, 12), tool="app.d")  # noqa: E731
    assert watching.run(lambda: None, forget("app.d"), forget("app.c"), again) == ["learned"] * 5


def test_follow_misses_nothing_while_it_waits(db, monkeypatch, tmp_path, capsys):
    """However many events came while the store was away, all of them are shown."""
    monkeypatch.setattr("toolpulse.cli._kit.store_events._NEWEST", 1)
    broken(db)
    file, away = tmp_path / "toolpulse.db", tmp_path / "away"

    def come():
        away.rename(file)
        for tool in ("app.a", "app.b", "app.c"):
            fill(db, (GOOD, 12), tool=tool)

    told_of = Watching(db, monkeypatch).run(lambda: file.rename(away), come)
    assert told_of == ["learned", "open", "learned", "learned", "learned"]


def test_follow_misses_nothing_in_a_burst(db, monkeypatch):
    """More events between two looks than one look takes are shown all the same."""
    monkeypatch.setattr("toolpulse.cli._kit.store_events._NEWEST", 2)
    fill(db, (GOOD, 12))

    def burst():
        for tool in ("app.a", "app.b", "app.c"):
            fill(db, (GOOD, 12), tool=tool)

    assert Watching(db, monkeypatch).run(burst, lambda: None, lambda: None) == ["learned"] * 4


def test_what_is_remembered_is_bounded(db, monkeypatch):
    """Whoever follows for a year does not fill the memory."""
    monkeypatch.setattr("toolpulse.cli._kit.store_events._REMEMBERED", 2)
    broken(db)
    fill(db, (GOOD, 12), tool="app.other")
    (old, *_, new) = [event for _, event in stored(argparse.Namespace(db=db))]
    watch = StoreWatch(db)
    assert len(watch._new([old, new])) == 2
    assert watch._new([old, new]) == []
    assert watch._new([msgspec.structs.replace(new, id="x"), new])[0].id == "x"
    assert watch._new([new]) == []
    assert watch._new([old]) == [old]


def test_follow_waits_for_tables(watching, capsys, monkeypatch, tmp_path):
    """A database that was made for it is empty until the first call of a tool; that is said, and waited for."""
    if watching.args.db.startswith("sqlite"):
        (tmp_path / "toolpulse.db").write_bytes(b"")
    assert watching.run(lambda: None, lambda: fill(watching.args.db, (GOOD, 12))) == ["learned"]
    assert "waiting: " in one_line(capsys.readouterr().err)


def test_follow_waits_for_a_folder(tmp_path, monkeypatch, capsys):
    """The volume may be mounted later."""
    db = sqlite(tmp_path / "later")
    steps = [(tmp_path / "later").mkdir, lambda: fill(db, (GOOD, 12))]
    assert Watching(db, monkeypatch).run(*steps) == ["learned"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "no such folder" in lines[0]
    assert "no such file" in lines[1]


def test_follow_goes_over_to_another_database(db, monkeypatch, tmp_path, capsys):
    """A store that was thrown away and begun anew is the store from then on, its events shown from the first."""
    file = tmp_path / "toolpulse.db"
    broken(db)

    def replace():
        for part in tmp_path.iterdir():
            part.unlink()
        broken(db, tool="app.other")

    def gone():
        for part in tmp_path.iterdir():
            part.unlink()

    told_of = Watching(db, monkeypatch).run(replace, lambda: None, gone, lambda: None, lambda: broken(db))
    assert told_of == ["learned", "open"] * 3
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["opened anew", "waiting", "opened anew"]
    assert all(str(file) in line for line in lines)


def test_follow_goes_over_to_other_tables(postgres_url, postgres, monkeypatch, capsys):
    """The same where somebody drops the tables of a server's database."""
    broken(postgres_url)
    database = postgres_url.split("@/")[1].split("?")[0]
    drop = lambda: postgres.execute(database, f"DROP TABLE {', '.join(_schema.TABLES)}")  # noqa: E731
    told_of = Watching(postgres_url, monkeypatch).run(drop, lambda: None, lambda: broken(postgres_url))
    assert told_of == ["learned", "open"] * 2
    kinds = [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()]
    assert set(kinds[:-1]) == {"waiting"}
    assert kinds[-1] == "opened anew"


def test_follow_ends_where_the_file_is_damaged(db, monkeypatch, tmp_path):
    """Nobody mends it by waiting."""
    broken(db)
    with pytest.raises(StoreUnusable):
        Watching(db, monkeypatch).run(lambda: (tmp_path / "toolpulse.db").write_text("notes of mine " * 5000))


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_follow_passes_over_what_cannot_be_read(db, capsys, monkeypatch, flags):
    """One time that is none does not end a night's watch."""
    broken(db)
    change(db, 'UPDATE toolpulse_events SET body = REPLACE(body, \'"time":"2\', \'"time":"x\') WHERE seq = 1')

    def rest(pause):
        raise KeyboardInterrupt

    monkeypatch.setattr("toolpulse.cli._kit.store_events.time.sleep", rest)
    code, out, err = ran(capsys, "log", "--follow", "--db", db, *flags)
    assert code == 0
    assert "score" in out
    assert "ISO 8601" in one_line(err)


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent another way there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_follow_in_a_process_of_its_own(db, flags):
    """Events are shown as they come, and Ctrl-C is the ordinary end."""
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
        # a look at the file between its making and its tables tells of that, too
        assert all(line.startswith("toolpulse: waiting: ") for line in err.splitlines())
        assert (process.returncode, rest.strip()) == (0, "")
        assert "learned" in seen
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
