from __future__ import annotations

import pytest

from toolpulse import Consumer, Risk, shape_of
from toolpulse.evidence.profile import Sightings, fold
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.judge import Judgement, judge, read_text


def profile_of(response, encoding="native"):
    """The profile of one response seen twenty times."""
    return fold([(shape_of(response).shape, Sightings(20, 1, 20), encoding, frozenset())])


def shown(profile, response, encoding):
    """How a profile's tool reads a text: kind and encoding."""
    shape, read_as = read_text(profile, shape_of(response).shape, encoding)
    return shape.kind, read_as


@pytest.mark.parametrize(
    ("known", "response", "encoding", "expected"),
    [
        ("free text", {"a": 1}, "json-text", ("string", "native")),
        ({"a": 1}, {"a": 1}, "json-text", ("object", "json-text")),
        ([{"a": 1}], {"a": 2}, "mcp-text", ("array", "mcp-text")),
        ([{"a": 1}], {"b": 2}, "mcp-text", ("object", "mcp-text")),
        ([{"a": 1}], {"a": 2}, "json-text", ("object", "json-text")),
        ({"a": 1}, [{"a": 2}], "mcp-text", ("object", "mcp-text")),
        ({"a": 1}, [], "mcp-text", ("array", "mcp-text")),
        ([{"a": 1}], [{"a": 2}], "mcp-text", ("array", "mcp-text")),
    ],
    ids=[
        "free text",
        "json",
        "one block of a list",
        "one that does not fit",
        "no block",
        "a list of one",
        "of none",
        "a list",
    ],
)
def test_text_is_read_as_this_tool_s_texts_are(known, response, encoding, expected):
    """Free text may parse by chance, and a tool that gives a block for each hit gives one where there is one."""
    assert shown(profile_of(known), response, encoding) == expected


def judgement(*findings):
    """A judgement of which only the findings matter."""
    return Judgement(shape_of(1).shape, (), findings)


def finding(rule, risk):
    """A finding of which only rule and risk matter."""
    return Finding("a", rule, "integer", "string", risk, "")


@pytest.mark.parametrize(
    ("rule", "risk", "learned"),
    [
        ("kind-changed", Risk.HIGH, False),
        ("kind-changed", Risk.INVESTIGATE, False),
        ("kind-changed", Risk.INFO, True),
        ("field-added-in-some", Risk.INVESTIGATE, True),
        ("error-rate", Risk.AVAILABILITY, True),
        ("contract", Risk.HIGH, False),
    ],
    ids=["high", "investigate", "info", "added in some", "rate", "assertion"],
)
def test_what_is_news_is_not_learned(rule, risk, learned):
    """A break that teaches itself is reported once and then is normal."""
    assert judgement(finding(rule, risk)).is_learned is learned
    assert judgement(finding("number-narrowed", Risk.INFO), finding(rule, risk)).is_learned is learned


def test_what_was_decided_no_longer_keeps_an_observation_out():
    """Only the findings that still stand are asked."""
    high, info = finding("kind-changed", Risk.HIGH), finding("number-narrowed", Risk.INFO)
    both = judgement(high, info)
    assert not both.is_learned
    assert both.is_learned_despite((info,))
    assert not both.is_learned_despite((high,))


def test_the_risk_is_the_worst_and_without_findings_there_is_none():
    """One number for a person who looks at one number."""
    assert judgement(finding("a", Risk.INFO), finding("b", Risk.HIGH)).risk is Risk.HIGH
    assert judgement().risk is Risk.QUIET


def test_without_consumers_the_default_one_judges():
    """And assertions are findings of whoever made them, changes or none."""
    profile = profile_of({"a": 1})
    (found,) = judge(profile, shape_of({"a": "x"}).shape).findings
    assert (found.consumer, found.risk) == ("default", Risk.HIGH)
    reader = Consumer("reader", assertions={"paid": bool})
    broken = judge(profile, shape_of({"a": 1}).shape, (reader,), broken=("reader: paid",))
    assert broken.changes == ()
    assert [(f.consumer, f.rule_id) for f in broken.findings] == [("reader", "contract")]
    assert not broken.is_learned
