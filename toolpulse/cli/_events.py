"""The events of a store, as lines of a log: those that are there, or each new one."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from toolpulse.cli._exit import complain
from toolpulse.cli._store import is_there, opened, url_of
from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.events import DriftEvent

_PAUSE: Final = 1.0
"""Seconds between two looks at a store."""

_NEWEST: Final = 1000
"""Events looked at again each time: those of a transaction that took long stand before later ones."""


def stored(args: argparse.Namespace) -> Iterator[tuple[str, DriftEvent]]:
    """Every event kept, in the order they were written, with its line. Raises StoreError."""
    with opened(args) as store:
        events = store.events()
    for event in events:
        yield _line(event), event


def arriving(
    args: argparse.Namespace, ended: Callable[[], bool], pause: float = _PAUSE
) -> Iterator[tuple[str, DriftEvent]]:
    """The same, and then each new one, until ``ended()``.

    A store that is not there yet is waited for, and so is one that goes away. Raises StoreError where it cannot be read
    at first, StoreUnusable where waiting is in vain.
    """
    seen: set[str] | None = None
    patient = not is_there(url_of(args))
    told = False
    with opened(args) as store:
        while not ended():
            try:
                events = store.events(-1 if seen is None else _NEWEST)
            except StoreUnusable:
                raise
            except StoreError as error:
                if not patient:
                    raise
                if not told:
                    complain(f"waiting: {error}")
                told = True
            else:
                patient, told = True, False
                for event in events:
                    if seen is None or event.id not in seen:
                        yield _line(event), event
                seen = {event.id for event in events}
            time.sleep(pause)


def _line(event: DriftEvent) -> str:
    # ASCII: a name may hold what UTF-8 cannot
    return json.dumps(msgspec.to_builtins(event), ensure_ascii=True, separators=(",", ":"))
