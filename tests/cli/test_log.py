from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import timedelta

import msgspec
import pytest
from cli_logs import NOW, event, learned, shown, write_log
from cli_runs import environment, ran, ran_apart

from toolpulse.events import EventChange, encode
from toolpulse.judgement.rules import Risk


def test_learned_is_one_line(tmp_path, capsys):
    """Word of what was learned is no incident and takes no block."""
    assert shown(capsys, write_log(tmp_path / "d.jsonl", learned(), learned(id="l2", tool="app.fetch"))) == [
        "INFO  search_docs  learned 7 paths (2 optional) from 10 calls",
        "INFO  fetch  learned 7 paths (2 optional) from 10 calls",
    ]


@pytest.mark.parametrize(
    ("flags", "ids"),
    [
        ([], "abcd"),
        (["--tool", "search_*"], "ab"),
        (["--tool", "app.tools.search_docs"], "ab"),
        (["--tool", "*fetch"], "cd"),
        (["--risk", "high"], "ac"),
        (["--risk", "high,info"], "acd"),
        (["--since", "24h"], "acd"),
        (["--since", "4w"], "abcd"),
        (["--since", (NOW + timedelta(days=1)).isoformat()], ""),
        (["--since", (NOW - timedelta(days=2)).strftime("%Y-%m-%d")], "acd"),
        (["--tool", "search_docs", "--risk", "high", "--since", "30m"], "a"),
    ],
)
def test_filters(tmp_path, capsys, flags, ids):
    """Each filter alone and together, alike for people and programs."""
    log = write_log(
        tmp_path / "d.jsonl",
        event(id="a", incident="a"),
        event(id="b", incident="b", risk=Risk.INVESTIGATE, time=(NOW - timedelta(days=5)).isoformat()),
        event(id="c", incident="c", tool="web.fetch"),
        learned(id="d", tool="web.fetch"),
    )
    lines = shown(capsys, log, "--json", *flags)
    assert "".join(json.loads(line)["id"] for line in lines) == ids
    heads = [line for line in shown(capsys, log, *flags) if line and not line.startswith(" ")]
    assert len(heads) == (len(ids) or 1)
    if not ids:
        assert heads == ["no events"]


def test_json_prints_the_lines_as_they_are(tmp_path, capsys):
    """A program gets what was written, every event of it, and nothing that steers a terminal on the way."""
    first, second = encode(event()), encode(event(id="e2", tool="caf\u00e9\x7f\u202e\U0001f600", count=18))
    log = write_log(tmp_path / "d.jsonl", first, b"", second.replace(b',"tool"', b',\r\t "tool"'))
    lines = shown(capsys, log, "--json")
    assert lines[0].encode() == first
    assert [json.loads(line) for line in lines] == [json.loads(first), json.loads(second)]
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_an_empty_log_is_no_fault(tmp_path, capsys):
    """A log without events says so; in JSON there is nothing to say."""
    (tmp_path / "d.jsonl").write_bytes(b"")
    assert shown(capsys, tmp_path / "d.jsonl") == ["no events"]
    assert shown(capsys, tmp_path / "d.jsonl", "--json") == []


def test_the_default_is_drift_jsonl_here(tmp_path, capsys, monkeypatch):
    """`toolpulse log` alone, where the sink wrote by default."""
    monkeypatch.chdir(tmp_path)
    assert ran(capsys, "log") == (4, "", "toolpulse: drift.jsonl: No such file or directory\n")
    write_log(tmp_path / "drift.jsonl", learned())
    assert ran(capsys, "log").code == 0


def test_a_log_from_standard_input(capsys, monkeypatch):
    """A rotated log is read with zcat."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(encode(learned()))))
    assert ran(capsys, "log", "-").out.startswith("INFO  search_docs")


def test_nothing_is_printed_before_a_bad_first_line(tmp_path, capsys):
    """`no events` about a file that could not be read would be a lie."""
    log = write_log(tmp_path / "d.jsonl", b"{")
    assert ran(capsys, "log", log)[:2] == (4, "")
    assert ran(capsys, "log", tmp_path)[:2] == (4, "")


HOSTILE = "\x1b]0;owned\x07\nHIGH forged\u202e[red]x[/red]:smile:\x9b\ud800"


def test_hostile_events_are_harmless(tmp_path, capsys):
    """Tool names, keys and everything else in a log may come from a server nobody controls."""
    bad = HOSTILE
    change = EventChange(bad, bad, bad, bad, Risk.HIGH, bad, "renamed", bad)
    fields = {
        "tool": f"app.{bad}", "key": bad, "status": bad, "summary": bad, "coverage": (bad,), "decision": bad,
        "incident": bad, "risks": {bad: Risk.HIGH, "b": Risk.INFO},
    }  # fmt: skip
    rows = [event(**fields, changes=(change,)), learned(**{**fields, "id": "x", "incident": None})]
    text = [json.dumps(msgspec.to_builtins(row)).encode() for row in rows]
    log = write_log(tmp_path / "d.jsonl", *text)
    for flags in ([], ["--json"]):
        lines = shown(capsys, log, *flags)
        assert len(lines) > 1
        assert all(line.isprintable() for line in lines)
        assert not any(line.startswith("HIGH forged") for line in lines)
        assert any("[red]x[/red]:smile:" in line for line in lines)


@pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_log_into_head(tmp_path, flags):
    """The pipe everybody types, through a real shell."""
    log = write_log(tmp_path / "d.jsonl", *(event(id=str(n), incident=str(n)) for n in range(2000)))
    script = f'"{sys.executable}" -m toolpulse log "{log}" {" ".join(flags)} | head -n 1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment(), check=False)
    first, code = done.stdout.splitlines()
    assert ("search_docs" in first, code, done.stderr) == (True, "0", "")


def test_interrupted_reading_is_130(tmp_path, capsys, monkeypatch):
    """Ctrl-C is no internal error."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("toolpulse.cli.commands.log.lines", interrupted)
    assert ran(capsys, "log", "x") == (130, "", "")


def test_plain_in_a_pipe(tmp_path):
    """No colour and no cut in a pipe, whatever width the environment claims."""
    log = write_log(tmp_path / "d.jsonl", event(tool="x." + "long_name_" * 30))
    done = ran_apart("log", log, COLUMNS="30", TERM="xterm-256color", COLORTERM="truecolor")
    assert done.code == 0
    assert "long_name_" * 30 in done.out.splitlines()[0]
    assert "\x1b" not in done.out
