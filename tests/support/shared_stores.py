"""Several monitors on one store, and what they see."""

from __future__ import annotations

from toolpulse import Monitor

GOOD = {"id": 1, "name": "x", "tags": ["a"]}


RESPONSES = {
    "good": GOOD,
    "without a name": {"id": 1, "tags": ["a"]},
    "null name": {"id": 1, "name": None, "tags": ["a"]},
    "text id": {"id": "1", "name": "x", "tags": ["a"]},
    "no tags": {"id": 1, "name": "x", "tags": []},
    "more": {"id": 1, "name": "x", "tags": ["a"], "more": 1},
    "nothing": None,
    "map": {"id": 1, "name": "x", "tags": ["a"], "stock": {"3f2a9c": 1, "77aa01": 2, "c0ffee": 1}},
}


class Told:
    def __init__(self):
        self.events = []

    def emit(self, event):
        """Keep it."""
        self.events.append(event)


def untimed(snapshot):
    """What is known, without the times at which it came to be."""
    incidents = {
        name: (i.status, i.count, i.opened, i.last, i.reported_at_count, i.report_count, i.findings)
        for name, i in snapshot.incidents.items()
    }
    held = {key: (held.row, held.incidents) for key, held in snapshot.quarantined.items()}
    return snapshot.observations, snapshot.rows, held, incidents, snapshot.maps_learned, snapshot.calls, snapshot.cuts


def monitors(count, store):
    """So many monitors that flush when they are asked to, and what each of them tells."""
    told = [Told() for _ in range(count)]
    return told, [Monitor(store, sinks=[one], flush_interval=10_000.0) for one in told]
