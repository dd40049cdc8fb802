from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifests import DOCUMENT, FIELDS, naive_classify, recorded

from toolpulse.errors import (
    SchemaMismatch,
    SchemaMissing,
    SchemaUnsupported,
)
from toolpulse.provenance import manifest as manifests
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.environment import advice, classify
from toolpulse.provenance.manifest import manifest_of

VERDICTS = {
    "model_requested": ("m-other", "MODEL_DRIFT"),
    "model_returned": ("m-2025-02", "MODEL_DRIFT"),
    "model_params": ({"temperature": 0.2, "max_tokens": 1024}, "MODEL_DRIFT"),
    "tool_schemas": ("d" * 64, "SCHEMA_DRIFT"),
    "prompts": ("d" * 64, "CODE_DRIFT"),
    "lockfile": ("d" * 64, "CODE_DRIFT"),
    "python": ("3.12.1", "ENV_DRIFT"),
    "tool_timeout_s": (31, "ENV_DRIFT"),
}
PRECEDENCE = ["MODEL_DRIFT", "SCHEMA_DRIFT", "CODE_DRIFT", "ENV_DRIFT"]


@pytest.mark.parametrize("field", VERDICTS)
def test_each_field_leads_to_its_verdict(field):
    """The verdict says where to look first, so a field under the wrong one sends people astray."""
    value, verdict = VERDICTS[field]
    comparison = classify(recorded(), recorded(**{field: value}))
    assert (comparison.code, comparison.primary) == (Code.PRECONDITION, verdict)
    assert [(cause.reason, cause.names) for cause in comparison.causes] == [(verdict, (field,))]
    assert comparison.changes[0].where.startswith(field)
    assert advice(verdict).action in comparison.message
    assert advice(verdict).first in comparison.message


@pytest.mark.parametrize("one", VERDICTS)
@pytest.mark.parametrize("other", VERDICTS)
def test_the_first_verdict_leads_and_every_cause_is_told(one, other):
    """With one verdict only, whoever repairs it meets the next cause at the next run."""
    both = {field: VERDICTS[field][0] for field in (one, other)}
    comparison = classify(recorded(), recorded(**both))
    expected = sorted({VERDICTS[field][1] for field in both}, key=PRECEDENCE.index)
    assert [cause.reason for cause in comparison.causes] == expected
    assert comparison.primary == expected[0]
    assert {name for cause in comparison.causes for name in cause.names} == set(both)


def test_the_same_environment_is_the_same_on_a_line_and_alone():
    """The line of a trace has ``span_type``, a manifest of now has not."""
    head = {"span_type": "run_manifest", "manifest_id": "f1682b74cdeebdc4", **DOCUMENT}
    assert naive_classify(head, DOCUMENT) == "ENV_DRIFT", "the naive way"
    comparison = classify(head, DOCUMENT)
    assert (comparison.code, comparison.primary, comparison.causes) == (Code.OK, "SAME_ENV", ())


def test_versions_are_compared_before_anything_else():
    """Equal fields of two versions may mean two things."""
    other = DOCUMENT | {"schema": 2}
    assert naive_classify(DOCUMENT, other) == "SAME_ENV", "the naive way"
    with pytest.raises(SchemaUnsupported) as caught:
        classify(DOCUMENT, other)
    assert caught.value.found == 2


def test_unequal_versions_are_an_error_of_their_own(monkeypatch):
    """Also where both are read: what a field means may have changed between them."""
    monkeypatch.setattr(manifests, "SUPPORTED", (1, 2))
    with pytest.raises(SchemaMismatch) as caught:
        classify(DOCUMENT, DOCUMENT | {"schema": 2})
    assert (caught.value.one, caught.value.other) == (1, 2)


@pytest.mark.parametrize("side", [0, 1])
def test_a_missing_version_is_an_error_of_its_own(side):
    """Without a version nobody knows what the fields mean."""
    sides = [DOCUMENT, DOCUMENT]
    sides[side] = FIELDS
    with pytest.raises(SchemaMissing, match="missing"):
        classify(*sides)


def test_versions_missing_on_both_sides_are_not_equal_versions():
    """Two voids compare equal, and that is the worst of answers."""
    assert naive_classify(FIELDS, FIELDS) == "SAME_ENV", "the naive way"
    with pytest.raises(SchemaMissing, match="both sides"):
        classify(FIELDS, FIELDS)


