"""Snapshots as flushes make them: each is the one before with a few things that happened, and the rest untouched."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from strategies import field_names, shapes

from toolpulse import shape_of
from toolpulse._base.paths import format_path, parse_path
from toolpulse.evidence.maps import LearnedMap
from toolpulse.evidence.profile import Profile, fold, merge
from toolpulse.evidence.rows import Row, join_rows, truncated_paths
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk
from toolpulse.shape import Limits, Truncation
from toolpulse.shape.nodes import Array
from toolpulse.state.incidents import Decision, Incident, incident_id
from toolpulse.state.pending import Calls, TallyKey
from toolpulse.state.reports import incident_event
from toolpulse.state.snapshot import EMPTY, Quarantined, ReadSettings

TIME = "2026-03-01T12:00:00+00:00"

RESPONSES = (
    None,
    {"id": 1, "name": "x", "tags": ["a"]},
    {"id": "1", "name": None, "tags": []},
    {"series": {"2024-01-01": {"a": 1}, "2024-01-02": {"a": 2}}},
    {"series": {"k": 1, "l": 2}, "é\x00\ud800": {"'; DROP TABLE toolpulse_rows; --": 1}},
    [[1, {"a": 1.5}], "x"],
)
POOL = tuple(shape_of(response).shape for response in RESPONSES)

replace = msgspec.structs.replace


def taught(now, shape=POOL[1], count=1, encoding="native", cuts=frozenset()):
    """Observations that taught."""
    ordinal = now.observations + 1
    row = Row(shape, count, ordinal, now.observations + count, encoding, cuts)
    known = now.rows.get(row.key)
    return replace(
        now,
        observations=now.observations + count,
        rows={**now.rows, row.key: join_rows(known, row) if known else row},
    )


def finding(path="a", after="string", consumer="default"):
    """Something that was found."""
    evidence = "412 of 412 before"
    return Finding(path, "kind-changed", "integer", after, Risk.HIGH, evidence, consumer=consumer)


FOUND = (finding(),)


def held(now, tool, key, shape=POOL[2], count=1, found=FOUND, cut=(), broken=()):
    """Observations that did not teach, and the incident they count to."""
    last = now.observations + count
    name = incident_id(tool, key, frozenset((f.path, f.rule_id, f.after) for f in found))
    before = now.incidents.get(name)
    incident = Incident(name, tool, key, tuple(found), "open", count, now.observations + 1, last, TIME, TIME)
    if before:
        incident = replace(before, count=before.count + count, last=last)
    cuts = truncated_paths(Truncation(path, limit, 1, 2) for path, limit in cut)
    row = Row(shape, count, now.observations + 1, last, "json-text", cuts)
    tally = TallyKey(shape, "json-text", tuple(cut), tuple(broken))
    known = now.quarantined.get(tally)
    one = Quarantined(join_rows(known.row, row), known.findings, known.incidents | {name}) if known else None
    return replace(
        now,
        observations=last,
        quarantined={**now.quarantined, tally: one or Quarantined(row, tuple(found), frozenset({name}))},
        incidents={**now.incidents, name: incident},
    )


def _first(keys):
    return min(keys, key=lambda key: (key[0].fingerprint, repr(key[1:])))


def let_go(now):
    """The evidence of a shape that taught is kept, the shape is not."""
    if not now.rows:
        return now
    key = _first(now.rows)
    row = now.rows[key]
    rows = {other: found for other, found in now.rows.items() if other != key}
    evidence = fold([(row.shape, row.sightings, row.encoding, row.cuts)])
    return replace(now, rows=rows, merged=merge(now.merged or Profile(), evidence))


def accepted(now, tool, key):
    """Somebody accepted what is held."""
    if not now.quarantined:
        return now
    tally = _first(now.quarantined)
    one = now.quarantined[tally]
    known = now.rows.get(one.row.key)
    names = sorted(one.incidents & now.incidents.keys()) or ["gone"]
    number = len(now.decisions)
    decision = Decision(
        f"d{99 - number}", TIME, "accept", tool, key, names[0], (("a", "kind-changed", "x"),), "why", "me"
    )
    return replace(
        now,
        rows={**now.rows, one.row.key: join_rows(known, one.row) if known else one.row},
        quarantined={other: found for other, found in now.quarantined.items() if other != tally},
        incidents={n: replace(i, status="accepted") if n in names else i for n, i in now.incidents.items()},
        decisions={**now.decisions, decision.id: decision},
    )


def held_again(now):
    """A held shape was let go and came again, so that its count begins anew."""
    if not now.quarantined:
        return now
    tally = _first(now.quarantined)
    ordinal = now.observations + 1
    row = replace(now.quarantined[tally].row, count=1, first=ordinal, last=ordinal)
    return replace(
        now, observations=ordinal, quarantined={**now.quarantined, tally: replace(now.quarantined[tally], row=row)}
    )


def worsened(now):
    """Another consumer finds worse in an incident."""
    first = min(now.incidents, default=None)
    more = finding("a", consumer=f"c{now.observations}")
    changed = {n: replace(i, findings=(more, *i.findings[:2])) if n == first else i for n, i in now.incidents.items()}
    return replace(now, incidents=changed)


def reread(now):
    """Maps were learned: a shape is another one from now on, and counts what it counted."""
    if not now.rows:
        return now
    key = _first(now.rows)
    row = replace(now.rows[key], shape=Array([key[0]]) if len(key[0].text) < 1000 else POOL[0])
    rows = {other: found for other, found in now.rows.items() if other != key}
    return replace(now, rows={**rows, row.key: join_rows(rows[row.key], row) if row.key in rows else row})


def incident_forgotten(now):
    """An incident is over and its place was needed."""
    gone = min(now.incidents, default=None)
    return replace(now, incidents={name: found for name, found in now.incidents.items() if name != gone})


def decision_rewritten(now):
    """A decision spoke of a key of a map."""
    first = min(now.decisions, default=None)
    rewritten = {n: replace(d, changes=()) if n == first else d for n, d in now.decisions.items()}
    return replace(now, decisions=rewritten)


def map_learned(now, path=("series",)):
    """The keys at a path were found to be data."""
    decision = LearnedMap(path, 5, 10, 3, 1, 4, 2)
    known = {found.path: found for found in now.maps_learned}
    return replace(now, maps_learned=tuple({**known, path: decision}.values()))


def called(now):
    """Calls ended, one of them badly."""
    return replace(now, calls=now.calls.followed_by(Calls(3, 1, 3, (2,), {"ValueError": 1}, TIME)))


def cut_told(now):
    """Somebody was told of a cut."""
    return replace(now, cuts=now.cuts | {(f"a[{len(now.cuts)}]", "elements")})


def read(now):
    """The tool's settings are known."""
    return replace(now, reading=ReadSettings(Limits(depth=7), ("series",), ("a.*",), "none"))


