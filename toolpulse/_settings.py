"""How one tool is watched: the settings that the decorator's options and the monitor's come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from toolpulse.consumer import Consumer
from toolpulse.events import DriftEvent
from toolpulse.shape import Walker

OnDrift: TypeAlias = Literal["log", "raise"] | Callable[[DriftEvent], object]
"""What happens on drift beside the sinks: nothing more, DriftError in the caller's thread, or a call."""


class Settings(msgspec.Struct, frozen=True):
    """How one tool is watched."""

    consumers: tuple[Consumer, ...]
    """Named for this tool; the monitor's that fit it are asked where there are none."""
    walker: Walker
    unwrap: str
    on_drift: OnDrift
