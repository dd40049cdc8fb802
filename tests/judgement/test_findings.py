from __future__ import annotations

import pytest

from toolpulse import Consumer
from toolpulse._base.paths import ITEMS
from toolpulse.judgement.changes import Change
from toolpulse.judgement.findings import Finding, contract_findings, findings, worst_first
from toolpulse.judgement.rules import Risk

ADDED = Change(("b",), "added", "missing", "string", "", learned_from=10)
KIND = Change(("a", ITEMS, "x.y"), "kind", "integer", "string", "9 of 9 before", learned_from=10, counterpart=("c",))


def test_each_consumer_has_a_finding_of_its_own_and_what_is_quiet_is_none():
    """One change may break one reader, and be nothing to another."""
    readers = Consumer("one"), Consumer("two", risk={"b": "quiet", KIND.where: "info"})
    assert [(f.consumer, f.path, f.risk) for f in findings((ADDED, KIND), readers)] == [
        ("one", 'a[]["x.y"]', Risk.HIGH),
        ("two", 'a[]["x.y"]', Risk.INFO),
        ("one", "b", Risk.INFO),
    ]


def test_a_finding_holds_all_of_its_change_printed():
    """Events, logs and baselines have it from here; paths are printed so that they can be read back."""
    (found,) = findings((KIND,), (Consumer("c"),))
    assert (found.path, found.counterpart) == ('a[]["x.y"]', "c")
    assert (found.before, found.after, found.evidence) == ("integer", "string", "9 of 9 before")


def finding(path="a", rule="kind-changed", risk=Risk.HIGH, after="string", evidence="", consumer="default"):
    """A finding of which little matters."""
    return Finding(path, rule, "integer", after, risk, evidence, consumer=consumer)


def test_the_worst_comes_first_then_the_path():
    """A reader may read no further than the first line."""
    inputs = [finding("b"), finding("a", risk=Risk.INFO), finding("c", risk=Risk.INVESTIGATE), finding("a")]
    assert [(f.path, f.risk) for f in worst_first(inputs)] == [
        ("a", Risk.HIGH),
        ("b", Risk.HIGH),
        ("c", Risk.INVESTIGATE),
        ("a", Risk.INFO),
    ]


@pytest.mark.parametrize(
    "other",
    [finding("b"), finding(rule="other"), finding(after="null"), finding(risk=Risk.INFO), finding(consumer="two")],
    ids=["path", "rule", "after", "risk", "consumer"],
)
def test_evidence_alone_makes_no_other_finding(other):
    """The same break is found in each response, with other counts; anything else makes it another one."""
    assert finding().identity == finding(evidence="412 of 412").identity
    assert finding().identity != other.identity


def test_a_new_element_shape_is_printed_without_what_was_before():
    """There is no one shape before it."""
    assert finding().change == "integer -> string"
    assert finding(rule="element-shape-new", after="new element shape").change == "new element shape"


def test_an_assertion_that_does_not_hold_is_the_finding_of_its_consumer():
    """Two consumers may have assertions of one name, and only one of them may be broken."""
    one = Consumer("one", assertions={"paid": bool, "whole": bool})
    two = Consumer("two", assertions={"paid": bool}, risk={"contract": "info"})
    broken = contract_findings(("one: paid", "two: paid"), (one, two))
    assert [(f.consumer, f.path, f.rule_id, f.after) for f in broken] == [
        ("one", "$", "contract", "paid"),
        ("two", "$", "contract", "paid"),
    ]
    assert broken[0].risk is not Risk.INFO
    assert broken[1].risk is Risk.INFO
    assert [f.consumer for f in contract_findings(("two: paid",), (one, two))] == ["two"]
