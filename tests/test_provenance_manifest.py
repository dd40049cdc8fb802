from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import stamped, write

from toolpulse._base.canonical import CanonicalError
from toolpulse.errors import (
    ConfigurationError,
    InputError,
    SchemaMismatch,
    SchemaMissing,
    SchemaUnsupported,
)
from toolpulse.provenance import manifest as manifests
from toolpulse.provenance.configured import manifest_from
from toolpulse.provenance.environment import ADVICE, advice, classify
from toolpulse.provenance.manifest import Manifest, build_manifest, manifest_of
from toolpulse.provenance.readers import load_trace
from toolpulse.provenance.runs import classify_files, classify_runs, group, load_run
from toolpulse.provenance.writer import TraceWriter
from toolpulse.verdicts import Code

# the vector for this format; its id is f1682b74cdeebdc4
FIELDS = {
    "model_requested": "m-alias",
    "model_returned": "m-2025-01",
    "model_params": {"temperature": 0.0, "max_tokens": 1024},
    "tool_timeout_s": 30,
    "tool_schemas": "a" * 64,
    "prompts": "b" * 64,
    "lockfile": "c" * 64,
    "python": "3.11.7",
}
DOCUMENT = {"schema": 1, **FIELDS}


def recorded(**changes):
    """The usual manifest with changes."""
    return manifest_of(DOCUMENT | changes)


def naive_classify(recorded, current):
    """The template's comparison: every key of either side with ``get``, one verdict."""
    keys = {*recorded, *current} - {"schema", "manifest_id"}
    differing = [key for key in keys if recorded.get(key) != current.get(key)]
    if not differing:
        return "SAME_ENV"
    return "MODEL_DRIFT" if any(key.startswith("model") for key in differing) else "ENV_DRIFT"


def naive_directory_hash(folder):
    """The template's digest of a folder: names and contents joined."""
    joined = b"".join(
        file.name.encode() + b"\0" + file.read_bytes() + b"\0" for file in sorted(folder.iterdir()) if file.is_file()
    )
    return hashlib.sha256(joined).hexdigest()


def test_the_published_id_is_met():
    """A manifest written by another program has the id it was given there."""
    assert recorded().manifest_id == "f1682b74cdeebdc4"
    assert recorded().to_json()["manifest_id"] == "f1682b74cdeebdc4"
    shuffled = OrderedDict(reversed(list(DOCUMENT.items())))
    assert manifest_of(dict(shuffled)).manifest_id == "f1682b74cdeebdc4"


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
    ruling = classify(recorded(), recorded(**{field: value}))
    assert (ruling.code, ruling.primary) == (Code.PRECONDITION, verdict)
    assert [(cause.reason, cause.names) for cause in ruling.causes] == [(verdict, (field,))]
    assert ruling.changes[0].where.startswith(field)
    assert advice(verdict).action in ruling.message
    assert advice(verdict).first in ruling.message


@pytest.mark.parametrize("one", VERDICTS)
@pytest.mark.parametrize("other", VERDICTS)
def test_the_first_verdict_leads_and_every_cause_is_told(one, other):
    """D6: with one verdict only, whoever repairs it meets the next cause at the next run."""
    both = {field: VERDICTS[field][0] for field in (one, other)}
    ruling = classify(recorded(), recorded(**both))
    expected = sorted({VERDICTS[field][1] for field in both}, key=PRECEDENCE.index)
    assert [cause.reason for cause in ruling.causes] == expected
    assert ruling.primary == expected[0]
    assert {name for cause in ruling.causes for name in cause.names} == set(both)


def test_the_same_environment_is_the_same_on_a_line_and_alone():
    """D1: the line of a trace has ``span_type``, a manifest of now has not."""
    head = {"span_type": "run_manifest", "manifest_id": "f1682b74cdeebdc4", **DOCUMENT}
    assert naive_classify(head, DOCUMENT) == "ENV_DRIFT", "the naive way"
    ruling = classify(head, DOCUMENT)
    assert (ruling.code, ruling.primary, ruling.causes) == (Code.OK, "SAME_ENV", ())


def test_versions_are_compared_before_anything_else():
    """D2: equal fields of two versions may mean two things."""
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


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_version_is_a_whole_number(version):
    """True equals 1 in Python, and is no version."""
    with pytest.raises(SchemaMissing, match="whole number"):
        manifest_of(DOCUMENT | {"schema": version})


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_missing_field_is_malformed(field):
    """D3: with ``get`` a field that is missing equals one that is null."""
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
    """D4: 0 and 0.0 compared equal and had two ids."""
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


