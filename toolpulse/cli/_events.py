"""The events of a store, as lines of a log: those that are there, or each new one."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse.cli._exit import complain
from toolpulse.cli._store import is_missing, opened, url_of
from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.events import DriftEvent

if TYPE_CHECKING:
    from toolpulse.stores.sql.store import SqlStore

_PAUSE: Final = 1.0
"""Seconds between two looks at a store."""

_NEWEST: Final = 1000
"""Events looked at again each time: those of a transaction that took long stand before later ones."""

_ALL: Final = -1

_REMEMBERED: Final = 20_000
"""Ids of events that were told of: more than a store keeps, so that none comes up again where others are forgotten."""


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

    A store that is not there yet is waited for, and so is one that goes away; where another database takes its place,
    that one is followed from its first event on. Raises StoreError where it cannot be read at first, StoreUnusable
    where waiting is in vain.
    """
    watch, failed = _Watch(url_of(args)), None
    while not ended():
        with opened(args) as store:
            try:
                yield from watch.follow(store, ended, pause, failed)
                return
            except StoreUnusable as error:
                # only whoever opens it anew can tell another database from a damaged one
                if not watch.read:
                    raise
                failed = error


class _Watch:
    """What was told of a store that is followed, and whether it is there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.read = False
        """Whether it was read since it was opened."""
        self._seen: dict[str, None] = {}
        self._patient = False
        self._waiting: set[str] = set()
        """Why it is waited for; each reason is told once until the store can be read."""

    def follow(
        self, store: SqlStore, ended: Callable[[], bool], pause: float, failed: StoreError | None
    ) -> Iterator[tuple[str, DriftEvent]]:
        """The events of a store as they come; it was opened just now, maybe because one before ``failed``."""
        self.read = False
        newest = _ALL
        while not ended():
            try:
                events = store.events(newest)
            except StoreUnusable:
                raise
            except StoreError as error:
                self._wait(error)
                newest = _ALL
            else:
                if failed is not None:
                    complain(f"opened anew: {failed}")
                    self._seen.clear()
                self.read, self._patient, failed = True, True, None
                self._waiting.clear()
                new = self._new(events)
                # older ones may be new, too
                newest = _ALL if newest == len(new) else _NEWEST
                for event in new:
                    yield _line(event), event
            time.sleep(pause)

    def _wait(self, error: StoreError) -> None:
        """Tell why the store is waited for. Raises the error where nobody waits for that to pass."""
        self._patient = self._patient or is_missing(error, self._url)
        if not self._patient:
            raise error
        if str(error) not in self._waiting:
            complain(f"waiting: {error}")
        self._waiting.add(str(error))

    def _new(self, events: list[DriftEvent]) -> list[DriftEvent]:
        """The events that were not told of yet."""
        new = [event for event in events if event.id not in self._seen]
        self._seen.update(dict.fromkeys(event.id for event in new))
        for name in list(islice(self._seen, max(0, len(self._seen) - _REMEMBERED))):
            del self._seen[name]
        return new


def _line(event: DriftEvent) -> str:
    # ASCII: a name may hold what UTF-8 cannot
    return json.dumps(msgspec.to_builtins(event), ensure_ascii=True, separators=(",", ":"))
