from __future__ import annotations

import json

import pytest
from prompt_specs import FULL, SPEC

from toolpulse.errors import ConfigurationError, InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.ledger import Ledger

# the ledger

NEXT = {**SPEC, "temperature": 0.2}


def test_a_ledger_knows_what_was_recorded(tmp_path):
    """No record, the same, another one, and back to an earlier one."""
    ledger = Ledger(tmp_path / "prompts")
    assert ledger.check("answer", SPEC).code is Code.PRECONDITION
    assert ledger.check("answer", SPEC).primary == "no_record"
    assert ledger.record("answer", SPEC, label="v1").primary == "first"
    assert ledger.record("answer", SPEC, label="v1").primary == "same"
    assert ledger.check("answer", {**SPEC, "temperature": 0}).code is Code.OK
    changed = ledger.check("answer", NEXT)
    assert (changed.code, changed.primary) == (Code.DIFFERENT, "changed")
    assert changed.causes[0].names == ("temperature",)
    assert [(c.where, c.before, c.after) for c in changed.changes] == [("temperature", "recorded", "number")]
    assert ledger.record("answer", NEXT, label="v2").primary == "new"
    back = ledger.check("answer", SPEC)
    assert [(c.reason, c.names) for c in back.causes] == [("changed", ("temperature",)), ("earlier_release", ("v1",))]


def test_a_reused_label_is_found_and_nothing_is_written(tmp_path):
    """Two prompts under one version make every dashboard by version a lie."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC, label="v1")
    before = (tmp_path / "answer.json").read_bytes()
    for comparison in (ledger.record("answer", NEXT, label="v1"), ledger.check("answer", NEXT, label="v1")):
        assert (comparison.code, comparison.primary) == (Code.DIFFERENT, "label_reused")
        assert comparison.causes[0].names == ("v1",)
    assert (tmp_path / "answer.json").read_bytes() == before


def test_a_label_of_an_older_release_is_reused_too(tmp_path):
    """The label is looked for in all of the history, not in the last entry."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC, label="v1")
    ledger.record("answer", NEXT, label="v2")
    assert ledger.record("answer", {**SPEC, "top_p": 0.5}, label="v1").primary == "label_reused"
    assert ledger.check("answer", NEXT, label="v1").primary == "label_reused"


def test_an_empty_bump_is_found(tmp_path):
    """A new version of what did not change makes people look for an effect."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC, label="v1")
    assert [c.reason for c in ledger.check("answer", SPEC, label="v2").causes] == ["empty_bump"]
    bumped = ledger.record("answer", SPEC, label="v2")
    assert (bumped.code, bumped.primary) == (Code.OK, "empty_bump")
    # the label stays free for the change it was meant for
    assert ledger.record("answer", NEXT, label="v2").primary == "new"


def test_a_first_label_on_a_recorded_release_is_no_bump(tmp_path):
    """Whoever starts to use labels has not bumped one."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC)
    assert ledger.check("answer", SPEC, label="v1").causes == ()
    assert ledger.record("answer", SPEC, label="v1").primary == "same"
    assert ledger.find(FULL) == (("answer", FULL, ("v1",)),)


def test_a_ledger_keeps_no_text_unless_told(tmp_path):
    """It is committed, and prompts may be secrets."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC, label="v1")
    file = tmp_path / "answer.json"
    assert "supplied evidence" not in file.read_text("ascii")
    ledger.record("answer", SPEC, keep_text=True)
    assert "supplied evidence" in file.read_text("ascii")
    (change,) = ledger.check("answer", {**SPEC, "examples": ["x"]}).changes
    assert (change.where, change.before, change.after) == ("examples[]", "missing", "string")


def test_look_ups_are_by_the_full_digest(tmp_path):
    """Twelve digits are for people; a short form finds all that begin with it."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC, label="v1")
    ledger.record("other", SPEC)
    found = (("answer", FULL, ("v1",)), ("other", FULL, ()))
    assert ledger.find(FULL) == ledger.find(FULL[:12]) == found
    assert ledger.find("0" * 64) == ()
    for bad in ("11ea", "g" * 12, FULL + "0"):
        with pytest.raises(ConfigurationError, match="hex digits"):
            ledger.find(bad)


def test_a_keyed_ledger_is_asked_with_its_key(tmp_path):
    """Digests under two keys differ for the same prompt, so a comparison would report a change that is none."""
    Ledger(tmp_path, key="k").record("answer", SPEC)
    assert FULL not in (tmp_path / "answer.json").read_text("ascii")
    assert Ledger(tmp_path, key=b"k").check("answer", SPEC).code is Code.OK
    for other in (Ledger(tmp_path), Ledger(tmp_path, key="l")):
        with pytest.raises(InputError, match="another key"):
            other.check("answer", SPEC)


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", ".a", "a" * 101, "a\n"])
def test_a_name_is_a_file_s(tmp_path, name):
    """A name must not lead out of the folder, nor meet another one on a file system that folds case."""
    with pytest.raises(ConfigurationError, match="name"):
        Ledger(tmp_path).record(name, SPEC)


@pytest.mark.parametrize("label", ["", "a\nb", "x" * 101])
def test_a_label_is_short_text(tmp_path, label):
    """It is printed on one line."""
    with pytest.raises(ConfigurationError, match="label"):
        Ledger(tmp_path).record("answer", SPEC, label=label)


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda plain: plain.pop("schema"), SchemaMissing),
        (lambda plain: plain.update(schema=2), SchemaUnsupported),
        (lambda plain: plain.update(schema=True), SchemaMissing),
        (lambda plain: plain.update(kind="pin"), InputError),
        (lambda plain: plain.update(name="other"), InputError),
        (lambda plain: plain.update(current="0" * 64), InputError),
        (lambda plain: plain.update(releases=[]), InputError),
    ],
)
def test_a_file_that_is_no_ledger_is_refused(tmp_path, edit, error):
    """Schema first, content after; the message names the file."""
    ledger = Ledger(tmp_path)
    ledger.record("answer", SPEC)
    file = tmp_path / "answer.json"
    plain = json.loads(file.read_bytes())
    edit(plain)
    file.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(error, match=r"answer\.json"):
        ledger.check("answer", SPEC)


def test_two_branches_of_a_ledger_merge(tmp_path):
    """Releases are keys of a sorted object: a merge is their union, and a label is looked for in all of it."""
    one, other = Ledger(tmp_path / "one"), Ledger(tmp_path / "other")
    for ledger, spec, label in ((one, SPEC, "v1"), (other, SPEC, "v1"), (one, NEXT, "v2")):
        ledger.record("answer", spec, label=label)
    other.record("answer", {**SPEC, "top_p": 0.5}, label="v2")
    sides = [json.loads((tmp_path / side / "answer.json").read_bytes()) for side in ("one", "other")]
    merged = {**sides[0], "releases": sides[0]["releases"] | sides[1]["releases"]}
    (tmp_path / "one" / "answer.json").write_text(json.dumps(merged), "utf-8")
    assert one.check("answer", NEXT, label="v2").primary == "label_reused"
