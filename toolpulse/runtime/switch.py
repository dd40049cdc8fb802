"""The switch that turns watching off: for tests, and for a process that must not be watched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class _Switch:
    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = os.environ.get("TOOLPULSE_DISABLED", "") in {"", "0"}


switch = _Switch()


class _Restore:
    """Puts the switch back when its block ends; without a block the change stays."""

    def __init__(self, before: bool) -> None:
        self._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        switch.on = self._before


def set_active(active: bool) -> _Restore:
    """Turn watching on or off for the whole process, at once; calls pass through untouched while it is off.

    ``with set_active(False):`` restores what was before. ``TOOLPULSE_DISABLED=1`` in the environment starts a process
    with it off.
    """
    before = switch.on
    switch.on = bool(active)
    return _Restore(before)
