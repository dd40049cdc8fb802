"""Two documents side by side."""

from __future__ import annotations
