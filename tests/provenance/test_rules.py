from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec

from toolpulse.judgement import rules as risk
from toolpulse.judgement.rules import Risk
from toolpulse.provenance.comparison.difference import Difference, Fact
from toolpulse.provenance.schemas.rules import RULES, classify

DOC = (Path(__file__).resolve().parents[2] / "docs" / "provenance.md").read_text("utf-8")
BY_ID = {rule.id: rule for rule in RULES}

# a fact for every rule, and what it means to callers
CASES = {
    "field-removed": ("missing", {}, Risk.HIGH),
    "field-absent-in-some": ("missing", {"partly": True}, Risk.INFO),
    "field-added": ("added", {}, Risk.HIGH),
    "field-added-in-some": ("added", {"partly": True}, Risk.INFO),
    "kind-changed": ("kind", {"before": "string", "after": "integer"}, Risk.HIGH),
    "number-widened": ("kind", {"before": "integer", "after": "number"}, Risk.INFO),
    "number-narrowed": ("kind", {"before": "number", "after": "integer"}, Risk.HIGH),
    "container-changed": ("container", {}, Risk.HIGH),
    "container-null": ("null", {"before": "object"}, Risk.HIGH),
    "null-first-seen": ("null", {"partly": True}, Risk.INFO),
    "null-refined": ("refined", {}, Risk.HIGH),
    "schema-required": ("required", {}, Risk.HIGH),
    "schema-narrowed": ("narrowed", {}, Risk.HIGH),
    "schema-widened": ("widened", {}, Risk.INFO),
    "schema-changed": ("value", {}, Risk.INVESTIGATE),
    "description-changed": ("text", {}, Risk.INVESTIGATE),
    "tools-reordered": ("order", {}, Risk.INFO),
}


def difference(fact, more):
    """A difference of a fact with the usual things in it."""
    return msgspec.structs.replace(Difference(("a",), fact, "x", "y", ""), **more)


def test_every_rule_has_a_case():
    """What breaks a reader of responses does not break a caller, and the other way round: each row is decided."""
    assert CASES.keys() == BY_ID.keys()
    for rule_id, (fact, more, risk_to_callers) in CASES.items():
        rule = classify(difference(fact, more))
        assert (rule.id, rule.to_callers) == (rule_id, risk_to_callers)


def test_every_fact_has_a_rule():
    """A fact that no row fits would end in an error in front of whoever compares two tools."""
    for fact in get_args(Fact):
        for partly in (False, True):
            assert classify(difference(fact, {"partly": partly})).id in BY_ID


def test_ids_are_unique():
    """Scripts name rules by id."""
    assert len(BY_ID) == len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule_id) for rule_id in BY_ID)


def test_every_rule_has_a_mirror():
    """The opposite of a difference is a difference as well."""
    for rule in RULES:
        assert rule.mirror in BY_ID, rule.id
        back = BY_ID[rule.mirror].mirror
        # two rules may share a mirror, which can name only one of them
        assert back == rule.id or BY_ID[back].mirror == rule.mirror, rule.id


def test_an_output_is_judged_as_a_response_is():
    """A rule that schemas and responses both have means the same to a reader, whichever of them shows it."""
    of_responses = {rule.id: rule.risk for rule in risk.RULES}
    shared = of_responses.keys() & BY_ID.keys()
    assert BY_ID.keys() - shared == {
        "schema-required", "schema-narrowed", "schema-widened", "schema-changed", "description-changed",
        "tools-reordered",
    }  # fmt: skip
    assert {rule_id: BY_ID[rule_id].to_readers for rule_id in shared} == {i: of_responses[i] for i in shared}


def test_the_table_in_the_docs_is_the_rules():
    """What users are told a difference means is what the table says, in every column and in its order."""
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| ([a-z]+) \| ([a-z]+) \|$", DOC, re.MULTILINE)
    assert rows == [(r.id, r.says, str(r.to_callers), str(r.to_readers)) for r in RULES]
