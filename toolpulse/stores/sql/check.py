"""Whether what a database holds is whole: every text reads, shapes are what they are called, counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from toolpulse.stores.sql import codec
from toolpulse.stores.sql.engine import Database


def faults(db: Database) -> list[str]:
    """What is wrong, a sentence each."""
    names = {name: _shown(tool, key) for name, tool, key in db.execute("SELECT id, tool, key FROM toolpulse_tools")}
    counted: Counter[str] = Counter()
    sentences = [*_rows(db, names, counted), *_merged(db, names, counted), *_texts(db, names)]
    for name, observations in db.execute("SELECT id, observations FROM toolpulse_tools"):
        if counted[name] > observations:
            sentences.append(f"{names[name]}: its shapes count {counted[name]} of {observations} observations")
    return sentences


def _shown(tool: str, key: str) -> str:
    return f"{tool} ({key})" if key else tool


def _rows(db: Database, names: dict[str, str], counted: Counter[str]) -> Iterator[str]:
    columns = "tool_id, fingerprint, quarantined, shape, encoding, body, seen, first_at, last_at"
    rows = db.execute(f"SELECT {columns} FROM toolpulse_rows")
    for tool, fingerprint, quarantined, shape, encoding, body, *seen in rows:
        where = f"{names.get(tool, tool)}: shape {fingerprint[:12]}"
        counted[tool] += seen[0]
        if tool not in names:
            yield f"{where} belongs to no tool"
        try:
            row = (
                codec.read_quarantined(shape, encoding, body, (seen[0], seen[1], seen[2]))[1].row
                if quarantined
                else codec.read_row(shape, encoding, body, (seen[0], seen[1], seen[2]))
            )
        except codec.UNREADABLE:
            yield f"{where} cannot be read"
            continue
        if row.shape.fingerprint != fingerprint:
            yield f"{where} does not have this fingerprint"
        if not (row.count >= 1 and 1 <= row.first <= row.last):
            yield f"{where}: count, first and last do not go together"


def _merged(db: Database, names: dict[str, str], counted: Counter[str]) -> Iterator[str]:
    for tool, text in db.execute("SELECT tool_id, profile FROM toolpulse_merged"):
        try:
            counted[tool] += codec.read_profile(text).observations.count
        except codec.UNREADABLE:
            yield f"{names.get(tool, tool)}: the evidence of the shapes let go cannot be read"


def _texts(db: Database, names: dict[str, str]) -> Iterator[str]:
    states = "SELECT id, '', state FROM toolpulse_tools"
    yield from _unreadable(db, names, states, "its state", codec.read_state)
    incidents = "SELECT tool_id, id, body, findings FROM toolpulse_incidents"
    yield from _unreadable(db, names, incidents, "incident", codec.read_incident)
    decisions = "SELECT tool_id, id, body FROM toolpulse_decisions"
    yield from _unreadable(db, names, decisions, "decision", codec.read_decision)
    yield from _unreadable(db, {"": "events"}, "SELECT '', id, body FROM toolpulse_events", "event", codec.read_event)


def _unreadable(
    db: Database, names: dict[str, str], statement: str, what: str, read: Callable[..., Any]
) -> Iterator[str]:
    for tool, name, *texts in db.execute(statement):
        try:
            read(*texts)
        except codec.UNREADABLE:
            yield f"{names.get(tool, tool)}: {what}{' ' if name else ''}{name} cannot be read"
