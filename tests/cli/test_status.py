from __future__ import annotations

import json
import os
import re
import stat
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cli_runs import one_line, ran, ran_apart
from cli_stores import BAD, GOOD, HOSTILE, as_json, broken, files, fill, newer, printed, ran_shut_out, refused, sqlite

from toolpulse import Baseline

ON_A_STORE = (
    ("status",),
    ("incidents",),
    ("incidents", "search_docs"),
    ("accept", "search_docs", "--reason", "x"),
    ("reject", "abcd", "--reason", "x"),
    ("ignore", "abcd", "--reason", "x"),
    ("forget", "search_docs", "--yes"),
    ("baseline", "export", "search_docs", "-o", "out.json"),
    ("doctor",),
    ("log",),
)
"""Every command that reads a store, as one may call it."""


def test_the_figures_of_a_tool(any_db, capsys):
    """What somebody asks first: is it watched, how much, is anything broken."""
    broken(any_db, fail=2)
    fill(any_db, (GOOD, 4), tool="app.fetch", key="kind=a")
    found = as_json(capsys, any_db, "status")
    fetch, search = found["tools"]
    times = [datetime.fromisoformat(one.pop(name)) for one in (fetch, search) for name in ("first", "last")]
    assert all(timedelta(0) <= datetime.now(UTC) - at + timedelta(seconds=1) < timedelta(minutes=5) for at in times)
    assert search == {
        "tool": "app.search_docs",
        "key": "",
        "state": "watching",
        "calls": 29,
        "errors": 2,
        "observations": 27,
        "learned": 1,
        "quarantined": 1,
        "last_24h": 27,
        "incidents": 1,
        "risk": "high",
    }
    assert (fetch["key"], fetch["state"], fetch["incidents"], fetch["risk"]) == ("kind=a", "learning", 0, None)
    assert found["total"] == {
        "tools": 2, "calls": 33, "errors": 2, "observations": 31, "last_24h": 31, "incidents": 1,
    }  # fmt: skip
    assert found["schema"] == 1


def test_a_line_for_each_tool(db, capsys):
    """A person reads it in columns, with the total below."""
    broken(db, fail=2)
    fill(db, (GOOD, 4), tool="app.fetch", key="kind=a")
    head, fetch, search, blank, total = printed(capsys, db, "status")
    assert head.split() == "tool state calls errors 24h shapes first seen last seen open incidents".split()
    assert fetch.startswith("fetch [kind=a]  learning, 4 of 10      4       0    4  1 ")
    assert search.startswith("search_docs     watching              29       2   27  1 and 1 quarantined ")
    assert search.endswith("  1, worst high")
    assert fetch.endswith("  -")
    assert (blank, total) == ("", "2 tools, 33 calls, 2 errors, 1 open incident")


def test_tools_by_glob(db, capsys):
    """Hundreds of tools share a store; names are short where that is unique among all of them."""
    for tool in ("app.get", "web.get", "web.find"):
        fill(db, (GOOD, 1), tool=tool)
    assert [one["tool"] for one in as_json(capsys, db, "status", "--tool", "get")["tools"]] == ["app.get", "web.get"]
    assert printed(capsys, db, "status", "--tool", "web.*")[1].startswith("find ")
    assert printed(capsys, db, "status", "--tool", "app.*")[1].startswith("app.get ")
    assert printed(capsys, db, "status", "--tool", "nothing") == ["no tools"]
    assert as_json(capsys, db, "status", "--tool", "nothing")["total"]["tools"] == 0


def test_hostile_names_are_harmless(db, capsys):
    """Names of tools and keys may come from servers nobody controls."""
    broken(db, tool=HOSTILE, key=HOSTILE)
    lines = printed(capsys, db, "status")
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    (one,) = as_json(capsys, db, "status")["tools"]
    assert (one["tool"], one["key"]) == (HOSTILE, HOSTILE)


