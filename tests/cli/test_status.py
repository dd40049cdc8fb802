from __future__ import annotations

import os
import re
import stat
import sys

import pytest
from cli_runs import one_line, ran_apart
from cli_stores import BAD, GOOD, HOSTILE, ON_A_STORE, as_json, broken, fill, printed, ran_shut_out, refused, sqlite

from toolpulse import Baseline


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


def test_a_server_that_is_not_there(tmp_path, capsys):
    """One clear line, and soon."""
    url = f"postgresql://me:s3cr3t@/db?host={tmp_path}"
    line = refused(capsys, 4, url, "status")
    assert "s3cr3t" not in line
    assert "no server" in line


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
