"""Definitions of tools."""

from __future__ import annotations
