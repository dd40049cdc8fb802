"""The stores that the tests of this folder are held against."""

from __future__ import annotations

import pytest
from store_kinds import KINDS, SQL, Clock, two


@pytest.fixture
def clock():
    """The time of the stores, seconds in ``now``."""
    return Clock()


@pytest.fixture(params=KINDS)
def pair(request, clock):
    """Two stores on the same data, of each kind."""
    yield from two(KINDS[request.param], request, clock)


@pytest.fixture
def store(pair):
    """One store of each kind."""
    return pair[0]


@pytest.fixture(params=SQL)
def sql_pair(request, clock):
    """Two stores on one database."""
    yield from two(KINDS[request.param], request, clock)
