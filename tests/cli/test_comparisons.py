from __future__ import annotations

import json

import pytest

from toolpulse.cli._views.comparisons import cause_lines, print_comparison
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.result import Cause, Comparison

CHANGE = Difference(("a\x1b",), "value", "1", "2", "the values differ")
JUDGED = Finding("search.q", "kind-changed", "integer", "string", Risk.HIGH, "a type")


def comparison(primary="removed", causes=(), changes=(), unverified=()):
    """A comparison of which little matters."""
    return Comparison(Code.DIFFERENT, primary, tuple(causes), tuple(changes), tuple(unverified), "a message")


def test_one_object_has_the_code_that_the_command_ends_with(capsys):
    """A script reads one of the two and must not be told otherwise by the other."""
    assert print_comparison(comparison(), as_json=True, code=3) == 3
    assert json.loads(capsys.readouterr().out)["code"] == 3
    assert print_comparison(comparison(), as_json=True) == 1


@pytest.mark.parametrize(
    ("primary", "word"),
    [("removed", "CHANGED"), ("description", "CHANGED"), ("new", "RECORDED"), ("reused_label", "REUSED LABEL")],
)
def test_the_word_in_front_is_what_it_came_to(capsys, primary, word):
    """The first word is all that is read in a long log."""
    assert print_comparison(comparison(primary), as_json=False) == 1
    assert capsys.readouterr().out == f"{word}  a message\n"


def test_a_judged_change_has_its_risk_and_hostile_names_are_harmless(capsys):
    """Names come from somebody's server, and a terminal acts on what it is sent."""
    print_comparison(comparison(changes=[CHANGE, JUDGED]), as_json=False)
    _, plain, judged = capsys.readouterr().out.splitlines()
    assert "\x1b" not in plain
    assert "1 -> 2" in plain
    assert judged.split()[0] == "high"
    assert judged.endswith("integer -> string  a type")


def lines(*args, **more):
    """The lines on causes, without their styles."""
    return [getattr(line, "plain", line) for line in cause_lines(*args, **more)]


def test_one_reason_at_many_places_is_one_line():
    """A hundred pairs with another prompt are one fact."""
    causes = [Cause("prompt_changed", f"generation {n}", ("prompt.hash",)) for n in range(1, 7)]
    causes.append(Cause("model_changed", "generation 1", ("gen_ai.request.model",)))
    shown = lines("INCOMPARABLE", comparison(causes=causes), ["what to do"], values=False)
    assert shown[0] == "INCOMPARABLE"
    assert len(shown) == 4
    assert shown[1].split()[:2] == ["prompt_changed", "prompt.hash"]
    assert "generation 4" in shown[1]
    assert "generation 5" not in shown[1]
    assert shown[-1] == "  what to do"


def test_values_are_listed_where_they_are_asked_for_and_what_is_unverified_always():
    """A model's name may be a secret; what nobody recorded may not be kept back."""
    both = comparison(changes=[CHANGE, JUDGED], unverified=["temperature", "model"])
    assert lines("X", both, [], values=False) == ["X", "  unverified: temperature, model"]
    shown = lines("X", both, [], values=True)
    assert len(shown) == 3
    assert shown[1].endswith("1 -> 2")
