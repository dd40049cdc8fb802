"""ToolPulse tells you when a tool's responses change shape, before the agent acts on them."""

from __future__ import annotations

from toolpulse._process import configure, watch
from toolpulse._switch import set_active
from toolpulse.baseline import Baseline, Verdict
from toolpulse.consumer import Consumer
from toolpulse.errors import DriftError, ToolPulseError
from toolpulse.monitor import Monitor
from toolpulse.risk import Risk
from toolpulse.shape import Limits, fingerprint, register, shape_of

__all__ = [
    "Baseline",
    "Consumer",
    "DriftError",
    "Limits",
    "Monitor",
    "Risk",
    "ToolPulseError",
    "Verdict",
    "configure",
    "fingerprint",
    "register",
    "set_active",
    "shape_of",
    "watch",
]

__version__ = "0.1.0"
