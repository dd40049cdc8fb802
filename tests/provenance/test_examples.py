from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys

import pytest
from cli_runs import environment
from docs_sessions import COMMAND, EXAMPLES, REWRITE, SESSION, session

from toolpulse.provenance.environment.runs import classify_files
from toolpulse.provenance.gate import gate

DOCS = EXAMPLES.parents[1] / "docs" / "provenance.md"
AGENT = runpy.run_path(str(EXAMPLES / "agent.py"))

# what is changed: the gate's code and reason, the names it gives, the verdict on the environment
VERDICTS = {
    "nothing": (0, "comparable", set(), "SAME_ENV"),
    "prompt": (2, "prompt_changed", {"fingerprint.text_hash"}, "CODE_DRIFT"),
    "tool-schema": (2, "tools_changed", {"search_docs"}, "SCHEMA_DRIFT"),
    "model": (2, "model_changed", {"gen_ai.request.model"}, "MODEL_DRIFT"),
    "temperature": (2, "params_changed", {"gen_ai.request.temperature"}, "MODEL_DRIFT"),
    "lock-file": (0, "comparable", set(), "CODE_DRIFT"),
    "alias": (0, "comparable", set(), "MODEL_DRIFT"),
}


@pytest.fixture
def good(tmp_path):
    """The trace of the run that everything is compared with."""
    AGENT["run"](tmp_path / "good.jsonl")
    return tmp_path / "good.jsonl"


def test_every_change_has_its_verdicts():
    """A change that the example can make and nobody asserts proves nothing."""
    assert VERDICTS.keys() == AGENT["CHANGES"].keys()


@pytest.mark.parametrize("change", VERDICTS)
def test_one_change_has_one_cause(good, change):
    """One thing changed, and both commands say which: no more and nothing else."""
    code, reason, names, verdict = VERDICTS[change]
    other = good.with_name("other.jsonl")
    AGENT["run"](other, change)
    comparison = gate(good, other)
    assert (comparison.code, comparison.primary, comparison.unverified) == (code, reason, ())
    assert {name for cause in comparison.causes for name in cause.names} == names
    assert {cause.reason for cause in comparison.causes} == ({reason} if code else set())
    attributed = classify_files(good, other)
    assert attributed.primary == verdict
    assert [cause.reason for cause in attributed.causes] == ([] if verdict == "SAME_ENV" else [verdict])


@pytest.mark.parametrize("name", ["good", *VERDICTS])
def test_the_traces_beside_the_example_are_its_own(tmp_path, name):
    """The docs show them; the example that no longer writes them would make the docs a story."""
    file = tmp_path / "trace.jsonl"
    AGENT["run"](file, "nothing" if name == "good" else name)
    assert file.read_bytes() == (EXAMPLES / "traces" / f"{name}.jsonl").read_bytes()


def test_the_example_runs_as_a_program(tmp_path):
    """It is started by hand, in any folder."""
    command = [sys.executable, EXAMPLES / "agent.py", "bad.jsonl", "--change", "prompt"]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True)
    lines = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text("utf-8").splitlines()]
    assert lines[0]["span_type"] == "run_manifest"
    assert {line.get("manifest_id") for line in lines} == {lines[0]["manifest_id"]}


def test_no_trace_holds_what_was_said():
    """Hashes and names: the question and the prompt stand in no line."""
    for file in (EXAMPLES / "traces").iterdir():
        text = file.read_text("utf-8")
        assert AGENT["QUESTION"] not in text
        assert "supplied evidence" not in text


@pytest.fixture
def again(tmp_path, monkeypatch, capsys) -> str:
    """The page with every session run again, in a folder with the example's files."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    for name in ("NO_COLOR", "FORCE_COLOR", "TOOLPULSE_DEBUG", "AGENT_MODEL_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return SESSION.sub(
        lambda match: match[1] + session(COMMAND.findall(match[2]), capsys) + match[3], DOCS.read_text("utf-8")
    )


def test_the_sessions_of_the_page_are_what_the_program_prints(again):
    """Run with TOOLPULSE_REWRITE_DOCS=1 to write them anew."""
    if os.environ.get(REWRITE):
        DOCS.write_text(again, "utf-8")
    assert DOCS.read_text("utf-8") == again
    assert "$ toolpulse gate" in again
    assert again.count("$ toolpulse") == sum(match[2].count("$ toolpulse") for match in SESSION.finditer(again))


def test_the_page_names_every_reason_and_verdict():
    """A word that a command prints is looked up there."""
    from toolpulse.provenance.environment import ADVICE
    from toolpulse.provenance.gate import REASONS

    text = DOCS.read_text("utf-8")
    for word in (*REASONS, *(one.verdict for one in ADVICE)):
        assert f"`{word}`" in text, word
