"""Where baselines, counts and incidents live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse.errors import ConfigurationError

if TYPE_CHECKING:
    from toolpulse.stores.base import Store


def open_store(url: str) -> Store:
    """The store at a URL; ``memory:`` is the one there is. Raises ConfigurationError for any other."""
    if url == "memory:":
        from toolpulse.stores.memory import MemoryStore

        return MemoryStore()
    scheme = url.split(":", 1)[0] if ":" in url else "none"
    raise ConfigurationError(f"store: URL scheme {scheme!r} is not known; memory: is")
