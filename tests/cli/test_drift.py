from __future__ import annotations

from cli_logs import NOW, clock, event, shown, write_log
from cli_runs import ran

from toolpulse.events import EventChange, encode
from toolpulse.judgement.rules import Risk


def test_an_event_reads_as_the_design_has_it(tmp_path, capsys):
    """Somebody on call reads this form; it is the product's face."""
    assert shown(capsys, write_log(tmp_path / "d.jsonl", event())) == [
        f"HIGH  search_docs  3 changes  since {clock(NOW)}  17 calls (41%)",
        "  results[].score        number -> string   412 of 412 before",
        "  results[].explanation  missing -> string",
        "  request_id             string -> missing  412 of 412 before; looks renamed to requestId",
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


def test_extreme_figures_are_shown(tmp_path, capsys):
    """A figure out of range in a log edited by hand must not end in a traceback."""
    extreme = encode(event(count=10**15)).replace(b'"share":0.41', b'"share":1e999')
    log = write_log(tmp_path / "d.jsonl", extreme, event(incident="z", time="0001-01-01T00:00:00+00:00"))
    code, out, err = ran(capsys, "log", log)
    assert (code, err) == (0, "")
    assert "1,000,000,000,000,000 calls" in out
    assert "since 0001-01-01 " in out
