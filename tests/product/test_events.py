from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Risk
from toolpulse.errors import InputError
from toolpulse.events import SCHEMA, DriftEvent, EventChange, decode, encode
from toolpulse.judgement.findings import Finding
from toolpulse.state.incidents import Incident, change_key, incident_id
from toolpulse.state.reports import Sighting, event_id, incident_event

risks = st.sampled_from(list(Risk))
words = st.text(st.characters(codec="utf-8"), max_size=8)
changes = st.builds(EventChange, words, words, words, words, risks, words, words | st.none(), words | st.none())
events = st.builds(
    DriftEvent,
    id=words,
    time=words,
    tool=words,
    key=words,
    incident=words | st.none(),
    status=words,
    risk=risks,
    risks=st.dictionaries(words, risks, max_size=2),
    summary=words,
    pattern=words | st.none(),
    changes=st.lists(changes, max_size=2).map(tuple),
    fingerprint_before=words | st.none(),
    fingerprint_after=words | st.none(),
    encoding=words,
    count=st.integers(0, 2**40),
    share=st.floats(0, 1),
    coverage=st.lists(words, max_size=2).map(tuple),
    decision=words | st.none(),
)


def finding(path="a", rule="field-removed", risk=Risk.HIGH, consumer="default", after="missing", pattern=None):
    """A finding with the usual things in it."""
    return Finding(path, rule, "string", after, risk, "12 of 12 before", pattern, None, consumer)


def incident(*findings, status="open", count=3, opened=11):
    """An incident of these findings."""
    name = incident_id("tool", "", frozenset(map(change_key, findings)))
    return Incident(name, "tool", "", findings, status, count, opened, 20, "t1", "t2", report_count=1)


def event(*findings, **more):
    """The event that tells of such an incident."""
    sighting = Sighting("e" * 64, "native", ("rows: 100 of 300 elements seen",))
    return incident_event(incident(*findings, **more), time="now", ordinal=20, before="f" * 64, sighting=sighting)


@given(events)
def test_events_can_be_read_back(one):
    """What a sink wrote is what a reader of the file gets, on one line."""
    line = encode(one)
    assert b"\n" not in line
    assert decode(line) == one
    assert decode(line.decode()) == one


def test_the_schema_comes_first():
    """A reader that knows another version must see so before anything else."""
    assert encode(event(finding())).startswith(b'{"schema":1,"id":"')


def line(**changed):
    """An event as a line, with some of its fields changed, or gone where ``...`` stands."""
    plain = json.loads(encode(event(finding())))
    plain.update(changed)
    return json.dumps({key: value for key, value in plain.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["not JSON"]),
        ("{", ["not JSON"]),
        ("[]", ["schema is missing"]),
        ("5", ["schema is missing"]),
        (line(schema=...), ["schema is missing"]),
        (line(schema=True), ["whole number", "bool"]),
        (line(schema="1"), ["whole number", "str"]),
        (line(schema=1.0), ["whole number", "float"]),
        (line(schema=None), ["whole number", "NoneType"]),
        (line(schema=2), ["schema 2", str(SCHEMA)]),
        (line(schema=0), ["schema 0"]),
        (line(schema=2, tool=...), ["schema 2"]),
        (line(tool=...), ["tool"]),
        (line(risk="severe"), ["risk"]),
        (line(count="3"), ["count"]),
        (line(changes=[{"path": "a"}]), ["changes"]),
    ],
)
def test_what_is_no_event_is_refused(text, words):
    """The schema is judged before any content: present, whole, supported."""
    with pytest.raises(InputError) as caught:
        decode(text)
    assert all(word in str(caught.value) for word in words)


def test_fields_that_a_later_version_adds_are_passed_over():
    """A reader of the same schema must not break on one more field."""
    assert decode(line(added_later=[1])) == event(finding())


def test_an_event_tells_of_its_incident():
    """Each change is told once, at the worst risk of its readers, worst first."""
    told = event(
        finding("b", "field-added", Risk.INFO),
        finding("a", risk=Risk.INFO, consumer="lax"),
        finding("a", risk=Risk.HIGH, consumer="strict"),
    )
    assert [(c.path, c.risk) for c in told.changes] == [("a", Risk.HIGH), ("b", Risk.INFO)]
    assert told.risk is Risk.HIGH
    assert told.risks == {"default": Risk.INFO, "lax": Risk.INFO, "strict": Risk.HIGH}
    assert told.summary == "a: string -> missing and 1 more change"
    assert (told.count, told.share) == (3, 0.3)
    assert told.coverage == ("rows: 100 of 300 elements seen",)


@pytest.mark.parametrize(
    ("findings", "summary"),
    [
        ([finding()], "a: string -> missing"),
        ([finding(), finding("b")], "a: string -> missing and 1 more change"),
        ([finding(), finding("b"), finding("c")], "a: string -> missing and 2 more changes"),
        ([finding("r[]", "element-shape-new", Risk.INVESTIGATE, after="new element shape")], "r[]: new element shape"),
    ],
)
def test_summaries(findings, summary):
    """One line is what a person reads first."""
    assert event(*findings).summary == summary


def test_the_pattern_is_told_where_there_is_one():
    """Two patterns in one incident have no common name."""
    assert event(finding("a", pattern="renamed"), finding("b")).pattern == "renamed"
    assert event(finding("a", pattern="renamed"), finding("b", pattern="wrapped")).pattern is None


def test_ids_are_stable_and_tell_events_apart():
    """Events are delivered at least once; the id is how a reader counts them once."""
    assert event(finding()).id == event(finding()).id == event_id(0, incident(finding()).id, "open", 1)
    different = [event(finding()), event(finding(), status="resolved"), event(finding("b"))]
    assert len({one.id for one in different}) == 3
    assert all(len(one.id) == 16 and int(one.id, 16) >= 0 for one in different)


def test_events_are_frozen():
    """A sink that changed one would change it for the next."""
    with pytest.raises(AttributeError):
        event(finding()).tool = "other"
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"path": 5}, EventChange)
