"""What one span says."""

from __future__ import annotations
