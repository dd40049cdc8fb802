"""The gate: whether two traces may be compared at all."""

from __future__ import annotations

from toolpulse.provenance.gate.decision import ALIGNMENTS, REASONS, alignment, attribution, gate, refusal

__all__ = ["ALIGNMENTS", "REASONS", "alignment", "attribution", "gate", "refusal"]
