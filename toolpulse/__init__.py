"""ToolPulse tells you when a tool's responses change shape, before the agent acts on them."""

from __future__ import annotations

from toolpulse.errors import DriftError, ToolPulseError
from toolpulse.judgement.consumer import Consumer
from toolpulse.judgement.rules import Risk
from toolpulse.runtime.monitor import Monitor
from toolpulse.runtime.process import configure, watch
from toolpulse.runtime.switch import set_active
from toolpulse.shape import Limits, fingerprint, register, shape_of
from toolpulse.state.baseline import Baseline, Verdict

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
