"""What a store has read of a tool: the snapshot, and enough to read again only what changed since.

Objects that did not change are given out again as they are, so that whoever holds them can tell by identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from toolpulse.evidence.profile import Profile
from toolpulse.evidence.rows import Row, RowKey
from toolpulse.state.incidents import Decision, Incident
from toolpulse.state.pending import TallyKey
from toolpulse.state.snapshot import EMPTY, Quarantined, Snapshot
from toolpulse.stores.sql import codec
from toolpulse.stores.sql.engine import Database

_MOST_AT_ONCE: Final = 500
"""Ids named in one statement; SQLite of old takes 999 values."""

_TOOL: Final = """SELECT created_nonce, version, deletions, observations, merged, state
    FROM toolpulse_tools WHERE id = ?"""


class Known(msgspec.Struct, frozen=True):
    """A snapshot as it is in the database."""

    created_nonce: str = ""
    """Tells a tool that was forgotten and came again from the one before."""
    version: int = 0
    """The number of the transaction that wrote it; each one that writes adds 1."""
    deletions: int = 0
    """Grows where something known was removed."""
    snapshot: Snapshot = EMPTY
    ids: dict[RowKey | TallyKey, str] = {}
    """What its rows and quarantined shapes are known by."""


NOTHING: Final = Known()
"""Nothing is in the database."""


def read(db: Database, tool: str, known: Known) -> Known:
    """What is in the database of a tool, by its id; ``known`` where it is still that."""
    tools = db.execute(_TOOL, (tool,))
    if not tools:
        return NOTHING
    created_nonce, version, deletions, observations, merged, state = tools[0]
    if created_nonce == known.created_nonce and version == known.version:
        return known
    base = known if created_nonce == known.created_nonce and version > known.version else NOTHING
    news = _News(db, tool, base.version if base is not NOTHING else -1, base is NOTHING or deletions != base.deletions)
    rows, quarantined, ids = _rows(news, base)
    small = _kept(base.snapshot, codec.read_state(state))
    snapshot = Snapshot(
        observations=observations,
        rows=rows,
        quarantined=quarantined,
        incidents=_incidents(news, base.snapshot.incidents),
        decisions=_decisions(news, base.snapshot.decisions),
        maps_learned=small.maps_learned,
        merged=_merged(db, tool) if merged > news.since else base.snapshot.merged,
        calls=small.calls,
        cuts=small.cuts,
        reading=small.reading,
        generation=small.generation,
    )
    return Known(created_nonce, version, deletions, snapshot, ids)


class _News:
    """What was written after a transaction: of all there is, or of what changed only."""

    def __init__(self, db: Database, tool: str, since: int, complete: bool) -> None:
        self.since = since
        self.complete = complete
        self._db = db
        self._tool = tool

    def light(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """The id and small columns of what changed, or of all, in order."""
        after = -1 if self.complete else self.since
        statement = f"SELECT id, {columns} FROM {table} WHERE tool_id = ? AND changed > ? ORDER BY order_number, id"
        return self._db.execute(statement, (self._tool, after))

    def texts(self, table: str, columns: str, wanted: list[str]) -> dict[str, tuple[Any, ...]]:
        """The large columns of what is wanted, by id."""
        return {row[0]: row[1:] for chunk in _chunks(wanted) for row in self._some(table, columns, chunk)}

    def _some(self, table: str, columns: str, ids: list[str]) -> list[tuple[Any, ...]]:
        marks = ", ".join("?" * len(ids))
        statement = f"SELECT id, {columns} FROM {table} WHERE tool_id = ? AND id IN ({marks})"
        return self._db.execute(statement, (self._tool, *ids))


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _MOST_AT_ONCE):
        yield ids[start : start + _MOST_AT_ONCE]


def _rows(
    news: _News, base: Known
) -> tuple[dict[RowKey, Row], dict[TallyKey, Quarantined], dict[RowKey | TallyKey, str]]:
    """The rows and quarantined shapes there are now."""
    rows: dict[RowKey, Row] = {} if news.complete else dict(base.snapshot.rows)
    quarantined: dict[TallyKey, Quarantined] = {} if news.complete else dict(base.snapshot.quarantined)
    ids: dict[RowKey | TallyKey, str] = {} if news.complete else dict(base.ids)
    names = {name: key for key, name in base.ids.items()}
    light = news.light("toolpulse_rows", "seen, first_at, last_at, written")
    wanted = [name for name, *_, written in light if written > news.since or name not in names]
    texts = news.texts("toolpulse_rows", "quarantined, shape, encoding, body", wanted)
    for name, *seen, _ in light:
        counts = (seen[0], seen[1], seen[2])
        key: RowKey | TallyKey
        if name not in texts:
            key = names[name]
            if isinstance(key, TallyKey):
                quarantined[key] = _recounted_quarantined(base.snapshot.quarantined[key], counts)
            else:
                rows[key] = _recounted(base.snapshot.rows[key], counts)
        elif texts[name][0]:
            _, shape, encoding, body = texts[name]
            key, entry = codec.read_quarantined(shape, encoding, body, counts)
            quarantined[key] = entry
        else:
            _, shape, encoding, body = texts[name]
            row = codec.read_row(shape, encoding, body, counts)
            key = row.key
            rows[key] = row
        ids[key] = name
    return rows, quarantined, ids


def _recounted(row: Row, seen: tuple[int, int, int]) -> Row:
    if row.sightings.plain() == seen:
        return row
    count, first, last = seen
    return msgspec.structs.replace(row, count=count, first=first, last=last)


def _recounted_quarantined(one: Quarantined, seen: tuple[int, int, int]) -> Quarantined:
    row = _recounted(one.row, seen)
    return one if row is one.row else msgspec.structs.replace(one, row=row)


def _incidents(news: _News, base: Mapping[str, Incident]) -> dict[str, Incident]:
    """The incidents there are now; their findings are read where they were written anew."""
    incidents: dict[str, Incident] = {} if news.complete else dict(base)
    light = news.light("toolpulse_incidents", "body, changed, written")
    texts = news.texts("toolpulse_incidents", "findings", [row[0] for row in light if row[3] > news.since])
    for name, body, changed, _ in light:
        key = codec.unescaped(name)
        if changed <= news.since:
            incidents[key] = base[key]
        else:
            incidents[key] = codec.read_incident(body, texts[name][0] if name in texts else base[key].findings)
    return incidents


def _decisions(news: _News, base: Mapping[str, Decision]) -> dict[str, Decision]:
    """The decisions there are now."""
    decisions: dict[str, Decision] = {} if news.complete else dict(base)
    for name, body, changed in news.light("toolpulse_decisions", "body, changed"):
        key = codec.unescaped(name)
        decisions[key] = base[key] if changed <= news.since else codec.read_decision(body)
    return decisions


def _merged(db: Database, tool: str) -> Profile | None:
    profiles = db.execute("SELECT profile FROM toolpulse_merged WHERE tool_id = ?", (tool,))
    return codec.read_profile(profiles[0][0]) if profiles else None


def _kept(before: Snapshot, state: codec.State) -> codec.State:
    """The small parts, each as the object it was where it is still the same."""
    kept = {
        part: getattr(before, part) if getattr(before, part) == value else value
        for part, value in msgspec.structs.asdict(state).items()
    }
    return codec.State(**kept)
