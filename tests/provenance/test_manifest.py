from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict

import pytest
from manifests import DOCUMENT, FIELDS, built, naive_classify, recorded

from toolpulse.errors import (
    InputError,
    SchemaMissing,
)
from toolpulse.provenance.environment import classify
from toolpulse.provenance.manifest import manifest_of


def test_the_published_id_is_met():
    """A manifest written by another program has the id it was given there."""
    assert recorded().manifest_id == "f1682b74cdeebdc4"
    assert recorded().to_json()["manifest_id"] == "f1682b74cdeebdc4"
    shuffled = OrderedDict(reversed(list(DOCUMENT.items())))
    assert manifest_of(dict(shuffled)).manifest_id == "f1682b74cdeebdc4"


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_version_is_a_whole_number(version):
    """True equals 1 in Python, and is no version."""
    with pytest.raises(SchemaMissing, match="whole number"):
        manifest_of(DOCUMENT | {"schema": version})


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_missing_field_is_malformed(field):
    """With ``get`` a field that is missing equals one that is null."""
    without = {name: value for name, value in DOCUMENT.items() if name != field}
    assert naive_classify(without, DOCUMENT | {field: None}) == "SAME_ENV", "the naive way"
    with pytest.raises(InputError, match=f"{field} is missing"):
        manifest_of(without)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_requested", None),
        ("model_requested", " "),
        ("model_returned", 7),
        ("model_params", []),
        ("model_params", {"temperature": "warm"}),
        ("model_params", {"max_tokens": 1.5}),
        ("tool_timeout_s", "30"),
        ("tool_timeout_s", True),
        ("tool_timeout_s", -1),
        ("prompts", None),
        ("python", 3.11),
        ("extra", []),
    ],
)
def test_a_field_of_a_wrong_type_is_malformed(field, value):
    """A manifest that cannot be meant is not judged, and the message names the field."""
    with pytest.raises(InputError, match=field.partition("_")[0]):
        manifest_of(DOCUMENT | {field: value})


def test_parameters_are_typed_before_they_are_hashed_and_compared():
    """0 and 0.0 compared equal and had two ids."""
    whole = {"temperature": 0, "max_tokens": 1024}
    raw = [hashlib.sha256(json.dumps(one).encode()).hexdigest() for one in (whole, FIELDS["model_params"])]
    assert whole == FIELDS["model_params"], "the naive way: equal"
    assert raw[0] != raw[1], "the naive way: and two ids"
    assert recorded(model_params=whole).manifest_id == recorded().manifest_id
    assert classify(recorded(), recorded(model_params=whole, tool_timeout_s=30.0)).primary == "SAME_ENV"


def test_an_edited_manifest_is_found():
    """A manifest is evidence; an id that does not fit says that somebody changed it."""
    head = recorded().to_json()
    with pytest.raises(InputError, match="edited"):
        manifest_of(head | {"python": "3.12.0"})
    with pytest.raises(InputError, match="edited"):
        manifest_of(head | {"manifest_id": ["f1682b74cdeebdc4"]})


def test_an_id_of_untyped_parameters_is_no_edit():
    """The published recipe hashes what it is given; its manifests stay readable."""
    fields = FIELDS | {"model_params": {"temperature": 0, "max_tokens": 1024}}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    claimed = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert manifest_of({"schema": 1, "manifest_id": claimed, **fields}) == recorded()


def test_a_field_that_nobody_knows_is_extra():
    """A newer writer's field must not be dropped in silence."""
    comparison = classify(DOCUMENT, DOCUMENT | {"region": "eu"})
    assert comparison.causes[0].names == ("extra.region",)
    with pytest.raises(InputError, match="region"):
        manifest_of(DOCUMENT | {"region": "eu", "extra": {"region": "us"}})


def test_a_manifest_is_built_from_what_lies_there(parts):
    """It must not depend on who builds it, when, and in what order files are listed."""
    before = built(parts)
    for file in parts.rglob("*"):
        os.utime(file, (0, 0))
    (parts / "prompts" / ".DS_Store").write_bytes(b"x")
    (parts / "tools" / "search.json").write_text('{ "parameters":{}, "name":"search" }', "utf-8")
    assert built(parts) == before
    assert before.lockfile == hashlib.sha256(b"httpx==0.28.1\n").hexdigest()
    assert before.model_params == {"temperature": 0.0}
    assert built(parts, tools={"search": {"name": "search", "parameters": {}}}) == before
