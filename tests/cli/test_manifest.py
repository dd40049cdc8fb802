from __future__ import annotations

import json

import pytest
from cli_runs import one_line, ran
from traces import stamped, write

from toolpulse.provenance.environment import advice
from toolpulse.provenance.manifest import manifest_of
from toolpulse.provenance.writer import TraceWriter

FIELDS = {
    "model_requested": "m-alias",
    "model_returned": None,
    "model_params": {"temperature": 0.0},
    "tool_timeout_s": 30,
    "tool_schemas": "a" * 64,
    "prompts": "b" * 64,
    "lockfile": "c" * 64,
    "python": "3.11.7",
}
DOCUMENT = {"schema": 1, **FIELDS}


@pytest.fixture
def trace(tmp_path):
    """Write the trace of a run."""

    def trace(name, *models, **changes):
        file = tmp_path / name
        with TraceWriter(file, manifest_of(DOCUMENT | changes)) as writer:
            writer.write(stamped())
            for model in models or ("m-1",):
                writer.note_returned(model)
        return file

    return trace


@pytest.fixture
def config(tmp_path):
    """A configuration with the parts of a run beside it."""
    for folder in ("tools", "prompts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools" / "search.json").write_text('{"name": "search"}', "utf-8")
    (tmp_path / "prompts" / "a.md").write_text("Answer.", "utf-8")
    (tmp_path / "lock").write_text("httpx==0.28.1\n", "utf-8")
    settings = {name: FIELDS[name] for name in ("model_requested", "model_params", "tool_timeout_s", "python")}
    file = tmp_path / "run.json"
    file.write_text(json.dumps({**settings, "tools": "tools", "prompts": "prompts", "lockfile": "lock"}), "utf-8")
    return file


def test_a_manifest_is_built_and_shown(capsys, config, tmp_path):
    """What is written has its version, and reading it gives the same id."""
    done = ran(capsys, "manifest", "build", "--config", config, "-o", tmp_path / "now.json", "--json")
    plain = json.loads(done.out)
    assert (done.code, plain["schema"]) == (0, 1)
    shown = ran(capsys, "manifest", "show", tmp_path / "now.json")
    assert shown.code == 0
    assert shown.out.startswith(f"manifest {plain['manifest_id']}\n")
    assert json.loads(ran(capsys, "manifest", "show", tmp_path / "now.json", "--json").out) == plain
    written = json.loads((tmp_path / "now.json").read_text("utf-8"))
    assert written == plain | {"kind": "run manifest"}
    assert ran(capsys, "manifest", "classify", tmp_path / "now.json", tmp_path / "now.json").code == 0


def test_a_part_that_is_not_there_is_named(capsys, config, tmp_path):
    """A manifest with a hole would compare equal to another with the same hole."""
    (tmp_path / "lock").unlink()
    done = ran(capsys, "manifest", "build", "--config", config)
    assert (done.code, done.out) == (4, "")
    assert "lock: No such file" in one_line(done.err)


def test_a_place_that_takes_no_file_is_wrong_use(capsys, config, tmp_path):
    """The argument is what has to change."""
    done = ran(capsys, "manifest", "build", "--config", config, "-o", tmp_path / "absent" / "now.json")
    assert done.code == 64
    assert one_line(done.err).startswith("toolpulse: -o ")


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "SAME_ENV"),
        ({"model_params": {"temperature": 0.2}}, "MODEL_DRIFT"),
        ({"tool_schemas": "d" * 64}, "SCHEMA_DRIFT"),
        ({"prompts": "d" * 64}, "CODE_DRIFT"),
        ({"python": "3.12.1"}, "ENV_DRIFT"),
    ],
)
def test_each_verdict_says_what_to_do(capsys, trace, changes, verdict):
    """A word alone sends nobody anywhere; 3 says that the difference of the traces means nothing yet."""
    good, now = trace("good.jsonl"), trace("now.jsonl", **changes)
    done = ran(capsys, "manifest", "classify", good, now)
    assert done.code == (0 if verdict == "SAME_ENV" else 3)
    assert done.out.startswith(f"{verdict}\n")
    assert f"check first: {advice(verdict).first}" in done.out
    assert f"usual action: {advice(verdict).action}" in done.out
    plain = json.loads(ran(capsys, "manifest", "classify", good, now, "--json").out)
    assert (plain["primary"], plain["action"]) == (verdict, advice(verdict).action)
    assert [cause["names"] for cause in plain["causes"]] == ([list(changes)] if changes else [])


def test_values_and_strictness_are_asked_for(capsys, tmp_path):
    """Neither is the default: one tells more, the other demands more."""
    one = write(tmp_path / "one.json", DOCUMENT)
    other = write(tmp_path / "other.json", DOCUMENT | {"python": "3.12.1"})
    assert "3.12.1" not in ran(capsys, "manifest", "classify", one, other).out
    assert '"3.11.7" -> "3.12.1"' in ran(capsys, "manifest", "classify", one, other, "--values").out
    assert ran(capsys, "manifest", "classify", one, one).code == 0
    strict = ran(capsys, "manifest", "classify", one, one, "--strict")
    assert (strict.code, strict.out.split("\n")[0]) == (3, "UNVERIFIED")


def test_the_models_that_answered_are_shown(capsys, trace):
    """More than one in a run means that an alias moved while it ran."""
    shown = ran(capsys, "manifest", "show", trace("t.jsonl", "m-1", "m-2")).out
    assert '["m-1","m-2"]' in shown
    assert "more than one model answered" in shown


def test_failing_runs_with_a_stable_environment_are_found(capsys, trace):
    """Of ten failures those come first that the environment does not explain."""
    good, stable = trace("good.jsonl"), trace("1.jsonl")
    moved, edited = trace("2.jsonl", "m-2"), trace("3.jsonl", prompts="d" * 64)
    done = ran(capsys, "manifest", "group", good, moved, edited, stable)
    assert done.code == 3
    assert [line.split()[0] for line in done.out.splitlines() if not line.startswith(" ")] == [
        "SAME_ENV",
        "MODEL_DRIFT",
        "CODE_DRIFT",
    ]
    assert f"{edited}  CODE_DRIFT: prompts" in done.out
    plain = json.loads(ran(capsys, "manifest", "group", good, moved, stable, "--json").out)
    assert [(one["verdict"], len(one["runs"])) for one in plain["groups"]] == [("SAME_ENV", 1), ("MODEL_DRIFT", 1)]
    assert ran(capsys, "manifest", "group", good, stable).code == 0


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (FIELDS, "schema is missing"),
        (DOCUMENT | {"schema": 2}, "schema 2"),
        ({k: v for k, v in DOCUMENT.items() if k != "python"}, "python is missing"),
        (DOCUMENT | {"manifest_id": "0" * 16}, "edited"),
        ({"kind": "generation"}, "no run manifest on the first line"),
    ],
)
def test_what_cannot_be_judged_is_4(capsys, tmp_path, document, what):
    """A verdict on it would be a guess."""
    good, bad = write(tmp_path / "good.json", DOCUMENT), write(tmp_path / "bad.json", document)
    for argv in (("classify", good, bad), ("classify", bad, good), ("show", bad), ("group", good, bad)):
        done = ran(capsys, "manifest", *argv)
        assert (done.code, done.out) == (4, "")
        assert what in one_line(done.err)
        assert "bad.json" in done.err


def test_wrong_use_is_64(capsys):
    """D11: the parser's own 2 would read as incomparable."""
    for argv in ((), ("compare",), ("show",), ("build",), ("classify", "one")):
        assert ran(capsys, "manifest", *argv).code == 64
