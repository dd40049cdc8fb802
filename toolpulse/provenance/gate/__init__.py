"""The gate: whether two traces may be compared at all. It passes no pair of which it cannot be sure.

``decision`` has the gate itself; ``pairing`` says which generations belong together, ``pairs`` compares two of them,
and ``explanations`` says what the reasons mean. It reads traces through ``readers``. Called by ``toolpulse gate``.
"""

from __future__ import annotations

from toolpulse.provenance.gate.decision import REASONS, gate
from toolpulse.provenance.gate.explanations import attribution, refusal
from toolpulse.provenance.gate.pairing import ALIGNMENTS, alignment

__all__ = ["ALIGNMENTS", "REASONS", "alignment", "attribution", "gate", "refusal"]
