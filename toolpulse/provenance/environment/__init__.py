"""Whether two runs had the same environment."""

from __future__ import annotations

from toolpulse.provenance.environment.classify import ADVICE, advice, classify

__all__ = ["ADVICE", "advice", "classify"]
