"""Whether two runs had the same environment, by the manifests on the first lines of their traces.

``advice`` is the table of verdicts, ``classify`` compares two manifests, and ``runs`` reads them from files and sorts
many runs by verdict. Called by ``toolpulse manifest``.
"""

from __future__ import annotations

from toolpulse.provenance.environment.advice import ADVICE, advice
from toolpulse.provenance.environment.classify import classify

__all__ = ["ADVICE", "advice", "classify"]
