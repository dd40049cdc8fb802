"""The pytest plugin: mocks never teach the baseline of production, and a fixture that records.

While pytest runs, the default store is memory: ``TOOLPULSE_DB`` is set unless it was, which child processes keep to.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolpulse.testing import RecordingMonitor

_VARIABLE: Final = "TOOLPULSE_DB"
_WAS_UNSET: Final = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Make memory the default store."""
    if _VARIABLE not in os.environ:
        config.stash[_WAS_UNSET] = True
        os.environ[_VARIABLE] = "memory:"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the environment as it was."""
    if config.stash.get(_WAS_UNSET, False):
        os.environ.pop(_VARIABLE, None)


@pytest.fixture
def toolpulse_monitor() -> Iterator[RecordingMonitor]:
    """The monitor that watched tools report to in this test: judges at once, and keeps its events in ``.events``."""
    from toolpulse.testing import recording

    with recording() as monitor:
        yield monitor
