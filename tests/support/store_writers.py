"""What processes do to a store at the same time; here, so that a spawned one can import it."""

from __future__ import annotations

import time

from snapshots import POOL, events_of, held, taught

from toolpulse.errors import StoreError
from toolpulse.stores import open_store

PATIENCE = 60.0
"""Seconds that a writer tries again; what it waits for takes one or two."""


def write(url, writer, batches):
    """Save so many batches: each teaches one shape and shows one incident."""
    store = open_store(url)
    write_to(store, writer, batches)
    store.close()


def write_to(store, writer, batches):
    """Save so many batches, one after the other."""
    for batch in range(1, batches + 1):
        save_for_sure(store, writer, batch)


def write_for_ever(url, writer, report):
    """Save batch after batch, from the one that is saved on, and report each."""
    store = open_store(url)
    with store.transaction("t", "", writer) as transaction:
        batch = transaction.saved
    while True:
        batch += 1
        save_for_sure(store, writer, batch)
        report.send(batch)


def save_for_sure(store, writer, batch):
    """Save a batch once, however often that has to be tried."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            save(store, writer, batch)
            return
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def save(store, writer, batch):
    """Save a batch, unless it is saved already."""
    with store.transaction("t", "", writer) as transaction:
        if transaction.saved < batch:
            now = held(taught(transaction.now, POOL[batch % 3]), "t", "", POOL[4])
            transaction.save(now, events_of(transaction.now, now), batch)
