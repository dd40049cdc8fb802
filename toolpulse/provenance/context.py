"""Both fingerprints of a request on every log line it writes, and its runtime data beside them as ids and counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from toolpulse.errors import ConfigurationError
from toolpulse.provenance.prompt import release_fingerprint, request_fingerprint

RELEASE: Final = "release_fingerprint"
REQUEST: Final = "request_fingerprint"

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{8,64}", re.ASCII)
# what is longer is no id but text
_LONGEST_ID: Final = 128


class Stamp:
    """What goes onto the log lines of one request."""

    def __init__(self, release: str, key: bytes | str | None, beside: Mapping[str, Any]) -> None:
        self._key = key
        self._fields: dict[str, Any] = {RELEASE: release, **beside}

    @property
    def fields(self) -> dict[str, Any]:
        """The fields, a copy: ``release_fingerprint``, ``request_fingerprint``, ``<name>_ids``, ``<name>_count``."""
        return dict(self._fields)

    def rendered(self, text: str | bytes) -> str:
        """Tell what is sent to the model; log lines from here on carry its fingerprint. The text is not kept."""
        found = request_fingerprint(text, key=self._key)
        self._fields = {**self._fields, REQUEST: found}
        return found


_current: ContextVar[Stamp | None] = ContextVar("toolpulse_request", default=None)


@contextmanager
def request(
    release: Mapping[str, Any] | str,
    rendered: str | bytes | None = None,
    *,
    ids: Mapping[str, Sequence[str | int]] | None = None,
    counts: Mapping[str, int] | None = None,
    key: bytes | str | None = None,
) -> Iterator[Stamp]:
    """The block in which a request is answered; ``add_fingerprints`` puts its fingerprints on log lines from inside.

    ``release``: a spec, or its fingerprint. ``rendered``: the text that is sent, if it is known yet; later
    ``stamp.rendered(text)`` tells it. ``ids={"evidence": ["doc_812"]}`` and ``counts={"history": 12}`` are what the
    request was made with, logged as ``evidence_ids``, ``evidence_count`` and ``history_count`` and part of neither
    fingerprint. Tasks started inside belong to the request; a block inside a block is a request of its own. Where
    several texts are rendered at once, open a block for each.

    Raises ConfigurationError for a release that is neither, for ids that are text (over 128 characters) and for counts
    that are no whole numbers, and as the fingerprints do.
    """
    if isinstance(release, str) and not _FINGERPRINT.fullmatch(release):
        raise ConfigurationError("release: a spec, or its fingerprint of 8 to 64 hex digits, is needed")
    fingerprint = release if isinstance(release, str) else release_fingerprint(release, key=key)
    stamp = Stamp(fingerprint, key, _beside(ids or {}, counts or {}))
    if rendered is not None:
        stamp.rendered(rendered)
    token = _current.set(stamp)
    try:
        yield stamp
    finally:
        _current.reset(token)


def current_fields() -> dict[str, Any]:
    """The fields of the request that this code is part of; empty outside one."""
    stamp = _current.get()
    return {} if stamp is None else stamp.fields


def add_fingerprints(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the fields of the request onto its log lines. What the line says itself stays."""
    for name, value in current_fields().items():
        event.setdefault(name, value)
    return event


def _beside(ids: Mapping[str, Sequence[str | int]], counts: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, some in ids.items():
        if isinstance(some, str | bytes) or not all(map(_is_id, some)):
            raise ConfigurationError(f"ids[{name!r}]: a list of ids of at most {_LONGEST_ID} characters is needed")
        found[f"{name}_ids"] = list(some)
        found[f"{name}_count"] = len(some)
    for name, count in counts.items():
        if type(count) is not int or count < 0:
            raise ConfigurationError(
                f"counts[{name!r}]: a whole number from 0 on is needed, not {type(count).__name__}"
            )
        found[f"{name}_count"] = count
    return found


def _is_id(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isprintable())
