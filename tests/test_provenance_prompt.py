from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from contextlib import suppress

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import ConfigurationError, InputError, SchemaMissing, SchemaUnsupported
from toolpulse.provenance import context
from toolpulse.provenance.ledger import Ledger
from toolpulse.provenance.prompt import (
    SpecError,
    prompt_diff,
    release_fingerprint,
    remarks,
    request_fingerprint,
    typed_parameters,
)
from toolpulse.verdicts import Code

SPEC = {
    "model": "model-x-2025-01",
    "system": "Answer only from the supplied evidence.",
    "template": "Evidence: {evidence}\nQuestion: {question}",
    "temperature": 0.0,
    "max_tokens": 300,
    "examples": [],
    "schema": "answer-v1",
}
FULL = "11ea553565b5b03c9f7b98a150a4142c3d4a11f0f46cf4f432908adf23ebbf00"


def naive(spec):
    """How a prompt's version is usually hashed."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("change", "full"),
    [
        ({}, FULL),
        ({"temperature": 0}, FULL),
        ({"temperature": "0"}, FULL),
        ({"temperature": -0.0}, FULL),
        ({"max_tokens": 300.0}, FULL),
        ({"temperature": 0.2}, "24676f5fcab99ea629611e0227e6c2a64496dc8c990fef1bc787dcb1ef51ecf9"),
        ({"system": SPEC["system"] + " "}, "57ed3161cb29246709513c2b0ff9620d875cb1a0f8d9ca0d6a1678dafa4d55a3"),
        ({"model": "model-x-2025-02"}, "258f1af6af2ee70131d4f55e4b7f5fe57db07ce9a629eb490c9fd53e35f17e68"),
    ],
)
def test_published_fingerprints(change, full):
    """These values are published; whoever recorded one finds it again, in any key order."""
    spec = {**SPEC, **change}
    assert release_fingerprint(spec) == full[:12]
    assert release_fingerprint(spec, length=64) == full
    assert release_fingerprint(dict(reversed(spec.items()))) == full[:12]


def test_without_typing_an_integer_zero_is_another_release():
    """The naive hash calls 0 and 0.0 two prompts, though no model can tell them apart."""
    spec = {**SPEC, "temperature": 0}
    assert naive(spec) == "07deb24f37cb" != naive(SPEC)
    assert release_fingerprint(spec, typed=False) == "07deb24f37cb"
    assert release_fingerprint(spec) == release_fingerprint(SPEC)


def test_an_hmac_confirms_no_guess():
    """With a key the digest is another, and the vector is fixed."""
    keyed = release_fingerprint(SPEC, length=64, key="k")
    assert keyed == "646beea99014a992cfa1d586a321e6e70d09dd46692809001e30d230f66a4d55"
    with pytest.raises(ConfigurationError, match="key must not be empty"):
        release_fingerprint(SPEC, key="")


@pytest.mark.parametrize("change", ["trailing\n", "NFC \xe9", "NFD e\u0301", "crlf\r\n", "crlf\n"])
def test_every_character_counts(change):
    """A model sees trailing breaks, composed letters and line ends, so the fingerprint does."""
    others = {"", "trailing", "trailing\n", "NFC \xe9", "NFC e\u0301", "NFD e\u0301", "NFD \xe9", "crlf\r\n", "crlf\n"}
    found = release_fingerprint({**SPEC, "system": change})
    assert all(found != release_fingerprint({**SPEC, "system": other}) for other in others - {change})


def test_absent_and_null_differ():
    """An API that is sent null is not an API that is sent nothing."""
    absent = {name: value for name, value in SPEC.items() if name != "temperature"}
    assert release_fingerprint({**SPEC, "temperature": None}) != release_fingerprint(absent)


@pytest.mark.parametrize("missing", ["model", "system", "template"])
def test_a_spec_without_its_main_parts_is_refused(missing):
    """Two prompts whose text was never captured would share a fingerprint."""
    spec = {name: value for name, value in SPEC.items() if name != missing}
    with pytest.raises(SpecError, match=missing):
        release_fingerprint(spec)
    assert len(release_fingerprint(spec, partial=True)) == 12


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"temperature": math.nan}, CanonicalError, r"\$\.temperature: nan"),
        ({"temperature": True}, SpecError, r"\$\.temperature: a number is needed, not bool"),
        ({"temperature": "hot"}, SpecError, r"\$\.temperature: a number is needed, not str"),
        ({"temperature": 10**400}, SpecError, r"\$\.temperature: not a number"),
        ({"max_tokens": True}, SpecError, r"\$\.max_tokens: a number is needed, not bool"),
        ({"max_tokens": 1.5}, SpecError, r"\$\.max_tokens: not a whole number"),
        ({"seed": "1_0"}, SpecError, r"\$\.seed: a number is needed"),
        ({"n": []}, SpecError, r"\$\.n: a number is needed, not list"),
        ({"extra": {1, 2}}, CanonicalError, r"\$\.extra: set"),
    ],
)
def test_a_bad_parameter_is_named(change, error, message):
    """The message names the field, never what was in it."""
    with pytest.raises(error, match=message) as caught:
        release_fingerprint({**SPEC, **change})
    assert isinstance(caught.value, InputError)
    assert "hot" not in str(caught.value)


def test_parameters_are_typed_and_nothing_else_is():
    """A number in a text field, or below, stays what it is; the input is not changed."""
    given_ = {"temperature": 1, "seed": "7", "top_p": "1e-1", "max_tokens": None, "stop": 1, "deep": {"temperature": 1}}
    found = typed_parameters(given_)
    assert found == {
        "temperature": 1.0, "seed": 7, "top_p": 0.1, "max_tokens": None, "stop": 1, "deep": {"temperature": 1},
    }  # fmt: skip
    assert [type(value) for value in found.values()] == [float, int, float, type(None), int, dict]
    assert given_["temperature"] == 1
    assert type(given_["temperature"]) is int


def test_a_spec_is_an_object():
    """A list of messages is no release."""
    with pytest.raises(SpecError, match="a spec is an object, not list"):
        release_fingerprint([])


def test_a_request_is_the_hash_of_its_text():
    """Of the UTF-8 text itself, not of its JSON string, so that any language's SHA-256 confirms it."""
    questions = ["When is a refund allowed?", "What is the shipping fee?"]
    rendered = [SPEC["template"].format(evidence="doc_1", question=question) for question in questions]
    found = [request_fingerprint(text) for text in rendered]
    assert found == [hashlib.sha256(text.encode()).hexdigest()[:12] for text in rendered]
    assert found[0] != found[1]
    assert request_fingerprint(rendered[0].encode()) == found[0]
    assert request_fingerprint(rendered[0] + "\n") != found[0]
    assert request_fingerprint(rendered[0], key="k", length=64) != request_fingerprint(rendered[0], length=64)
    with pytest.raises(SpecError, match="lone surrogate"):
        request_fingerprint("\ud800")