def test_flags_variables_and_row_versions_count():
    """What else decides how an agent answers is compared too, each thing by its name."""
    extra = {"flags": {"rerank": True}, "rows": {"prices": 17}, "variables": {"MODE": "ab"}}
    one, other = recorded(extra=extra), recorded(extra=extra | {"rows": {"prices": 18}})
    ruling = classify(one, other)
    assert [(cause.reason, cause.names) for cause in ruling.causes] == [("ENV_DRIFT", ("extra.rows",))]
    assert ruling.changes[0].where == "extra.rows.prices"
    assert classify(recorded(), one).causes[0].names == ("extra.flags", "extra.rows", "extra.variables")
    assert one.manifest_id != recorded().manifest_id


def test_a_field_that_nobody_knows_is_extra():
    """A newer writer's field must not be dropped in silence."""
    ruling = classify(DOCUMENT, DOCUMENT | {"region": "eu"})
    assert ruling.causes[0].names == ("extra.region",)
    with pytest.raises(InputError, match="region"):
        manifest_of(DOCUMENT | {"region": "eu", "extra": {"region": "us"}})


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


def test_every_verdict_has_its_advice():
    """A verdict without what to do is a riddle."""
    assert [one.verdict for one in ADVICE] == [*PRECEDENCE, "SAME_ENV"]
    assert all(one.first and one.action for one in ADVICE)
    assert set(FIELDS) <= {name for one in ADVICE for name in one.fields}


@pytest.fixture
def parts(tmp_path):
    """A folder with what a run is started with."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "search.json").write_text('{"name": "search", "parameters": {}}', "utf-8")
    (tmp_path / "prompts" / "sub").mkdir(parents=True)
    (tmp_path / "prompts" / "answer.md").write_text("Answer.\n", "utf-8")
    (tmp_path / "prompts" / "sub" / "größe.md").write_text("Groß.\n", "utf-8")
    (tmp_path / "lock").write_bytes(b"httpx==0.28.1\n")
    return tmp_path


def built(parts, **changes):
    """A manifest of the folder, with changes."""
    settings = {
        "model_requested": "m",
        "model_params": {"temperature": 0},
        "tool_timeout_s": 30,
        "tools": parts / "tools",
        "prompts": parts / "prompts",
        "lockfile": parts / "lock",
        "python": "3.11.7",
    }
    return build_manifest(**(settings | changes))


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


@pytest.mark.parametrize(
    ("file", "data", "verdict"),
    [
        ("prompts/answer.md", b"Answer.\r\n", "CODE_DRIFT"),
        ("prompts/sub/new.md", b"", "CODE_DRIFT"),
        ("lock", b"httpx==0.28.2\n", "CODE_DRIFT"),
        ("tools/search.json", b'{"name": "search", "parameters": {"type": "object"}}', "SCHEMA_DRIFT"),
    ],
)
def test_a_change_of_a_file_is_seen(parts, file, data, verdict):
    """Every byte of a prompt counts, line ends included: a model reads them."""
    before = built(parts)
    (parts / file).write_bytes(data)
    assert classify(before, built(parts)).primary == verdict


def test_no_file_can_pass_for_two(parts, tmp_path):
    """D5: with names and contents joined, one file that holds the joint is two files."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (one / "a.txt").write_bytes(b"x\0b.txt\0y")
    (two / "a.txt").write_bytes(b"x")
    (two / "b.txt").write_bytes(b"y")
    assert naive_directory_hash(one) == naive_directory_hash(two), "the naive way"
    assert built(parts, prompts=one).prompts != built(parts, prompts=two).prompts


def test_files_are_read_as_utf_8_everywhere(parts):
    """D6: read with the machine's own encoding, one schema has two digests."""
    schema = {"name": "search", "description": "größe", "parameters": {}}
    data = json.dumps(schema, ensure_ascii=False).encode()
    naive = [hashlib.sha256(data.decode(encoding).encode()).hexdigest() for encoding in ("utf-8", "latin-1")]
    assert naive[0] != naive[1], "the naive way"
    (parts / "tools" / "search.json").write_bytes(data)
    assert built(parts).tool_schemas == built(parts, tools={"search": schema}).tool_schemas
    (parts / "tools" / "search.json").write_bytes(data.decode().encode("latin-1"))
    with pytest.raises(InputError, match=r"search\.json: .*not UTF-8"):
        built(parts)


@pytest.mark.parametrize("part", ["tools", "prompts"])
def test_two_voids_do_not_look_equal(parts, part):
    """A wrong path to a folder gives the same empty digest on both sides."""
    empty = parts / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"(tool schema|file) is there"):
        built(parts, **{part: empty})
    assert built(parts, **{part: empty}, allow_empty=True)
    with pytest.raises(InputError, match="No such file"):
        built(parts, **{part: parts / "absent"})