def test_flags_variables_and_row_versions_count():
    """What else decides how an agent answers is compared too, each thing by its name."""
    extra = {"flags": {"rerank": True}, "rows": {"prices": 17}, "variables": {"MODE": "ab"}}
    one, other = recorded(extra=extra), recorded(extra=extra | {"rows": {"prices": 18}})
    comparison = classify(one, other)
    assert [(cause.reason, cause.names) for cause in comparison.causes] == [("ENV_DRIFT", ("extra.rows",))]
    assert comparison.changes[0].where == "extra.rows.prices"
    assert classify(recorded(), one).causes[0].names == ("extra.flags", "extra.rows", "extra.variables")
    assert one.manifest_id != recorded().manifest_id


def test_a_returned_model_on_one_side_is_drift_and_on_neither_is_unverified():
    """What nobody recorded cannot be the same, and cannot be accused."""
    unknown = recorded(model_returned=None)
    one_side = classify(recorded(), unknown)
    assert (one_side.primary, one_side.unverified) == ("MODEL_DRIFT", ("model_returned",))
    assert one_side.changes[0].evidence == "recorded on one side only"
    neither = classify(unknown, unknown)
    assert (neither.primary, neither.code, neither.unverified) == ("SAME_ENV", Code.OK, ("model_returned",))
    strict = classify(unknown, unknown, strict=True)
    assert (strict.primary, strict.code) == ("UNVERIFIED", Code.PRECONDITION)
    assert classify(recorded(), recorded(), strict=True).primary == "SAME_ENV"


def test_models_that_calls_returned_count():
    """An alias resolves per call; the head of a trace was written before the first one."""
    head = recorded(model_returned=None)
    assert classify(head, head, recorded_models=["a"], current_models=["a"]).primary == "SAME_ENV"
    assert classify(head, head, recorded_models=["a"], current_models=["b"]).primary == "MODEL_DRIFT"
    several = classify(head, head, recorded_models=["a"], current_models=["a", "b"])
    assert several.primary == "MODEL_DRIFT"
    assert "More than one model answered" in several.message


def test_values_are_shown_only_where_they_are_asked_for():
    """Kinds are enough to know where to look."""
    other = recorded(python="3.12.1", model_returned="m-2025-02")
    assert "3.12.1" not in json.dumps(classify(recorded(), other).to_json())
    shown = classify(recorded(), other, values=True).changes
    assert [(change.before, change.after) for change in shown] == [
        ('"3.11.7"', '"3.12.1"'),
        ("m-2025-01", "m-2025-02"),
    ]


fields = st.fixed_dictionaries(
    {
        "model_requested": st.sampled_from(["m", "n"]),
        "model_returned": st.sampled_from([None, "m-1", "m-2"]),
        "model_params": st.dictionaries(st.sampled_from(["seed", "x"]), st.sampled_from([0, 0.0, 1]), max_size=2),
        "tool_timeout_s": st.sampled_from([30, 30.0, 31]),
        "tool_schemas": st.sampled_from(["a", "b"]),
        "prompts": st.sampled_from(["a", "b"]),
        "lockfile": st.sampled_from(["a", "b"]),
        "python": st.sampled_from(["3.11", "3.12"]),
        "extra": st.dictionaries(st.sampled_from("ab"), st.integers(0, 1) | st.none(), max_size=2),
    }
)


@given(fields, fields)
def test_classification_is_symmetric_in_what_differs(one, other):
    """Law: which of two runs is the recorded one changes neither the verdict nor the causes."""
    a, b = manifest_of({"schema": 1, **one}), manifest_of({"schema": 1, **other})
    there, back = classify(a, b), classify(b, a)
    assert (there.primary, there.causes, there.unverified) == (back.primary, back.causes, back.unverified)
    assert {change.path for change in there.changes} == {change.path for change in back.changes}


@given(fields, fields)
def test_the_same_environment_is_the_same_id(one, other):
    """Law: SAME_ENV exactly where the ids are equal."""
    a, b = manifest_of({"schema": 1, **one}), manifest_of({"schema": 1, **other})
    assert (classify(a, b).primary == "SAME_ENV") == (a.manifest_id == b.manifest_id)