def test_remarks():
    """What makes a fingerprint less than it looks is said, and refused is nothing."""
    assert remarks({"model": "m-2025-01", "schema": {"type": "object"}}) == ()
    found = remarks({"model": "m-latest", "schema": "v1", "question": "?", "evidence": "", "messages": [], "user": ""})
    assert len(found) == 6
    assert sum("data of one request" in one for one in found) == 4


def test_a_diff_is_told_by_path():
    """Which field moved is the question; its text stays out."""
    found = prompt_diff(SPEC, {**SPEC, "system": "secret", "temperature": 0, "top_p": 1})
    assert [(c.where, c.fact, c.before, c.after) for c in found] == [
        ("system", "value", "string", "string"),
        ("top_p", "added", "missing", "number"),
    ]
    assert "secret" not in repr(found)
    assert prompt_diff(SPEC, {**SPEC, "temperature": 0}) == ()


specs = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["a", "b"]),
        "system": st.sampled_from(["", " "]),
        "template": st.just("{q}"),
    },
    optional={
        "temperature": st.sampled_from([None, 0, 0.0, "0", 0.5, "0.5", 1]),
        "max_tokens": st.sampled_from([1, 1.0, "1", 2]),
        "other": st.sampled_from([1, 1.0, [], {}]),
    },
)


@given(specs, specs)
def test_a_diff_is_empty_exactly_if_the_fingerprints_are_equal(one, other):
    """A changed fingerprint without a reason, or a reason without one, would end the trust in both."""
    digests = [release_fingerprint(spec, length=64) for spec in (one, other)]
    assert (not prompt_diff(one, other)) is (digests[0] == digests[1])


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
    for ruling in (ledger.record("answer", NEXT, label="v1"), ledger.check("answer", NEXT, label="v1")):
        assert (ruling.code, ruling.primary) == (Code.DIFFERENT, "label_reused")
        assert ruling.causes[0].names == ("v1",)
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


