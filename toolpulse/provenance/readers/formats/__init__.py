"""One file for each format."""

from __future__ import annotations
