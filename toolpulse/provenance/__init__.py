"""Fingerprints of what an agent was given, so that two runs are compared only where comparing them means something."""

from __future__ import annotations