def test_decided_incidents_are_not_open(db, capsys):
    """Whoever decided wants to see zero."""
    broken(db)
    printed(capsys, db, "reject", "search_docs", "--reason", "a bug of theirs")
    (one,) = as_json(capsys, db, "status")["tools"]
    assert (one["incidents"], one["risk"]) == (0, None)


@pytest.mark.parametrize("argv", ON_A_STORE, ids=" ".join)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_where_nothing_is_nothing_is_made(tmp_path, capsys, monkeypatch, argv, flags):
    """Looking at the wrong place must not leave an empty store there, which would pass for the right one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    assert "there is no such folder" in refused(capsys, 4, sqlite(tmp_path / "no" / "folder"), *argv, *flags)
    assert "there is no such file" in refused(capsys, 4, "sqlite:///relative.db", *argv, *flags)
    code, out, err = ran(capsys, *argv, *flags)
    assert (code, out) == (4, "")
    assert ".toolpulse" in one_line(err)
    assert ("no drift.jsonl here" in err) == (argv == ("log",))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", ON_A_STORE, ids=" ".join)
def test_what_is_no_store_stays_as_it_is(tmp_path, capsys, argv):
    """A damaged store is evidence, a text file is somebody's, another program's database is another program's."""
    (tmp_path / "text.db").write_bytes(b"these are notes of mine, and no database at all\n" * 40)
    (tmp_path / "empty.db").write_bytes(b"")
    broken(sqlite(tmp_path, "hurt.db"))
    whole = (tmp_path / "hurt.db").read_bytes()
    (tmp_path / "hurt.db").write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    (tmp_path / "folder.db").mkdir()
    broken(sqlite(tmp_path, "newer.db"))
    newer(sqlite(tmp_path, "newer.db"))
    before = files(tmp_path)
    for name in ("text.db", "empty.db", "hurt.db", "folder.db", "newer.db"):
        assert name in refused(capsys, 4, sqlite(tmp_path, name), *argv)
        assert "999" in refused(capsys, 4, sqlite(tmp_path, "newer.db"), *argv, "--json")
    assert files(tmp_path) == before


@pytest.mark.parametrize("argv", ON_A_STORE, ids=" ".join)
@pytest.mark.parametrize(
    "url", ["", "memroy:", "toolpulse.db", "mysql://u:s3cr3t@h/db", "memory:", "sqlite://x", "sqlite:///"]
)
def test_a_bad_url_is_wrong_use(capsys, argv, url):
    """A typing error in a URL is found before anything is opened, and names the flag."""
    line = refused(capsys, 64, url, *argv)
    assert line.startswith("toolpulse: --db: ")
    assert "s3cr3t" not in line


def test_a_bad_variable_is_named(capsys, monkeypatch):
    """Whoever set it long ago looks for a flag in vain."""
    monkeypatch.setenv("TOOLPULSE_DB", "memroy:")
    code, out, err = ran(capsys, "status")
    assert (code, out) == (64, "")
    assert one_line(err).startswith("toolpulse: TOOLPULSE_DB: ")


def test_the_variable_names_the_store(db, capsys, monkeypatch):
    """One setting for the application and for whoever looks after it."""
    broken(db)
    monkeypatch.setenv("TOOLPULSE_DB", db)
    code, out, _ = ran(capsys, "status")
    assert code == 0
    assert "search_docs" in out


