from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Baseline, Consumer, Limits, Monitor, Risk
from toolpulse._base.paths import ROOT
from toolpulse.judgement.diff import Change
from toolpulse.judgement.rules import ALWAYS_STANDS, RATES, RULE_IDS, RULES, TEACHES, classify, worst

DOC = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^### (\S+)\n+(.*?)```\n(.*?)\n----\n(.*?)\n====(.*?)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {match[1]: match.groups()[2:] for match in EXAMPLE.finditer(DOC)}
BY_ID = {rule.id: rule for rule in RULES}


def change(fact, before="integer", after="string", path=("a",), **more):
    """A fact with the usual things in it."""
    return Change(path, fact, before, after, "evidence", **more)


# a fact for every rule, as the diff, the rates or the monitor state it
FACTS = {
    "response-empty": [change("empty", "object", "null", ROOT), change("empty", "non-empty", "empty", ROOT)],
    "container-null": [change("null", "object", "null"), change("null", "array", "null")],
    "container-changed": [change("container", "array", "object"), change("encoding", "native", "json-text", ROOT)],
    "field-removed": [change("missing", "string", "missing")],
    "field-absent-in-some": [change("missing", "string", "missing", partly=True)],
    "field-added": [change("added", "missing", "string")],
    "field-added-in-some": [change("added", "missing", "string", partly=True)],
    "number-widened": [change("kind", "integer", "number"), change("kind", "integer", "number", partly=True)],
    "number-narrowed": [change("kind", "number", "integer")],
    "kind-changed": [change("kind", "integer", "string"), change("kind", "string", "number", partly=True)],
    "null-first-seen": [change("null", "string", "null"), change("null", "object", "null", partly=True)],
    "null-refined": [change("refined", "null", "object")],
    "elements-learned": [change("learned", "missing", "object")],
    "element-shape-new": [change("element", "string", "new element shape", partly=True)],
    "element-kind-changed": [change("element", "string", "object")],
    "emptied": [change("empty", "non-empty", "empty")],
    "field-vanished": [change("vanished", "string", "missing")],
    "value-vanished": [change("valueless", "string", "null")],
    "error-rate": [change("errors", "result", "error", ROOT)],
    "contract": [change("broken", "holds", "name", ROOT)],
    "map-learned": [change("map", "object", "object")],
    "truncation-changed": [change("truncation", "seen in full", "elements")],
}


def test_ids_are_unique():
    """Settings and events name rules by id."""
    assert len(RULE_IDS) == len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)


def test_every_rule_has_a_case():
    """A row that is added needs a fact here that it, and no row before it, fits."""
    assert FACTS.keys() == RULE_IDS, f"no case for {sorted(RULE_IDS ^ FACTS.keys())}"
    for rule, facts in FACTS.items():
        assert [classify(fact).id for fact in facts] == [rule] * len(facts)


def test_every_rule_has_a_line_in_the_document():
    """What is told to users is what the table says, in its order; the order decides."""
    lines = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| ([a-z]+) \|$", DOC, re.MULTILINE)
    table = [line for line in lines if line[0] in RULE_IDS or "-" in line[0]]
    assert table == [(rule.id, rule.says, str(rule.risk)) for rule in RULES]


def test_every_rule_has_an_example_in_the_document():
    """A rule is understood by its example."""
    assert EXAMPLES.keys() == RULE_IDS, f"no example for {sorted(RULE_IDS ^ EXAMPLES.keys())}"


def responses(lines):
    """JSON documents, a line each, or ``n x`` several that are repeated in turn."""
    found = []
    for line in lines.splitlines():
        times, rest = re.fullmatch(r"(?:(\d+) x )?(.*)", line).groups()
        documents, decoder, at = [], json.JSONDecoder(), 0
        while at < len(rest):
            document, at = decoder.raw_decode(rest, at)
            documents.append(document)
            at += len(rest[at:]) - len(rest[at:].lstrip())
        found += documents * int(times or 1)
    return found


class Recorder:
    def __init__(self):
        self.events = []

    def emit(self, event):
        """Take an event."""
        self.events.append(event)