# the log lines of a request


def log_line(**fields):
    """What the processor makes of a record."""
    return dict(context.add_fingerprints(None, "info", {"event": "x", **fields}))


def test_every_log_line_of_a_request_carries_both():
    """From a log line one gets to the prompt that was deployed and to the text that was sent, without either's text."""
    rendered = "Evidence: doc\nQuestion: ?"
    with context.request(SPEC, rendered, ids={"evidence": ["doc_812", 7]}, counts={"history": 12}):
        line = log_line()
    assert line == {
        "event": "x",
        "release_fingerprint": FULL[:12],
        "request_fingerprint": request_fingerprint(rendered),
        "evidence_ids": ["doc_812", 7],
        "evidence_count": 2,
        "history_count": 12,
    }
    assert log_line() == {"event": "x"}


def test_it_works_in_structlog():
    """The processor is one line of a configuration."""
    with structlog.testing.capture_logs(processors=[context.add_fingerprints]) as lines:
        logger = structlog.get_logger()
        with context.request("11ea553565b5") as stamp:
            logger.info("before")
            stamp.rendered("text")
            logger.info("after", release_fingerprint="mine")
        logger.info("outside")
    assert [line.get("release_fingerprint") for line in lines] == ["11ea553565b5", "mine", None]
    assert [line.get("request_fingerprint") for line in lines] == [None, request_fingerprint("text"), None]


def test_runtime_data_is_part_of_no_fingerprint():
    """The same prompt with other evidence is the same release."""
    lines = []
    for evidence in (["a"], ["a", "b"]):
        with context.request(SPEC, "text", ids={"evidence": evidence}):
            lines.append(log_line())
    assert lines[0]["evidence_count"] != lines[1]["evidence_count"]
    for name in ("release_fingerprint", "request_fingerprint"):
        assert lines[0][name] == lines[1][name]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": {"evidence": ["x" * 129]}},
        {"ids": {"evidence": ["line\nbreak"]}},
        {"ids": {"evidence": "doc_1"}},
        {"ids": {"evidence": [1.5]}},
        {"counts": {"history": True}},
        {"counts": {"history": -1}},
        {"counts": {"history": "12"}},
    ],
)
def test_text_does_not_pass_as_an_id(wrong):
    """A document put where its id belongs would be on every log line."""
    with pytest.raises(ConfigurationError, match=r"evidence|history"), context.request(SPEC, **wrong):
        pass


def test_requests_at_the_same_time_do_not_mix():
    """An agent serves many at once, in tasks and in threads."""

    async def one(text):
        with context.request(SPEC, text):
            await asyncio.sleep(0)
            inner = await asyncio.create_task(asyncio.to_thread(log_line))
            return inner["request_fingerprint"]

    async def both():
        return await asyncio.gather(one("a"), one("b"))

    assert asyncio.run(both()) == [request_fingerprint("a"), request_fingerprint("b")]
    with context.request(SPEC, "here"):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(context.current_fields()))
        thread.start()
        thread.join()
        assert context.current_fields()["request_fingerprint"] == request_fingerprint("here")
    assert seen == [{}]


def test_an_inner_request_ends_and_an_error_ends_one():
    """A sub-agent has a prompt of its own; after it, and after an exception, the outer one is back."""
    with context.request("1" * 12):
        with suppress(RuntimeError), context.request("2" * 12):
            assert log_line()["release_fingerprint"] == "2" * 12
            raise RuntimeError
        assert log_line()["release_fingerprint"] == "1" * 12
    assert context.current_fields() == {}


def test_a_release_that_is_no_fingerprint_is_refused():
    """A whole prompt passed as text must not be logged on every line."""
    with pytest.raises(ConfigurationError, match="fingerprint"), context.request(SPEC["system"]):
        pass


def test_fields_are_copies():
    """A processor further down that edits a line must not edit the request."""
    with context.request(SPEC) as stamp:
        stamp.fields.clear()
        log_line().clear()
        assert stamp.fields == {"release_fingerprint": FULL[:12]}
