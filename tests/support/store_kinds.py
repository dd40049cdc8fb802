"""The kinds of stores, one line each, and how the tests make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from toolpulse.stores import open_store


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 1_800_000_000.0


class Kind(NamedTuple):
    """A kind of store: its module, and how a URL of an empty one is made; none where each has data of its own."""

    module: str
    url: Callable[[pytest.FixtureRequest], str] | None = None


KINDS = {
    "memory": Kind("memory"),
    "sqlite": Kind("sqlite", lambda request: f"sqlite:///{request.getfixturevalue('tmp_path')}/t.db"),
    "postgresql": Kind("postgres", lambda request: request.getfixturevalue("postgres_url")),
}
"""A new store passes through every test of ``test_base.py`` by a line here."""

SQL = [name for name, kind in KINDS.items() if kind.url]


def two(kind, request, clock):
    """Two stores on the same data, as two processes have them; closed at the end."""
    if kind.url is None:
        stores = (open_store(f"{kind.module}:", clock=lambda: clock.now),) * 2
    else:
        url = kind.url(request)
        stores = tuple(open_store(url, clock=lambda: clock.now) for _ in range(2))
    yield stores
    for store in stores:
        store.close()