def observed_live(learned, now, consumer, limits):
    """The changes that a monitor tells of, as the document prints them, with their rules."""
    recorder = Recorder()
    with Monitor("memory:", background=False, sinks=[recorder], consumers=[consumer], limits=limits) as monitor:
        for response in [*learned, *now]:
            monitor.observe("tool", response)
    told = [event for event in recorder.events if event.status != "learned"]
    return [(c.rule_id, c.path, c.what, str(c.risk)) for event in told for c in event.changes]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_examples_of_the_document_are_true(rule):
    """Each example is run: with plain lines against a sealed baseline, with counts through a monitor."""
    before, after, settings, expected = EXAMPLES[rule]
    options = eval(f"dict({settings})")
    limits = Limits(**{key: options.pop(key) for key in list(options) if key in Limits.__struct_fields__})
    consumer = Consumer("reader", **options)
    if " x " in before:
        found = observed_live(responses(before), responses(after), consumer, limits)
    else:
        verdict = Baseline.learn(responses(before), limits=limits).check(responses(after), consumer=consumer)
        found = [(f.rule_id, f.path, f.change, str(f.risk)) for f in verdict.findings]
    assert [row[0] for row in found] == [rule]
    assert ["  ".join(row[1:]) for row in found] == expected.splitlines()


def test_the_numeric_table_of_the_document_is_true():
    """The policies are written once more for readers; both must say the same."""
    rows = re.findall(r"^\| `(lenient|strict|exact)`.*? \| (\w+) \| (\w+) \|$", DOC, re.MULTILINE)
    assert len(rows) == 3
    for policy, widened, narrowed in rows:
        reader = Consumer("c", numeric=policy)
        assert Baseline.learn([1]).check([1.5], consumer=reader).risk == widened
        assert Baseline.learn([1.5]).check([1], consumer=reader).risk == narrowed


def test_mirrors():
    """The opposite of a change is a change as well, or there is a reason why it is none."""
    for rule in RULES:
        assert (rule.mirror is None) is (rule.no_mirror is not None), rule.id
        if rule.mirror is not None:
            assert rule.mirror in BY_ID, rule.id
            back = BY_ID[rule.mirror].mirror
            # two rules may share a mirror, which can name only one of them
            assert back == rule.id or BY_ID[back].mirror == rule.mirror, rule.id


def test_a_policy_names_a_setting_of_the_consumer():
    """A rule cannot be decided by a setting that does not exist."""
    assert {rule.policy for rule in RULES} <= {None, *Consumer.__slots__}


def test_the_sets_of_rules_name_rules():
    """A misspelt id in one of them would never match."""
    assert RATES < TEACHES < RULE_IDS
    assert ALWAYS_STANDS < RULE_IDS


class TestRisk:
    def test_worst_first(self):
        """The list of all is worst first; sorted from the greatest, or by rank, any others are too."""
        assert [str(risk) for risk in Risk] == ["high", "availability", "investigate", "info", "quiet"]
        assert sorted(Risk, reverse=True) == sorted(Risk, key=lambda risk: risk.rank) == list(Risk)
        assert [risk for risk in Risk if risk.is_news] == [Risk.HIGH, Risk.AVAILABILITY, Risk.INVESTIGATE]

    @given(st.lists(st.sampled_from(list(Risk))))
    def test_the_worst(self, risks):
        """The worst of nothing is quiet."""
        assert worst(risks) == min([*risks, Risk.QUIET], key=list(Risk).index)

    def test_a_risk_is_its_word(self):
        """It goes into JSON, settings and format strings as text."""
        assert f"{Risk.HIGH}" == "high" == Risk.HIGH
        assert Risk("high") is Risk.HIGH

    def test_the_worse_is_the_greater(self):
        """``if verdict.risk >= Risk.INVESTIGATE`` has to mean what it says."""
        assert Risk.HIGH > Risk.AVAILABILITY > Risk.INVESTIGATE > Risk.INFO > Risk.QUIET
        assert max(Risk) is Risk.HIGH
        assert Risk.HIGH > "info"

    @given(st.sampled_from(list(Risk)), st.sampled_from(list(Risk)))
    def test_every_comparison_is_by_rank(self, one, other):
        """Text compares by letters; a comparison that fell back to that would be wrong for some pairs only."""
        a, b = list(Risk).index(one), list(Risk).index(other)
        assert (one < other, one <= other, one > other, one >= other) == (a > b, a >= b, a < b, a <= b)

    def test_comparing_with_something_else_fails(self):
        """A misspelt risk must not compare as some text."""
        with pytest.raises(ValueError, match="zzz"):
            sorted([Risk.HIGH, "zzz"])