def events_of(before, after):
    """An event for each incident that is not as it was."""
    return [
        incident_event(incident, time=TIME, ordinal=after.observations)
        for name, incident in after.incidents.items()
        if before.incidents.get(name) is not incident
    ]


readable_paths = st.lists(field_names, max_size=3).map(tuple)

some_shapes = st.one_of(st.sampled_from(POOL), st.sampled_from(POOL[:2]), shapes)

findings = st.builds(
    finding,
    st.one_of(st.sampled_from(["a", "series.k", "$"]), readable_paths.map(format_path)),
    st.sampled_from(["string", "null"]),
    field_names,
)

cut_places = st.lists(
    st.tuples(readable_paths.map(format_path), st.sampled_from(["elements", "name", "depth"])), max_size=2
).map(tuple)

CHANGES = (
    *(let_go, held_again, reread, worsened, incident_forgotten, decision_rewritten, map_learned),
    *(called, cut_told, read, accepted, accepted),
)

happenings = st.one_of(
    st.tuples(
        st.just("taught"), some_shapes, st.integers(1, 5), field_names, st.frozensets(readable_paths, max_size=2)
    ),
    st.tuples(
        st.just("held"),
        some_shapes,
        st.integers(1, 5),
        st.lists(findings, min_size=1, max_size=2).map(tuple),
        cut_places,
        st.lists(field_names, max_size=1).map(tuple),
    ),
    st.tuples(st.sampled_from(CHANGES)),
)
"""One thing that may happen to a tool."""


def after(now, happened, tool, key):
    """What is known after things that happened; the same for equal snapshots."""
    for what, *arguments in happened:
        if what == "taught":
            now = taught(now, *arguments)
        elif what == "held":
            now = held(now, tool, key, *arguments)
        elif what is accepted:
            now = accepted(now, tool, key)
        else:
            now = what(now)
    return now


def everything(tool="t", key=""):
    """A snapshot in which every part says something."""
    now = EMPTY
    for shape in POOL:
        now = taught(now, shape, 2)
    now = held(now, tool, key, cut=(("a", "elements"), ("b.c", "name")), broken=("me: holds",))
    now = accepted(let_go(now), tool, key)
    now = held(now, tool, key, POOL[5], found=(finding("series.k"), finding('["é\\u0000"]', "null")))
    return read(cut_told(called(map_learned(now, parse_path("a[].*")))))
