"""What is kept of a tool as text, and back: ASCII JSON for the parts of a snapshot, an ASCII escape for names.

Every text is plain ASCII without NUL, whatever names consist of, so that any database takes it and gives it back.
Reading raises ValueError (InputError is one), TypeError, KeyError, AttributeError or RecursionError where a text is
nothing that was written here.
"""

from __future__ import annotations

import codecs
from typing import Any, Final, TypeVar

import msgspec

from toolpulse import events
from toolpulse._base.canonical import ascii_json, digest, load_strict
from toolpulse._base.paths import format_path, parse_path
from toolpulse.events import DriftEvent
from toolpulse.evidence.maps import LearnedMap
from toolpulse.evidence.profile import Profile
from toolpulse.evidence.profile_json import sparse
from toolpulse.evidence.rows import Row, RowKey
from toolpulse.judgement.findings import Finding
from toolpulse.shape.nodes import Shape, shape_from_normal
from toolpulse.state.incidents import Decision, Incident
from toolpulse.state.pending import Calls, TallyKey
from toolpulse.state.snapshot import Quarantined, ReadSettings, Snapshot

T = TypeVar("T")

for _codec in ("ascii", "unicode_escape"):
    # it is imported at its first use; a child forked in the middle of that would wait for the import for ever
    codecs.lookup(_codec)

UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""What reading a text raises that was not written here."""


def escaped(name: str) -> str:
    """A name as ASCII, line breaks, NUL and lone surrogates included; no two names have the same."""
    return name.encode("unicode_escape").decode("ascii")


def unescaped(text: str) -> str:
    """The name that was escaped."""
    return text.encode("ascii").decode("unicode_escape")


def tool_id(tool: str, key: str) -> str:
    """What a tool and key are known by in the tables: 32 hex digits, however long their names are."""
    return digest(ascii_json([escaped(tool), escaped(key)]))[:32]


def learned_id(key: RowKey) -> str:
    """What a learned row is known by."""
    shape, encoding, cuts = key
    # this word and "held" below are part of ids in databases that exist
    return digest(ascii_json(["taught", shape.fingerprint, encoding, sorted(map(format_path, cuts))]))[:32]


def quarantined_id(key: TallyKey) -> str:
    """What a quarantined shape is known by."""
    return digest(ascii_json(["held", key.shape.fingerprint, key.encoding, key.cut, key.broken]))[:32]


def _text(value: object) -> str:
    return ascii_json(msgspec.to_builtins(value, order="deterministic")).decode("ascii")


def _read(text: str, kind: type[T]) -> T:
    return msgspec.convert(load_strict(text), kind)


def shape_of_text(text: str) -> Shape:
    """The shape of a text that its ``text`` gave."""
    return shape_from_normal(load_strict(text))


def cuts_text(row: Row) -> str:
    """Where walks over a row were cut."""
    return _text(sorted(map(format_path, row.cuts)))


def read_row(shape: str, encoding: str, cuts: str, seen: tuple[int, int, int]) -> Row:
    """A learned row; ``seen`` is its count, first and last."""
    paths = frozenset(map(parse_path, _read(cuts, list[str])))
    return Row(shape_of_text(shape), *seen, unescaped(encoding), paths)


def quarantined_text(key: TallyKey, one: Quarantined) -> str:
    """All of a quarantined shape but its shape, encoding and counts."""
    return _text(
        {
            "cuts": sorted(map(format_path, one.row.cuts)),
            "cut": key.cut,
            "broken": key.broken,
            "findings": one.findings,
            "incidents": sorted(one.incidents),
        }
    )


class _QuarantinedText(msgspec.Struct):
    cuts: list[str]
    cut: tuple[tuple[str, str], ...]
    broken: tuple[str, ...]
    findings: tuple[Finding, ...]
    incidents: frozenset[str]


def read_quarantined(shape: str, encoding: str, text: str, seen: tuple[int, int, int]) -> tuple[TallyKey, Quarantined]:
    """A quarantined shape and its key."""
    read = _read(text, _QuarantinedText)
    row = Row(shape_of_text(shape), *seen, unescaped(encoding), frozenset(map(parse_path, read.cuts)))
    key = TallyKey(row.shape, row.encoding, read.cut, read.broken)
    return key, Quarantined(row, read.findings, read.incidents)


def incident_texts(incident: Incident) -> tuple[str, str]:
    """An incident without its findings, which change at each sighting, and the findings, which hardly do."""
    fields: dict[str, Any] = msgspec.to_builtins(incident, order="deterministic")
    findings = fields.pop("findings")
    return _text(fields), _text(findings)


def read_incident(state: str, findings: str | tuple[Finding, ...]) -> Incident:
    """The incident of its two texts; findings that were read already are taken as they are."""
    known = _read(findings, tuple[Finding, ...]) if isinstance(findings, str) else findings
    incident = msgspec.convert({**load_strict(state), "findings": ()}, Incident)
    return msgspec.structs.replace(incident, findings=known)


def decision_text(decision: Decision) -> str:
    """All of a decision."""
    return _text(decision)


def read_decision(text: str) -> Decision:
    """The decision of a text."""
    return _read(text, Decision)


def event_text(event: DriftEvent) -> str:
    """An event as one line."""
    return _text(event)


def read_event(text: str) -> DriftEvent:
    """The event of a line."""
    return events.decode(text)


class State(msgspec.Struct, frozen=True):
    """The small parts of a snapshot, which are kept as one text."""

    maps_learned: tuple[LearnedMap, ...]
    cuts: frozenset[tuple[str, str]]
    calls: Calls
    reading: ReadSettings | None
    generation: int


def state_text(snapshot: Snapshot) -> str:
    """Maps learned, cuts told of, calls, how responses are read, and which generation it is."""
    maps = [{**msgspec.structs.asdict(one), "path": format_path(one.path)} for one in snapshot.maps_learned]
    cuts = sorted(snapshot.cuts)
    calls, reading, generation = snapshot.calls, snapshot.reading, snapshot.generation
    return _text({"maps_learned": maps, "cuts": cuts, "calls": calls, "reading": reading, "life": generation})


def read_state(text: str) -> State:
    """The small parts of a snapshot."""
    read = load_strict(text)
    return State(
        tuple(LearnedMap(**{**one, "path": parse_path(one["path"])}) for one in read["maps_learned"]),
        msgspec.convert(read["cuts"], frozenset[tuple[str, str]]),
        msgspec.convert(read["calls"], Calls),
        msgspec.convert(read["reading"], ReadSettings | None),
        msgspec.convert(read["life"], int),
    )


def profile_text(profile: Profile) -> str:
    """A profile; what counts nothing is left out, which is most of it."""
    parts = {name: part for name, part in sparse(profile).items() if part}
    return ascii_json(parts).decode("ascii")


def read_profile(text: str) -> Profile:
    """The profile of a text."""
    return Profile.from_plain(load_strict(text))
