from __future__ import annotations

import io
import json
import subprocess
from types import SimpleNamespace

import pytest
from cli_runs import environment, one_line, program, ran
from traces import stamped, write

BLANK = ["", "  "]


@pytest.fixture
def trace(tmp_path):
    """A trace with a generation that names no model, one that names its own, and a tool call."""
    return write(tmp_path / "t.jsonl", stamped(model=None), stamped(), {"kind": "tool", "name": "a"})


def test_the_declared_model_is_written_and_its_source_said(capsys, trace, monkeypatch):
    """The variable is the deployment's own statement; a reader sees that it was not observed."""
    monkeypatch.setenv("AGENT_MODEL_ID", "model-y")
    done = ran(capsys, "stamp", trace)
    spans = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert [span.get("gen_ai.request.model") for span in spans] == ["model-y", "model-x-2025-01", None]
    assert [span.get("fingerprint.model_source") for span in spans] == ["config", "request", None]
    assert done.out.splitlines()[1:] == trace.read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize("blank", BLANK)
def test_without_a_declared_model_nothing_is_written(capsys, trace, monkeypatch, blank):
    """Half a stamped trace would be taken for a whole one; 2 says that it cannot be compared as it is."""
    monkeypatch.delenv("AGENT_MODEL_ID", raising=False)
    for done in (ran(capsys, "stamp", trace), ran(capsys, "stamp", trace, "--model", blank)):
        assert (done.code, done.out) == (2, "")
        assert "no model is declared" in one_line(done.err)
    monkeypatch.setenv("AGENT_MODEL_ID", blank)
    assert ran(capsys, "stamp", trace).code == 2


def test_standard_input_is_stamped(capsys, trace, monkeypatch):
    """It stands in a pipe between the exporter and the file."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(trace.read_bytes())))
    by_pipe = ran(capsys, "stamp", "--model", "m")
    assert by_pipe.code == 0
    assert by_pipe.out == ran(capsys, "stamp", trace, "--model", "m").out


def test_bytes_survive_whatever_the_terminal_is(tmp_path):
    """A trace is evidence: no encoding of standard output may rewrite it."""
    file = tmp_path / "t.jsonl"
    file.write_bytes('{"kind":"tool", "name":"größe 😀"}\r\n\n'.encode())
    done = subprocess.run(
        program("stamp", file, "--model", "m"),
        capture_output=True,
        check=True,
        env=environment(PYTHONIOENCODING="ascii"),
    )
    assert done.stdout == file.read_bytes()


def test_a_broken_line_is_named(capsys, tmp_path):
    """4 and the place, never a traceback."""
    file = tmp_path / "t.jsonl"
    file.write_text('\n{"kind": \n', "utf-8")
    done = ran(capsys, "stamp", file, "--model", "m")
    assert done.code == 4
    assert "t.jsonl: line 2: not JSON" in one_line(done.err)
    assert ran(capsys, "stamp", tmp_path / "absent", "--model", "m").code == 4


def test_wrong_use_is_64(capsys):
    """D11: the parser's own 2 would read as incomparable."""
    done = ran(capsys, "stamp", "--modell", "m")
    assert done.code == 64
    assert "--modell" in one_line(done.err)