def test_a_link_is_followed_inside_only(parts):
    """What lies outside of the folder is not part of the run's prompts, and may be a secret."""
    inside = parts / "prompts" / "alias.md"
    inside.symlink_to(parts / "prompts" / "answer.md")
    assert built(parts)
    (parts / "prompts" / "loop").symlink_to(parts / "prompts")
    with pytest.raises(InputError, match="back to where it is"):
        built(parts)
    (parts / "prompts" / "loop").unlink()
    (parts / "prompts" / "lock.md").symlink_to(parts / "lock")
    with pytest.raises(InputError, match="leads out"):
        built(parts)


def test_a_schema_that_is_no_json_is_named(parts):
    """Of many files the broken one has to be found."""
    (parts / "tools" / "broken.json").write_text('{"a": 1, "a": 2}', "utf-8")
    with pytest.raises(CanonicalError, match=r"broken\.json"):
        built(parts)


CONFIG = {
    "model_requested": "m",
    "model_params": {"temperature": 0},
    "tool_timeout_s": 30,
    "tools": "tools",
    "prompts": "prompts",
    "lockfile": "lock",
    "python": "3.11.7",
}


def configured(parts, **changes):
    """The manifest of a configuration, with changes; ... leaves a key out."""
    file = parts / "run.json"
    file.write_text(json.dumps({k: v for k, v in (CONFIG | changes).items() if v is not ...}), "utf-8")
    return manifest_from(file, {"MODE": "s3cret"})


def test_a_configuration_names_the_parts_from_its_own_folder(parts, monkeypatch, tmp_path_factory):
    """A build on another machine starts in another folder."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert configured(parts) == built(parts)


def test_variables_are_kept_as_digests(parts):
    """The value of a variable may be a secret; that it changed is what counts."""
    found = configured(parts, variables=["MODE", "ABSENT"])
    assert found.extra["variables"]["ABSENT"] is None
    assert found.extra["variables"]["MODE"] == hashlib.sha256(b"s3cret").hexdigest()[:16]
    assert "s3cret" not in json.dumps(found.to_json())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"lockfile": ...}, "lockfile: missing"),
        ({"lock": "x"}, "lock: not known"),
        ({"tools": 7}, "tools"),
        ({"tool_timeout_s": True}, "tool_timeout_s"),
        ({"model_params": []}, "model_params"),
        ({"extra": []}, "extra"),
        ({"variables": [7]}, "variables"),
        ({"variables": [], "extra": {"variables": {}}}, "variables"),
    ],
)
def test_a_wrong_configuration_names_file_and_key(parts, changes, named):
    """A key with a typing error must not leave a part out in silence."""
    with pytest.raises(InputError, match=rf"run\.json: .*{named}"):
        configured(parts, **changes)


def test_a_configuration_may_be_toml(parts):
    """People write TOML by hand; both say the same."""
    file = parts / "run.toml"
    file.write_text(
        'model_requested="m"\ntool_timeout_s=30\ntools="tools"\nprompts="prompts"\nlockfile="lock"\npython="3.11.7"\n'
        "[model_params]\ntemperature=0.0\n",
        "utf-8",
    )
    assert manifest_from(file, {}) == built(parts)
    file.write_text("model_requested=", "utf-8")
    with pytest.raises(InputError, match=r"run\.toml: not TOML"):
        manifest_from(file, {})


def spans(file):
    """The lines of a trace."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_every_span_names_the_manifest_of_its_run(tmp_path):
    """A span that is copied out of its trace still says which run it belongs to."""
    file, span = tmp_path / "t.jsonl", stamped()
    with TraceWriter(file, recorded()) as writer:
        writer.write(span)
        writer.write({"kind": "tool", "gen_ai.tool.name": "a"})
        writer.note_returned("m-2025-01", "g1")
    head, *rest = spans(file)
    assert head == {"span_type": "run_manifest", **recorded().to_json()}
    assert all(line["manifest_id"] == "f1682b74cdeebdc4" for line in rest)
    assert "manifest_id" not in span, "what was passed in is not changed"
    trace = load_trace(file)
    assert trace.manifest == recorded()
    assert trace.returned_models == ("m-2025-01",)


def test_a_trace_is_evidence_and_not_written_over(tmp_path):
    """The second run must not destroy what the first one showed."""
    file = tmp_path / "t.jsonl"
    TraceWriter(file, recorded()).close()
    with pytest.raises(FileExistsError):
        TraceWriter(file, recorded())
    TraceWriter(file, recorded(), mode="w").close()
    with pytest.raises(ConfigurationError, match="mode"):
        TraceWriter(file, recorded(), mode="a")


def test_a_span_of_another_run_is_refused(tmp_path):
    """One trace, one run: in a mixed one nothing can be attributed."""
    with TraceWriter(tmp_path / "t.jsonl", recorded()) as writer:
        with pytest.raises(InputError, match="another run"):
            writer.write({"kind": "tool", "manifest_id": "0" * 16})
        with pytest.raises(CanonicalError):
            writer.write({"kind": "tool", "x": float("nan")})
        with pytest.raises(ConfigurationError, match="model"):
            writer.note_returned("  ")
    assert len(spans(tmp_path / "t.jsonl")) == 1


