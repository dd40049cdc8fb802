from __future__ import annotations

import json

import pytest
from cli_runs import one_line, ran
from cli_stores import GOOD, ON_A_STORE, broken, files, fill, newer, refused, sqlite


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
