"""Both fingerprints of a request on every log line it writes, and what it was made with beside them, as ids and counts.

The current request is kept in a context variable, so threads and tasks do not mix. Called by users' programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from toolpulse.errors import ConfigurationError
from toolpulse.provenance.prompt import release_fingerprint, request_fingerprint

RELEASE: Final = "release_fingerprint"
"""The log field of what was written: the spec."""
REQUEST: Final = "request_fingerprint"
"""The log field of what was sent: the rendered text."""

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{8,64}", re.ASCII)
# what is longer is no id but text
_LONGEST_ID: Final = 128


class Stamp:
    """The fields that go onto the log lines of one request."""

    def __init__(self, release: str, key: bytes | str | None, beside: Mapping[str, Any]) -> None:
        self._key = key
        self._fields: dict[str, Any] = {RELEASE: release, **beside}

    @property
    def fields(self) -> dict[str, Any]:
        """The fields, a copy: ``release_fingerprint``, ``request_fingerprint``, ``<name>_ids``, ``<name>_count``."""
        return dict(self._fields)

    def rendered(self, text: str | bytes) -> str:
        """Say which text is sent to the model, and return its fingerprint; log lines from here on carry it.

        The text is not kept. Raises as ``request_fingerprint``.
        """
        fingerprint = request_fingerprint(text, key=self._key)
        # a new dict, because another thread may be copying the old one
        self._fields = {**self._fields, REQUEST: fingerprint}
        return fingerprint


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

    ``release``: a spec, or its fingerprint. ``rendered``: the text that is sent, if it is known yet; else
    ``stamp.rendered(text)`` says it later. ``ids={"evidence": ["doc_812"]}`` and ``counts={"history": 12}`` are what
    the request was made with, logged as ``evidence_ids``, ``evidence_count`` and ``history_count`` and part of neither
    fingerprint. Tasks started inside belong to the request; a block inside a block is a request of its own. Where
    several texts are rendered at once, open a block for each.

    Raises ConfigurationError for a release that is neither, for ids that are text (over 128 characters) and for counts
    that are no whole numbers, and as ``release_fingerprint`` and ``request_fingerprint``.

    >>> with request("0123456789ab", ids={"evidence": ["doc_812"]}) as stamp:
    ...     stamp.fields
    {'release_fingerprint': '0123456789ab', 'evidence_ids': ['doc_812'], 'evidence_count': 1}
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
    """A structlog processor: adds the fields of the current request to a log line, unless the line has them already."""
    for name, value in current_fields().items():
        event.setdefault(name, value)
    return event


def _beside(ids: Mapping[str, Sequence[str | int]], counts: Mapping[str, int]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, some in ids.items():
        if isinstance(some, str | bytes) or not all(map(_is_id, some)):
            raise ConfigurationError(f"ids[{name!r}]: a list of ids of at most {_LONGEST_ID} characters is needed")
        fields[f"{name}_ids"] = list(some)
        fields[f"{name}_count"] = len(some)
    for name, count in counts.items():
        if type(count) is not int or count < 0:
            raise ConfigurationError(
                f"counts[{name!r}]: a whole number from 0 on is needed, not {type(count).__name__}"
            )
        fields[f"{name}_count"] = count
    return fields


def _is_id(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isprintable())
