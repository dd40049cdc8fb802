"""Drift events: the versioned record that sinks receive and ``drift.jsonl`` holds, one JSON line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from toolpulse._base.canonical import ascii_json, digest, load_strict
from toolpulse._base.paths import Path, parse_path
from toolpulse.errors import InputError
from toolpulse.judgement.rules import Risk
from toolpulse.state.incidents import names_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolpulse.judgement.findings import Finding
    from toolpulse.state.incidents import Incident

SCHEMA: Final = 1
NAME: Final = "tool_drift"


class EventChange(msgspec.Struct, frozen=True):
    """One change of an event; its risk is the worst of all consumers'."""

    path: str
    rule_id: str
    before: str
    after: str
    risk: Risk
    evidence: str
    pattern: str | None = None
    counterpart: str | None = None


class DriftEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one tool: a change of shape, or word of what was learned.

    ``status``: ``learned`` (the warm-up is over), ``open``, and what later becomes of the incident. ``share`` is the
    incident's part of the observations since it opened, 0 to 1. ``coverage`` says what was not looked at in full.
    """

    schema: int = SCHEMA
    id: str
    time: str
    """ISO 8601, UTC."""
    tool: str
    key: str
    incident: str | None
    status: str
    risk: Risk
    risks: dict[str, Risk]
    summary: str
    pattern: str | None
    changes: tuple[EventChange, ...]
    fingerprint_before: str | None
    """Of the commonest shape known."""
    fingerprint_after: str | None
    encoding: str
    count: int
    share: float
    coverage: tuple[str, ...]
    decision: str | None = None


def encode(event: DriftEvent) -> bytes:
    """One line of JSON, ``schema`` first, without the line break."""
    return msgspec.json.encode(event)


def decode(line: bytes | str) -> DriftEvent:
    """Read one line. Raises InputError: no JSON, no event, a schema that is missing or not supported."""
    plain = load_strict(line)
    if not isinstance(plain, dict) or "schema" not in plain:
        raise InputError("not a drift event: schema is missing")
    if type(plain["schema"]) is not int:
        raise InputError(f"schema must be a whole number, not {type(plain['schema']).__name__}")
    if plain["schema"] != SCHEMA:
        raise InputError(f"schema {plain['schema']} is not supported; this version reads {SCHEMA}")
    try:
        return msgspec.convert(plain, DriftEvent)
    except msgspec.ValidationError as error:
        raise InputError(f"not a drift event: {error}") from None


def drift_event(
    incident: Incident,
    *,
    time: str,
    ordinal: int,
    before: str | None,
    after: str | None,
    encoding: str,
    coverage: Iterable[str] = (),
    generation: int = 0,
) -> DriftEvent:
    """The event that tells of an incident as it stands at ``ordinal``.

    ``generation`` tells what was forgotten from what came after it: each has ids of its own.
    """
    changes = _changes(incident.findings)
    patterns = {change.pattern for change in changes if change.pattern}
    return DriftEvent(
        id=event_id(generation, incident.id, incident.status, incident.report_count),
        time=time,
        tool=incident.tool,
        key=incident.key,
        incident=incident.id,
        status=incident.status,
        risk=incident.risk,
        risks=incident.risks,
        summary=summarise(changes),
        pattern=patterns.pop() if len(patterns) == 1 else None,
        changes=changes,
        fingerprint_before=before,
        fingerprint_after=after,
        encoding=encoding,
        count=incident.count,
        share=round(incident.share(ordinal), 4),
        coverage=tuple(coverage),
    )


def note(
    tool: str,
    key: str,
    status: str,
    time: str,
    summary: str,
    fingerprint: str | None,
    count: int,
    coverage: Iterable[str] = (),
    findings: tuple[Finding, ...] = (),
    generation: int = 0,
) -> DriftEvent:
    """An event that is no incident: what was learned, and what was noted in passing."""
    changes = _changes(findings)
    summary = summary or summarise(changes)
    return DriftEvent(
        # told again of the same, it is the same, however many observations that took
        id=event_id(generation, _identity(tool, key, "" if status == "learned" else summary), status, 0),
        time=time,
        tool=tool,
        key=key,
        incident=None,
        status=status,
        risk=Risk.INFO,
        risks={},
        summary=summary,
        pattern=None,
        changes=changes,
        fingerprint_before=None,
        fingerprint_after=fingerprint,
        encoding="native",
        count=count,
        share=1.0,
        coverage=tuple(coverage),
    )


def _identity(*names: str) -> str:
    return digest(ascii_json(names))[:12]


def event_id(generation: int, incident: str, status: str, number: int) -> str:
    """A stable id, 16 hex digits: the same event told twice has it twice."""
    return digest(f"{generation} {incident} {status} {number}".encode())[:16]


def names_keys(event: DriftEvent, maps: frozenset[Path]) -> bool:
    """Whether an event names a key of one of the maps at these paths: it was written while they passed for records."""
    return any(names_key(parse_path(change.path), maps) for change in event.changes)


def summarise(changes: tuple[EventChange, ...]) -> str:
    """One line: the worst change, and how many more there are."""
    first = changes[0]
    what = _SAID.get(first.rule_id) or f"{first.before} -> {first.after}"
    more = len(changes) - 1
    return f"{first.path}: {what}" + (f" and {more} more change{'s' if more > 1 else ''}" if more else "")


_SAID: Final = {"element-shape-new": "new element shape", "map-learned": "its keys are data"}


def _changes(findings: tuple[Finding, ...]) -> tuple[EventChange, ...]:
    """One entry a change, with the worst risk of all consumers; worst first."""
    found: dict[tuple[str, str, str, str], EventChange] = {}
    for f in sorted(findings, key=lambda f: (f.risk.rank, f.path, f.rule_id, f.after)):
        change = EventChange(f.path, f.rule_id, f.before, f.after, f.risk, f.evidence, f.pattern, f.counterpart)
        found.setdefault((f.path, f.rule_id, f.before, f.after), change)
    return tuple(found.values())
