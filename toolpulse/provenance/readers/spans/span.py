"""One span of OpenTelemetry, whichever exporter wrote it."""

from __future__ import annotations

from typing import Any

import msgspec


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span with its attributes as plain values."""

    location: str
    """Where it was read: ``file:line``."""
    attributes: dict[str, Any]
    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The name and the attributes of each."""
    started: int = 0
    """Nanoseconds since 1970; 0 where it is not known."""
    failed: bool = False
    dropped: int = 0
    """How many attributes the exporter left out because a limit was reached."""
    state: str = ""
    """W3C trace state."""
