from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta

import msgspec
import pytest
from cli_logs import NOW, event, learned, write_log
from cli_runs import environment, one_line, ran, ran_apart

from toolpulse.cli._kit.text import endings, short_names
from toolpulse.events import EventChange, encode
from toolpulse.judgement.rules import Risk


def shown(capsys, path, *flags) -> list[str]:
    """The lines that a good log is shown as."""
    code, out, err = ran(capsys, "log", path, *flags)
    assert (code, err) == (0, "")
    return out.splitlines()


def clock(moment: datetime) -> str:
    """A time as the log shows it."""
    local = moment.astimezone()
    return local.strftime("%H:%M" if local.date() == datetime.now().date() else "%Y-%m-%d %H:%M")


def test_an_event_reads_as_the_design_has_it(tmp_path, capsys):
    """Somebody on call reads this form; it is the product's face."""
    assert shown(capsys, write_log(tmp_path / "d.jsonl", event())) == [
        f"HIGH  search_docs  3 changes  since {clock(NOW)}  17 calls (41%)",
        "  results[].score        number -> string   412 of 412 before",
        "  results[].explanation  missing -> string",
        "  request_id             string -> missing  412 of 412 before; looks renamed to requestId",
    ]


def test_learned_is_one_line(tmp_path, capsys):
    """Word of what was learned is no incident and takes no block."""
    assert shown(capsys, write_log(tmp_path / "d.jsonl", learned(), learned(id="l2", tool="app.fetch"))) == [
        "INFO  search_docs  learned 7 paths (2 optional) from 10 calls",
        "INFO  fetch  learned 7 paths (2 optional) from 10 calls",
    ]


def test_an_incident_is_shown_once_as_it_stood_last(tmp_path, capsys):
    """Its count grows from event to event; the newest says all, and it began when the first one did."""
    began = NOW - timedelta(days=400)
    log = write_log(
        tmp_path / "d.jsonl",
        event(time=began.isoformat()),
        event(id="x", incident="i2", tool="app.other", risk=Risk.INVESTIGATE),
        event(id="e2", status="resolved", count=90, share=0.2),
    )
    heads = [line for line in shown(capsys, log) if line and not line.startswith(" ")]
    assert heads == [
        f"INVESTIGATE  other  3 changes  since {clock(NOW)}  17 calls (41%)",
        f"HIGH  search_docs  3 changes  since {began.astimezone():%Y-%m-%d %H:%M}  90 calls (20%)  resolved",
    ]


def test_consumers_are_named_where_they_differ(tmp_path, capsys):
    """One tool, two readers: who is broken and who is not is the point of having consumers."""
    same = {"billing": Risk.HIGH, "web": Risk.HIGH}
    log = write_log(
        tmp_path / "d.jsonl",
        event(incident="a", risks=same),
        event(incident="b", risks={"billing": Risk.HIGH, "web": Risk.INFO}),
        event(incident="c", risks={"billing": Risk.HIGH}),
    )
    consumers = [line for line in shown(capsys, log) if line.startswith("  for ")]
    assert consumers == ["  for billing: high, web: info", "  for billing: high, web: quiet"]


def test_key_coverage_decision_and_odd_changes_are_shown(tmp_path, capsys):
    """What an event carries beside its changes must not get lost on the way to a person."""
    change = EventChange("a[]", "element-shape-new", "object", "new element shape", Risk.INVESTIGATE, "beside 3 known")
    new = EventChange("requestId", "field-added", "missing", "string", Risk.INFO, "", "renamed", "request_id")
    odd = EventChange("b", "future-rule", "x", "y", Risk.INFO, "", "future-pattern", None)
    log = write_log(
        tmp_path / "d.jsonl",
        event(
            key="kind=a",
            changes=(change, new, odd),
            coverage=("a: 100 of 100,000 elements seen",),
            decision="accept",
            count=1,
        ),
    )
    assert shown(capsys, log) == [
        f"HIGH  search_docs [kind=a]  3 changes  since {clock(NOW)}  1 call (41%)",
        "  a[]        new element shape  beside 3 known",
        "  requestId  missing -> string  looks renamed from request_id",
        "  b          x -> y             future-pattern",
        "  seen in part: a: 100 of 100,000 elements seen",
        "  decision: accept",
    ]


def test_names_are_short_where_unique(tmp_path, capsys):
    """Two tools of one name must stay apart, and the module path of the rest is noise."""
    log = write_log(
        tmp_path / "d.jsonl",
        *(learned(id=str(n), tool=tool) for n, tool in enumerate(["a.x.get", "b.x.get", "a.find", "find.it", "it"])),
    )
    assert [line.split()[1] for line in shown(capsys, log)] == ["a.x.get", "b.x.get", "find", "find.it", "it"]
    assert short_names(["a.b", "a.b.", "."]) == {"a.b": "b", "a.b.": "b.", ".": "."}
    assert endings("a.b") == ["b", "a.b"]


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


def _without(name: str) -> bytes:
    plain = json.loads(encode(event()))
    del plain[name]
    return json.dumps(plain).encode()


def _with(**changed) -> bytes:
    return json.dumps({**json.loads(encode(event())), **changed}).encode()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"schema": 1,', "not JSON"),
        (b"[]", "not a drift event"),
        (b"\xff\xfe", "not UTF-8"),
        (gzip.compress(b"{}", mtime=0), "not UTF-8"),
        (_without("schema"), "schema is missing"),
        (_without("tool"), "not a drift event"),
        (_with(schema=True), "schema must be a whole number"),
        (_with(schema="1"), "schema must be a whole number"),
        (_with(schema=2), "schema 2 "),
        (_with(time="soon"), "time is not as ISO 8601 has it"),
        (_with(time="0001-01-01T00:00:00+23:59"), "time is not as ISO 8601 has it"),
        (_with(risk="red\x1b[31m"), "not a drift event"),
        (_with(count="17"), "not a drift event"),
        (b"NaN", "NaN is not JSON"),
        (b"[" * 500_000, "nested too deeply"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_bad_line_is_reported_after_the_good_ones(tmp_path, capsys, bad, reason, flags):
    """The first bad line ends the reading with 4, and what came before it is not lost."""
    log = write_log(tmp_path / "d.jsonl", learned(), bad, learned(id="after", tool="never"))
    code, out, err = ran(capsys, "log", log, *flags)
    assert code == 4
    assert one_line(err).startswith(f"toolpulse: {log}:2: ")
    assert reason in err
    assert "search_docs" in one_line(out)
    assert "never" not in out


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


def test_extreme_figures_are_shown(tmp_path, capsys):
    """A figure out of range in a log edited by hand must not end in a traceback."""
    extreme = encode(event(count=10**15)).replace(b'"share":0.41', b'"share":1e999')
    log = write_log(tmp_path / "d.jsonl", extreme, event(incident="z", time="0001-01-01T00:00:00+00:00"))
    code, out, err = ran(capsys, "log", log)
    assert (code, err) == (0, "")
    assert "1,000,000,000,000,000 calls" in out
    assert "since 0001-01-01 " in out


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
