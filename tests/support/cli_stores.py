"""Stores for tests of the command line, filled by monitors as production fills them."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import subprocess
from contextlib import suppress
from pathlib import Path

from cli_runs import Ran, environment, one_line, program, ran

from toolpulse import Monitor
from toolpulse.stores import open_store
from toolpulse.stores.sql.codec import escaped

GOOD = {"id": 1, "score": 0.5, "note": "n"}
BAD = {"id": "1", "score": "high", "note": "n"}

HOSTILE = "app.\x1b]0;owned\x07\nHIGH forged\u202e[red]x[/red]:smile:\x9b"
"""A tool's name that a terminal would act on."""


class Nowhere:
    """A sink that takes everything."""

    def emit(self, event) -> None:
        """Take an event."""


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


def sqlite(folder: Path, name: str = "toolpulse.db") -> str:
    """The URL of a SQLite store in a folder."""
    return f"sqlite:///{folder / name}"


def fill(url: str, *runs, tool: str = "app.search_docs", key: str | None = None, fail: int = 0, **settings) -> None:
    """Let a monitor see (response, times) runs, and calls that fail."""
    with Monitor(url, background=False, sinks=[Nowhere()], **settings) as monitor:
        for response, times in runs:
            for _ in range(times):
                monitor.observe(tool, response, key=key)
        if fail:

            @monitor.watch(tool=tool)
            def failing():
                raise LookupError

            for _ in range(fail):
                with suppress(LookupError):
                    failing()


def broken(url: str, times: int = 7, **more) -> None:
    """A tool with one open incident of two changes, which ``times`` responses show."""
    fill(url, (GOOD, 20), (BAD, times), **more)


def printed(capsys, url: str, *argv) -> list[str]:
    """The lines that a command that goes well prints about a store."""
    code, out, err = ran(capsys, *argv, "--db", url)
    assert (code, err) == (0, "")
    return out.splitlines()


def as_json(capsys, url: str, *argv) -> dict:
    """The one object that a command prints."""
    (line,) = printed(capsys, url, *argv, "--json")
    assert line.isascii()
    assert line.isprintable()
    return json.loads(line)


def refused(capsys, code: int, url: str, *argv) -> str:
    """The one line of a command that ends with ``code`` and prints nothing else."""
    got, out, err = ran(capsys, *argv, "--db", url)
    assert (got, out) == (code, "")
    return one_line(err)


def ran_shut_out(*argv) -> Ran:
    """Run a command in a process that modes of files keep out, as they do not keep out root."""
    root = os.geteuid() == 0
    done = subprocess.run(
        program(*argv),
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        preexec_fn=_without_privileges if root else None,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _without_privileges() -> None:
    """Let the program that is run next have neither CAP_DAC_OVERRIDE nor CAP_DAC_READ_SEARCH (Linux, prctl(2))."""
    for capability in (1, 2):
        if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):
            raise OSError


def files(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder, as bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change(url: str, statement: str, *values) -> None:
    """Do something to a SQLite store behind its back."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    with connection:
        connection.execute(statement, values)
    connection.close()


def spoil(url: str, tool: str) -> None:
    """Make what a store of either engine has of a tool unreadable: its state, and its incidents."""
    store = open_store(url)
    with store._writing() as db:
        names = db.execute("SELECT id FROM toolpulse_tools WHERE tool = ?", (escaped(tool),))
        for (name,) in names:
            db.execute("UPDATE toolpulse_tools SET state = 's3cr3t' WHERE id = ?", (name,))
            db.execute("UPDATE toolpulse_incidents SET body = 's3cr3t' WHERE tool_id = ?", (name,))
    store.close()


def newer(url: str) -> None:
    """Make a SQLite store one of a later version of the program."""
    change(url, "UPDATE toolpulse_meta SET value = 999 WHERE name = 'schema'")


def known(url, tool="app.search_docs", key=""):
    """What a store knows of a tool, and its one incident."""
    store = open_store(url)
    try:
        now = store.load(tool, key)
    finally:
        store.close()
    (incident,) = now.incidents.values()
    return now, incident
