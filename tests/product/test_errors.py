from __future__ import annotations

import copy
import pickle

import pytest

from toolpulse import errors
from toolpulse.judgement.findings import Finding
from toolpulse.judgement.rules import Risk


def findings(count):
    """So many findings."""
    return tuple(Finding(f"a{n}", "kind-changed", "integer", "string", Risk.HIGH, "") for n in range(count))


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1, "a0: integer -> string"),
        (3, "a0: integer -> string; a1: integer -> string; a2: integer -> string"),
        (5, "a0: integer -> string; a1: integer -> string; a2: integer -> string and 2 more"),
    ],
)
def test_drift_is_told_in_one_line_of_bounded_length(count, shown):
    """It ends up in a traceback; all of it is in its findings."""
    error = errors.DriftError("app.t", findings(count))
    assert str(error) == f"the response of app.t changed shape: {shown}"
    assert error.findings == findings(count)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"]
)
def test_drift_crosses_processes_whole(duplicate):
    """A pool of workers pickles what a task raised; without help only the message would come back."""
    again = duplicate(errors.DriftError("app.t", findings(2)))
    assert (again.tool, again.findings) == ("app.t", findings(2))
    assert str(again) == str(errors.DriftError("app.t", findings(2)))


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.ConfigurationError, ValueError),
        (errors.InputError, ValueError),
        (errors.DecorationError, TypeError),
        (errors.SchemaMissing, errors.InputError),
        (errors.SchemaUnsupported, errors.InputError),
        (errors.SchemaMismatch, errors.InputError),
        (errors.StoreMissing, errors.StoreError),
        (errors.StoreUnreadable, errors.StoreUnusable),
        (errors.StoreForeign, errors.StoreUnusable),
    ],
)
def test_an_error_is_caught_by_what_it_is(kind, builtin):
    """Users catch ValueError, or everything of ours by its root."""
    assert issubclass(kind, builtin)
    assert issubclass(kind, errors.ToolPulseError)


def test_versions_are_in_the_message():
    """Its reader has to know which program to update."""
    unsupported = errors.SchemaUnsupported("baseline", 7, (2, 1))
    assert str(unsupported) == "schema 7 of the baseline is not supported; this version reads 1, 2"
    assert str(errors.SchemaMismatch("pin", 1, 2)).startswith("schema 1 and schema 2: a pin is compared")


def test_what_becomes_of_those_who_watch_is_said_where_trying_again_is_in_vain():
    """An outage passes, and then nothing was lost; a damaged store does not."""
    assert errors.StoreError.outcome == errors.StoreMissing.outcome == ""
    assert "stays in memory" in errors.StoreForeign.outcome
    assert "that tool" in errors.StoreUnreadable.outcome
