"""Drift events: the versioned record that sinks receive and ``drift.jsonl`` holds, one JSON line each.

Values only: it reads no clock and writes nothing. ``state`` makes the events of a tool, stores keep them until they
were sent, sinks and the command line read them.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from toolpulse._base.canonical import load_strict
from toolpulse._base.paths import Path, parse_path
from toolpulse.errors import InputError
from toolpulse.judgement.rules import Risk

SCHEMA: Final = 1
"""The version of the record. It changes only when a reader of this version could misread a line."""

NAME: Final = "tool_drift"
"""What the event is called in a log."""

Status: TypeAlias = Literal[
    "learned", "pending", "noted", "open", "resolved", "reopened", "accepted", "rejected", "ignored"
]
"""What an event reports. All but ``learned`` (the first ten observations are in) say what became of an incident.

``pending``: fewer observations showed it than ``confirm`` asks for, and it was not reported yet. ``noted``: no consumer
finds more than an addition in it. ``resolved``: it stayed away for improbably long. ``reopened``: it came back.
``accepted``, ``rejected``, ``ignored``: somebody decided.
"""


class EventChange(msgspec.Struct, frozen=True):
    """One change of an event.

    ``path`` is where (``results[].score``, the root is ``$``), ``rule_id`` a row of the table of rules, ``risk`` the
    worst of all consumers'. ``pattern`` names a reading that explains several changes (``renamed``); ``counterpart`` is
    then the path of the other one.
    """

    path: str
    rule_id: str
    before: str
    after: str
    risk: Risk
    evidence: str
    pattern: str | None = None
    counterpart: str | None = None

    @property
    def what(self) -> str:
        """What happened, in words: ``number -> string``, ``new element shape``, ``assertion "total > 0" failed``."""
        sentence = _SENTENCES.get(self.rule_id, "{before} -> {after}")
        return sentence.format(before=self.before, after=self.after, evidence=self.evidence)


_SENTENCES: Final = {
    "contract": 'assertion "{after}" failed',
    "element-shape-new": "new element shape",
    "map-learned": "keys vary, now treated as a map",
    "truncation-changed": "{evidence}; was inspected in full before",
}
"""Rules whose changes do not read well as ``before -> after``."""


class DriftEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one tool: its shape changed, something became of an incident, or a warm-up is over.

    ``incident`` is None for events that are about none. ``count`` is how many observations showed the incident,
    ``share`` its part of the observations since it opened, from 0 to 1. ``coverage`` says what was not looked at in
    full, a sentence each. An event may be delivered twice; it has the same ``id`` then.
    """

    schema: int = SCHEMA
    id: str
    time: str
    """ISO 8601, UTC."""
    tool: str
    key: str
    incident: str | None
    status: str
    """A ``Status``; an event of a newer version may have another one."""
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
    """The event of one line. Fields that this version does not know are passed over.

    Raises InputError where the line is no JSON, no event, or of a schema that is missing or not supported.
    """
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


def summarise(changes: tuple[EventChange, ...]) -> str:
    """One line for a log: the first change, and how many more there are.

    ``score: number -> string and 2 more changes``. There must be a change.
    """
    first = changes[0]
    # an assertion is about the whole payload, so a path says nothing
    sentence = first.what if first.rule_id == "contract" else f"{first.path}: {first.what}"
    more = len(changes) - 1
    return sentence + (f" and {more} more change{'s' if more > 1 else ''}" if more else "")


def names_key(path: Path, maps: frozenset[Path]) -> bool:
    """Whether a path goes through a key of one of the maps at these paths."""
    return any(path[:end] in maps and isinstance(path[end], str) for end in range(len(path)))


def names_keys(event: DriftEvent, maps: frozenset[Path]) -> bool:
    """Whether an event names a key of one of the maps at these paths: it was made while they passed for records."""
    return any(names_key(parse_path(change.path), maps) for change in event.changes)