def test_the_default_store_is_the_application_s(tmp_path, capsys, monkeypatch):
    """`toolpulse status` beside an application that configured nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLPULSE_DB")
    fill(None, (GOOD, 3))
    assert (tmp_path / ".toolpulse" / "toolpulse.db").exists()
    code, out, err = ran(capsys, "status", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["total"]["calls"] == 3


@pytest.mark.parametrize("argv", ON_A_STORE, ids=" ".join)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_wrong_password_is_never_printed(postgres, capsys, monkeypatch, argv, flags):
    """Terminals are recorded and pipelines logged; not even a traceback may show it."""
    monkeypatch.setenv("TOOLPULSE_DEBUG", "1")
    line = refused(capsys, 4, postgres.url("postgres", "s3cr3t%20wr0ng"), *argv, *flags)
    assert "s3cr3t" not in line
    assert "wr0ng" not in line
    assert "password" in line


def test_a_server_that_is_not_there(tmp_path, capsys):
    """One clear line, and soon."""
    url = f"postgresql://me:s3cr3t@/db?host={tmp_path}"
    line = refused(capsys, 4, url, "status")
    assert "s3cr3t" not in line
    assert "no server" in line


def test_a_database_without_tables_is_left_without(postgres_url, postgres, capsys):
    """The wrong database of the right server."""
    assert "no store" in refused(capsys, 4, postgres_url, "status")
    name = postgres_url.rpartition("/db?")[0] or postgres_url
    database = name.split("@/")[1].split("?")[0]
    assert postgres.execute(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]


@pytest.mark.parametrize("words", [["status"], ["incidents", "a"], ["accept"], ["log", "x"]])
def test_a_url_without_its_flag_shows_no_password(capsys, words):
    """The commonest slip of all must not put the password into the terminal's history file a second time."""
    code, out, err = ran(capsys, *words, "postgresql://me:s3cr3t@p@ss@host/db?password=s3cr3t")
    assert code in (4, 64)
    assert "s3cr3t" not in out + err
    assert "p@ss" not in out + err


@pytest.mark.skipif(os.name == "nt", reason="people are kept out in another way there")
@pytest.mark.parametrize("argv", ON_A_STORE, ids=" ".join)
@pytest.mark.parametrize("shut", ["toolpulse.db", "."])
def test_a_store_that_may_not_be_read(tmp_path, argv, shut):
    """Somebody else's file, or one in somebody else's folder, is no fault of this program."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    broken(sqlite(folder))
    (folder / shut).chmod(0)
    try:
        code, out, err = ran_shut_out(*argv, "--db", sqlite(folder))
    finally:
        (folder / shut).chmod(stat.S_IRWXU)
    assert (code, out) == (4, "")
    assert "toolpulse.db" in one_line(err)
    if argv == ("doctor",):
        assert ("may not look into" in err) == (shut == ".")


@pytest.mark.skipif(os.name == "nt", reason="people are kept out in another way there")
def test_a_folder_that_may_not_be_read_is_no_place_for_import(tmp_path):
    """The one command that makes a store asks for the file, too."""
    folder = tmp_path / "theirs"
    folder.mkdir(0)
    file = tmp_path / "b.json"
    Baseline.learn([GOOD]).save(file)
    code, out, err = ran_shut_out("baseline", "import", "a", file, "--db", sqlite(folder))
    folder.chmod(stat.S_IRWXU)
    assert (code, out) == (4, "")
    assert "toolpulse.db" in one_line(err)


def test_times_are_in_the_one_form(db, capsys):
    """A program compares the times of all commands as they are."""
    broken(db)
    (one,) = as_json(capsys, db, "status")["tools"]
    for name in ("first", "last"):
        assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z", one[name])


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGPIPE there")
def test_status_in_a_process_of_its_own(db, tmp_path):
    """As everybody runs it: through the environment, in a pipe, plain."""
    broken(db)
    done = ran_apart("status", cwd=tmp_path, TOOLPULSE_DB=db)
    assert (done.code, done.err) == (0, "")
    assert "search_docs" in done.out
    assert "\x1b" not in done.out


def test_a_monitor_may_write_meanwhile(db, capsys):
    """Looking at a store takes nothing from who works on it."""
    from toolpulse import Monitor

    with Monitor(db, background=False, sinks=[]) as monitor:
        for _ in range(12):
            monitor.observe("app.a", GOOD)
        assert as_json(capsys, db, "status")["total"]["calls"] == 12
        for _ in range(3):
            monitor.observe("app.a", BAD)
        found = as_json(capsys, db, "status")["total"]
        assert (found["calls"], found["incidents"]) == (15, 1)
        assert monitor.health().store == "ok"
