from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Baseline, Consumer, Limits, Monitor, Risk
from toolpulse._base.paths import ROOT
from toolpulse.judgement.changes import Change, Fact
from toolpulse.judgement.rules import (
    ALWAYS_STANDS,
    LEARNED_ANYWAY,
    NUMERIC_RISKS,
    RATES,
    RULE_IDS,
    RULES,
    Rule,
    classify,
    worst,
)

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
    "field-absent-in-some": [change("missing", "string", "missing", in_some=True)],
    "field-added": [change("added", "missing", "string")],
    "field-added-in-some": [change("added", "missing", "string", in_some=True)],
    "number-widened": [change("kind", "integer", "number"), change("kind", "integer", "number", in_some=True)],
    "number-narrowed": [change("kind", "number", "integer")],
    "kind-changed": [change("kind", "integer", "string"), change("kind", "string", "number", in_some=True)],
    "null-first-seen": [change("null", "string", "null"), change("null", "object", "null", in_some=True)],
    "null-refined": [change("refined", "null", "object")],
    "elements-learned": [change("learned", "missing", "object")],
    "element-shape-new": [change("element", "string", "new element shape", in_some=True)],
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


def still_to_do(rules, facts, doc):
    """What the rules of a table lack, a sentence for each that says what to write and where."""
    ids = [rule.id for rule in rules]
    lines = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| ([a-z]+) \|$", doc, re.MULTILINE)
    lines = {line[0]: line for line in lines if line[0] in ids or "-" in line[0]}
    examples = {match[1] for match in EXAMPLE.finditer(doc)}
    for rule in rules:
        line = (rule.id, rule.says, str(rule.risk))
        if rule.id not in facts:
            yield f"{rule.id}: add a fact that it fits, and no row before it, to FACTS in tests/judgement/test_rules.py"
        for fact in facts.get(rule.id, ()):
            named = next((row.id for row in rules if row.when(fact)), None)
            if named != rule.id:
                yield f"{rule.id}: its fact {fact.fact} is named by {named}; move the row up, or narrow its `when`"
        if lines.get(rule.id) != line:
            yield f"{rule.id}: write the line | `{line[0]}` | {line[1]} | {line[2]} | into the table of docs/rules.md"
        if rule.id not in examples:
            yield f"{rule.id}: write an example under ### {rule.id} in docs/rules.md"
        if (rule.mirror is None) is (rule.no_mirror is None):
            yield f"{rule.id}: name the rule of the opposite change (mirror=), or say why there is none (no_mirror=)"
        elif rule.mirror is not None and rule.mirror not in ids:
            yield f"{rule.id}: its mirror {rule.mirror} is no rule"
    yield from (f"{rule}: FACTS of the tests has it, the table has not" for rule in facts if rule not in ids)
    yield from (
        f"{rule}: docs/rules.md has it, the table has not" for rule in lines.keys() | examples if rule not in ids
    )
    if list(lines) != ids and set(lines) == set(ids):
        yield "the table of docs/rules.md has another order than RULES; the order decides"


def test_every_rule_has_its_case_its_lines_and_its_mirror():
    """A row that is added needs a fact, a line and an example for users, and its opposite; each is named here."""
    assert list(still_to_do(RULES, FACTS, DOC)) == []


def test_a_new_row_is_told_what_it_lacks():
    """Whoever adds a rule reads what is left to do, and nothing else."""
    new = Rule("shape-sang", Risk.INFO, lambda change: False, "a field sings")
    said = list(still_to_do((*RULES, new), FACTS, DOC))
    assert [line.partition(":")[0] for line in said] == ["shape-sang"] * 4
    assert [re.search(r"tests/\S+|docs/\S+|mirror=", line)[0] for line in said] == [
        "tests/judgement/test_rules.py",
        "docs/rules.md",
        "docs/rules.md",
        "mirror=",
    ]
    mistaken = change("kind")
    (hidden, *_) = still_to_do((*RULES, new), {**FACTS, "shape-sang": [mistaken]}, DOC)
    assert hidden == "shape-sang: its fact kind is named by kind-changed; move the row up, or narrow its `when`"


def test_every_fact_is_named_by_a_rule():
    """A fact that no row fits would end in an error while a response is judged."""
    stated = {fact.fact for facts in FACTS.values() for fact in facts}
    assert stated == set(get_args(Fact)), "give the fact a row in RULES, and FACTS an entry"
    assert {classify(fact).id for facts in FACTS.values() for fact in facts} == RULE_IDS


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
    """The opposite of an opposite is the rule itself, or one with the same opposite."""
    for rule in RULES:
        if rule.mirror is not None:
            back = BY_ID[rule.mirror].mirror
            # two rules may share a mirror, which can name only one of them
            assert back == rule.id or BY_ID[back].mirror == rule.mirror, rule.id


def test_a_policy_names_a_setting_of_the_consumer():
    """A rule cannot be decided by a setting that does not exist."""
    assert {rule.policy for rule in RULES} <= {None, *Consumer.__slots__}


def test_the_sets_of_rules_name_rules():
    """A misspelt id in one of them would never match."""
    assert RATES < LEARNED_ANYWAY < RULE_IDS
    assert ALWAYS_STANDS < RULE_IDS
    assert {rule for risks in NUMERIC_RISKS.values() for rule in risks} < RULE_IDS


@pytest.mark.parametrize("settings", [{"ignore": ["**"]}, {"requires": ["a"]}, {"opaque": True}])
@pytest.mark.parametrize("rule", ["response-empty", "error-rate"])
def test_the_availability_of_the_whole_response_always_stands(rule, settings):
    """A tool that answers nothing, or fails, concerns whoever ignores its structure too."""
    for fact in FACTS[rule]:
        assert Consumer("reader", **settings).risk_of(fact, BY_ID[rule]) is Risk.AVAILABILITY


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
