"""Writing a snapshot: what is not the same object as before, counts as additions, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from secrets import token_hex
from typing import Any, Final, TypeVar

from toolpulse.evidence.rows import Row, RowKey
from toolpulse.state.incidents import Decision, Incident
from toolpulse.state.pending import TallyKey
from toolpulse.state.snapshot import Quarantined, Snapshot, row_of
from toolpulse.stores.sql import codec
from toolpulse.stores.sql.engine import Database
from toolpulse.stores.sql.read import Known

V = TypeVar("V")

PUT_ROW: Final = """INSERT INTO toolpulse_rows AS known
    (tool_id, id, order_number, quarantined, fingerprint, shape, encoding, body,
        seen, first_at, last_at, changed, written)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tool_id, id) DO UPDATE SET
        seen = known.seen + excluded.seen,
        first_at = CASE WHEN excluded.first_at < known.first_at THEN excluded.first_at ELSE known.first_at END,
        last_at = CASE WHEN excluded.last_at > known.last_at THEN excluded.last_at ELSE known.last_at END,
        body = excluded.body, changed = excluded.changed, written = excluded.written"""

COUNT_ROW: Final = """UPDATE toolpulse_rows SET
    seen = seen + ?, first_at = CASE WHEN ? < first_at THEN ? ELSE first_at END,
    last_at = CASE WHEN ? > last_at THEN ? ELSE last_at END, changed = ? WHERE tool_id = ? AND id = ?"""

WRITE_ROW: Final = "UPDATE toolpulse_rows SET body = ?, changed = ?, written = ? WHERE tool_id = ? AND id = ?"

PUT_TOOL: Final = """INSERT INTO toolpulse_tools AS known
    (id, tool, key, created_nonce, version, deletions, observations, merged, state, first_time, last_time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
        version = excluded.version, deletions = excluded.deletions,
        observations = excluded.observations, state = excluded.state,
        merged = CASE WHEN excluded.merged = 0 THEN known.merged ELSE excluded.merged END,
        last_time = excluded.last_time"""

PUT_MERGED: Final = """INSERT INTO toolpulse_merged (tool_id, profile) VALUES (?, ?)
    ON CONFLICT (tool_id) DO UPDATE SET profile = excluded.profile"""

PUT_PART: Final = """INSERT INTO {table} (tool_id, id, order_number, body, findings, changed, written)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tool_id, id) DO UPDATE SET body = excluded.body, findings = excluded.findings,
        changed = excluded.changed, written = excluded.written"""

WRITE_PART: Final = "UPDATE {table} SET body = ?, changed = ? WHERE tool_id = ? AND id = ?"

COUNT_HOUR: Final = """INSERT INTO toolpulse_hours AS known (tool_id, shape, hour, seen) VALUES (?, ?, ?, ?)
    ON CONFLICT (tool_id, shape, hour) DO UPDATE SET seen = known.seen + excluded.seen"""

FOLD_HOURS: Final = """INSERT INTO toolpulse_hours AS known (tool_id, shape, hour, seen)
    SELECT tool_id, '', hour, seen FROM toolpulse_hours WHERE tool_id = ? AND shape = ?
    ON CONFLICT (tool_id, shape, hour) DO UPDATE SET seen = known.seen + excluded.seen"""

_MOST_WRITTEN: Final = 1_000_000


class Save:
    """One snapshot on its way into the database, within a transaction on its tool."""

    def __init__(self, db: Database, tool: str, known: Known, after: Snapshot) -> None:
        self.db = db
        self.tool = tool
        self.known = known
        self.after = after
        self.version = known.version + 1
        self.ids = dict(known.ids)
        self.gains: Counter[str] = Counter()
        """How often more each shape, by the start of its fingerprint, was seen."""
        self._deleted = 0
        self._order_numbers = count(self.version * _MOST_WRITTEN)

    def write(self, names: tuple[str, str], time: float) -> Known:
        """Write what differs from what is known; what is known then. ``time`` is that of the clock."""
        before, after = self.known.snapshot, self.after
        self._write_rows(before.rows, after.rows, self._put_row)
        self._write_rows(before.quarantined, after.quarantined, self._put_quarantined)
        self._write_parts("toolpulse_incidents", before.incidents, after.incidents, _incident_texts)
        self._write_parts("toolpulse_decisions", before.decisions, after.decisions, _decision_texts)
        merged = 0 if after.merged is before.merged else self._write_merged()
        created_nonce = self.known.created_nonce or token_hex(8)
        deletions = self.known.deletions + bool(self._deleted)
        state = codec.state_text(after)
        identity = (self.tool, *map(codec.escaped, names), created_nonce)
        self.db.execute(PUT_TOOL, (*identity, self.version, deletions, after.observations, merged, state, time, time))
        return Known(created_nonce, self.version, deletions, after, self.ids)

    def _write_rows(
        self,
        before: Mapping[Any, Row | Quarantined],
        after: Mapping[Any, Row | Quarantined],
        put: Callable[[Any, Any], Sequence[object]],
    ) -> None:
        gone = [key for key in before if key not in after]
        changed = [key for key, now in after.items() if before.get(key) is not now]
        again = [key for key in changed if key in before and _restarted(row_of(before[key]), row_of(after[key]))]
        self._drop_rows([before[key] for key in (*gone, *again)], [self.ids.pop(key) for key in (*gone, *again)])
        new = [key for key in changed if key not in self.ids]
        old = [key for key in changed if key in self.ids]
        self.db.many(COUNT_ROW, self._counts(old, before, after))
        self.db.many(WRITE_ROW, self._bodies(old, before, after))
        self.db.many(PUT_ROW, [put(key, after[key]) for key in new])

    def _drop_rows(self, rows: list[Row | Quarantined], ids: list[str]) -> None:
        for row in map(row_of, rows):
            self.gains[_hour_shape(row)] -= row.count
        self.db.many("DELETE FROM toolpulse_rows WHERE tool_id = ? AND id = ?", [(self.tool, name) for name in ids])
        self._deleted += len(ids)

    def _counts(self, keys: list[Any], before: Mapping[Any, Any], after: Mapping[Any, Any]) -> list[Sequence[object]]:
        rows: list[Sequence[object]] = []
        for key in keys:
            old, new = row_of(before[key]), row_of(after[key])
            self.gains[_hour_shape(new)] += new.count - old.count
            seen = (new.count - old.count, new.first, new.first, new.last, new.last)
            rows.append((*seen, self.version, self.tool, self.ids[key]))
        return rows

    def _bodies(self, keys: list[Any], before: Mapping[Any, Any], after: Mapping[Any, Any]) -> list[Sequence[object]]:
        rows: list[Sequence[object]] = []
        for key in keys:
            old, new = before[key], after[key]
            if isinstance(new, Quarantined) and (old.findings, old.incidents) != (new.findings, new.incidents):
                rows.append((codec.quarantined_text(key, new), self.version, self.version, self.tool, self.ids[key]))
        return rows

    def _put_row(self, key: RowKey, row: Row) -> Sequence[object]:
        self.ids[key] = codec.learned_id(key)
        return self._put(self.ids[key], row, 0, codec.cuts_text(row))

    def _put_quarantined(self, key: TallyKey, one: Quarantined) -> Sequence[object]:
        self.ids[key] = codec.quarantined_id(key)
        return self._put(self.ids[key], one.row, 1, codec.quarantined_text(key, one))

    def _put(self, name: str, row: Row, quarantined: int, body: str) -> Sequence[object]:
        self.gains[_hour_shape(row)] += row.count
        shape, encoding = row.shape, codec.escaped(row.encoding)
        seen = (row.count, row.first, row.last)
        texts = (shape.fingerprint, shape.text, encoding, body)
        return (self.tool, name, next(self._order_numbers), quarantined, *texts, *seen, self.version, self.version)

    def _write_parts(
        self,
        table: str,
        before: Mapping[str, V],
        after: Mapping[str, V],
        texts: Callable[[V, V | None], tuple[str, str]],
    ) -> None:
        gone = [(self.tool, codec.escaped(name)) for name in before if name not in after]
        self.db.many(f"DELETE FROM {table} WHERE tool_id = ? AND id = ?", gone)
        self._deleted += len(gone)
        put, write = [], []
        for name, now in after.items():
            if before.get(name) is not now:
                body, findings = texts(now, before.get(name))
                key = (self.tool, codec.escaped(name))
                if findings:
                    put.append((*key, next(self._order_numbers), body, findings, self.version, self.version))
                else:
                    write.append((body, self.version, *key))
        self.db.many(PUT_PART.format(table=table), put)
        self.db.many(WRITE_PART.format(table=table), write)

    def _write_merged(self) -> int:
        if self.after.merged is None:
            self.db.execute("DELETE FROM toolpulse_merged WHERE tool_id = ?", (self.tool,))
        else:
            self.db.execute(PUT_MERGED, (self.tool, codec.profile_text(self.after.merged)))
        return self.version

    def count_hour(self, hour: int) -> None:
        """Count the observations to an hour (since 1970): to the shapes seen, what is left to none."""
        left = self.after.observations - self.known.snapshot.observations
        parts = []
        for shape, gain in self.gains.items():
            part = min(gain, left)
            if part > 0:
                parts.append((self.tool, shape, hour, part))
                left -= part
        if left > 0:
            parts.append((self.tool, "", hour, left))
        self.db.many(COUNT_HOUR, parts)

    def fold_hours(self) -> None:
        """Count the hours of shapes that are known no more to none, so that there is an end to them."""
        lost = {shape for shape, gain in self.gains.items() if gain < 0}
        if lost:
            rows = (*self.after.rows.values(), *(one.row for one in self.after.quarantined.values()))
            gone = [(self.tool, shape) for shape in sorted(lost - set(map(_hour_shape, rows)))]
            self.db.many(FOLD_HOURS, gone)
            self.db.many("DELETE FROM toolpulse_hours WHERE tool_id = ? AND shape = ?", gone)


def _restarted(before: Row, after: Row) -> bool:
    """Whether a shape was let go and came again in between, so that its counts are no addition."""
    return after.count < before.count or after.first > before.first or after.last < before.last


def _hour_shape(row: Row) -> str:
    return row.shape.fingerprint[:32]


def _incident_texts(now: Incident, before: Incident | None) -> tuple[str, str]:
    """Its texts; the second one empty where it is as before."""
    body, findings = codec.incident_texts(now)
    return body, "" if before is not None and before.findings == now.findings else findings


def _decision_texts(now: Decision, before: Decision | None) -> tuple[str, str]:
    return codec.decision_text(now), "" if before is not None else "[]"