def run_file(tmp_path, name, models=(), **changes):
    """Write the trace of a run whose calls returned these models."""
    file = tmp_path / name
    with TraceWriter(file, recorded(model_returned=None, **changes)) as writer:
        writer.write(stamped())
        for model in models:
            writer.note_returned(model)
    return file


def test_runs_are_classified_by_what_their_calls_returned(tmp_path):
    """The alias moved overnight: nothing in the head of either trace shows it."""
    one, same = run_file(tmp_path, "a.jsonl", ["m-1"]), run_file(tmp_path, "b.jsonl", ["m-1"])
    moved = run_file(tmp_path, "c.jsonl", ["m-1", "m-2"])
    assert load_run(one).manifest == load_run(moved).manifest
    assert classify_files(one, same).primary == "SAME_ENV"
    assert classify_files(one, moved).primary == "MODEL_DRIFT"


def test_failing_runs_are_grouped_by_their_environment(tmp_path):
    """Only in a stable environment is a failure the agent's own."""
    reference = load_run(run_file(tmp_path, "good.jsonl", ["m-1"]))
    failed = [
        load_run(run_file(tmp_path, "1.jsonl", ["m-1"])),
        load_run(run_file(tmp_path, "2.jsonl", ["m-1"], lockfile="d" * 64)),
        load_run(run_file(tmp_path, "3.jsonl", ["m-2"])),
        load_run(run_file(tmp_path, "4.jsonl", ["m-1"])),
    ]
    found = {one.verdict: [file[-7:] for file, _ in one.runs] for one in group(reference, failed)}
    assert found == {"SAME_ENV": ["1.jsonl", "4.jsonl"], "MODEL_DRIFT": ["3.jsonl"], "CODE_DRIFT": ["2.jsonl"]}
    assert next(iter(found)) == "SAME_ENV"
    assert classify_runs(reference, failed[0]).code is Code.OK


@pytest.mark.parametrize(
    "lines",
    [
        [{"kind": "generation"}],
        [{"kind": "tool", "name": "a"}, {"span_type": "run_manifest", **DOCUMENT}],
        [{"span_type": "span", **DOCUMENT}],
        [[]],
        [{"resourceSpans": []}],
    ],
)
def test_a_trace_without_a_manifest_in_front_is_an_error_and_no_verdict(tmp_path, lines):
    """Nothing is known of its environment, not that it was another."""
    file = write(tmp_path / "t.jsonl", *lines)
    with pytest.raises(InputError, match=r"t\.jsonl: no run manifest on the first line"):
        load_run(file)


def test_a_trace_that_mixes_runs_is_refused(tmp_path):
    """Two runs appended to one file would lend each other their environment."""
    head = {"span_type": "run_manifest", **recorded().to_json()}
    mixed = write(tmp_path / "t.jsonl", head, stamped(manifest_id="0" * 16))
    with pytest.raises(InputError, match=r"t\.jsonl:2: .*mixes runs"):
        load_run(mixed)
    headless = write(tmp_path / "v.jsonl", stamped(manifest_id="0" * 16), stamped(), stamped(manifest_id="1" * 16))
    with pytest.raises(InputError, match=r"v\.jsonl:3: .*mixes runs"):
        load_trace(headless)
    twice = write(tmp_path / "u.jsonl", head, head)
    with pytest.raises(InputError, match=r"u\.jsonl:2: .*mixes runs"):
        load_run(twice)


def test_versions_in_files_are_checked_on_both_sides(tmp_path):
    """Missing here, missing there, missing on both, unsupported: four errors that say which file."""
    good = write(tmp_path / "good.json", DOCUMENT)
    none = write(tmp_path / "none.json", FIELDS)
    later = write(tmp_path / "later.json", DOCUMENT | {"schema": 2})
    with pytest.raises(SchemaMissing, match=r"none\.json: .*missing$"):
        classify_files(good, none)
    with pytest.raises(SchemaMissing, match=r"none\.json: .*missing$"):
        classify_files(none, good)
    with pytest.raises(SchemaMissing, match="both sides"):
        classify_files(none, none)
    with pytest.raises(SchemaUnsupported, match=r"later\.json"):
        classify_files(good, later)


def test_a_sampled_run_says_so_and_is_the_same_run(tmp_path):
    """Whether every call was written is about the trace, not about the environment."""
    file = tmp_path / "t.jsonl"
    TraceWriter(file, recorded(), sampled=True).close()
    trace = load_trace(file)
    assert trace.sampled
    assert isinstance(trace.manifest, Manifest)
    assert trace.manifest.manifest_id == "f1682b74cdeebdc4"
