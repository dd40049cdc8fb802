from __future__ import annotations

import gzip
import json
from datetime import timedelta

import pytest
from cli_logs import NOW, clock, event, learned, shown, write_log
from cli_runs import one_line, ran

from toolpulse.cli._kit.text import endings, short_names
from toolpulse.events import encode
from toolpulse.judgement.rules import Risk


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


def test_names_are_short_where_unique(tmp_path, capsys):
    """Two tools of one name must stay apart, and the module path of the rest is noise."""
    log = write_log(
        tmp_path / "d.jsonl",
        *(learned(id=str(n), tool=tool) for n, tool in enumerate(["a.x.get", "b.x.get", "a.find", "find.it", "it"])),
    )
    assert [line.split()[1] for line in shown(capsys, log)] == ["a.x.get", "b.x.get", "find", "find.it", "it"]
    assert short_names(["a.b", "a.b.", "."]) == {"a.b": "b", "a.b.": "b.", ".": "."}
    assert endings("a.b") == ["b", "a.b"]


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
