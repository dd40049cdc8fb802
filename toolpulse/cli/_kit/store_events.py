"""The events of a store as lines of a log: those that are there, or each new one while others write to the store."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse.cli._kit.exits import complain
from toolpulse.cli._kit.store import is_missing, opened, url_of
from toolpulse.errors import StoreError, StoreUnusable
from toolpulse.events import DriftEvent

if TYPE_CHECKING:
    from toolpulse.stores.sql.store import SqlStore

_PAUSE: Final = 1.0
"""Seconds between two looks at a store."""

_NEWEST: Final = 1000
"""Events that are read again each time: one whose transaction took long stands before events written earlier."""

_ALL: Final = -1
"""In place of a number of events: every event of the store."""

_REMEMBERED: Final = 20_000
"""Ids of events that were given out: more than a store keeps, so that no event is given twice."""


def stored(args: argparse.Namespace) -> Iterator[tuple[str, DriftEvent]]:
    """Every event of the store with its line, in the order they were written. Raises StoreError."""
    with opened(args) as store:
        events = store.events()
    for event in events:
        yield _line(event), event


def arriving(
    args: argparse.Namespace, ended: Callable[[], bool], pause: float = _PAUSE
) -> Iterator[tuple[str, DriftEvent]]:
    """The same events, and each one added later, until ``ended()`` is true; between looks it sleeps ``pause`` seconds.

    It waits for a store that is not there yet or goes away. If another database takes its place, that one is followed
    from its first event on. Raises StoreError where the store cannot be read the first time, StoreUnusable where
    waiting does not help, as with a damaged file.
    """
    watch, failed = StoreWatch(url_of(args)), None
    while not ended():
        with opened(args) as store:
            try:
                yield from watch.follow(store, ended, pause, failed)
                return
            except StoreUnusable as error:
                # opening it again shows whether it is another database or a damaged one
                if not watch.read:
                    raise
                failed = error


class StoreWatch:
    """A store that is followed: which events were given out already, and why it is waited for."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.read = False
        """Whether it has been read since it was opened."""
        self._seen: dict[str, None] = {}
        self._patient = False
        """Whether errors are waited out: the store was read before, or it was not there at first."""
        self._waiting: set[str] = set()
        """Why it is waited for. Each reason is printed once, until the store can be read."""

    def follow(
        self, store: SqlStore, ended: Callable[[], bool], pause: float, failed: StoreError | None
    ) -> Iterator[tuple[str, DriftEvent]]:
        """The events of a store that was just opened; ``failed`` is why it had to be opened again, if it had to."""
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
                # where all that were read are new, older ones may be new, too
                newest = _ALL if newest == len(new) else _NEWEST
                for event in new:
                    yield _line(event), event
            time.sleep(pause)

    def _wait(self, error: StoreError) -> None:
        """Print why the store is waited for. Raises the error where waiting for it is not expected to help."""
        self._patient = self._patient or is_missing(error, self._url)
        if not self._patient:
            raise error
        if str(error) not in self._waiting:
            complain(f"waiting: {error}")
        self._waiting.add(str(error))

    def _new(self, events: list[DriftEvent]) -> list[DriftEvent]:
        """Those events that were not given out yet."""
        new = [event for event in events if event.id not in self._seen]
        self._seen.update(dict.fromkeys(event.id for event in new))
        for name in list(islice(self._seen, max(0, len(self._seen) - _REMEMBERED))):
            del self._seen[name]
        return new


def _line(event: DriftEvent) -> str:
    # ASCII: a name may hold what UTF-8 cannot
    return json.dumps(msgspec.to_builtins(event), ensure_ascii=True, separators=(",", ":"))
