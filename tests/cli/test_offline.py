from __future__ import annotations

import json

import pytest
from cli_baselines import BEFORE, check, checked, risks
from cli_runs import one_line, ran, write_lines

from toolpulse import Baseline, Consumer


def test_learn_says_what_it_learned(tmp_path, capsys):
    """Whoever commits a baseline wants to know what is in it without reading it."""
    users = [{f"user_{n}{i:03}": {"name": "x"} for n in range(4)} for i in range(6)]
    rows = [{"users": u, "big": [1] * 150, **({"note": "n"} if i % 2 else {})} for i, u in enumerate(users)]
    write_lines(tmp_path / "r.jsonl", *rows)
    code, out, err = ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    assert (code, err) == (0, "")
    assert "learned from 6 responses (2 distinct shapes)" in out
    assert "6 (1 optional)" in out
    assert "users: its keys look like data" in out
    assert "big: 100 of 150 elements seen" in out
    assert str(tmp_path / "b.json") in out
    assert Baseline.load(tmp_path / "b.json").observations == 6


def test_learn_is_the_library_s_learn(learned):
    """The command holds no logic of its own: its file is the one the library writes."""
    assert (learned / "b.json").read_bytes() == Baseline.learn(BEFORE).to_json()


def test_learn_takes_maps_records_and_unwrap(tmp_path, capsys):
    """Flags reach the baseline, and are stored with it."""
    write_lines(tmp_path / "r.jsonl", *[json.dumps({"m": {"a": 1, "b": 2}, "r": {"2024": 1}})] * 3)
    flags = ["--unwrap", "auto", "--map", "m", "--record", "r"]
    code, out, _ = ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json", *flags)
    assert code == 0
    assert "m: named by --map" in out
    baseline = Baseline.load(tmp_path / "b.json")
    assert (baseline.unwrap, baseline.walker.maps, baseline.walker.records) == ("auto", ("m",), ("r",))


def test_learn_leaves_out_errors_and_says_so(tmp_path, capsys):
    """Results flagged as errors never enter a baseline; silence about it would look like loss."""
    failed = {"content": [{"type": "text", "text": "boom"}], "isError": True}
    good = {"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False}
    write_lines(tmp_path / "r.jsonl", good, failed)
    code, out, _ = ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json", "--unwrap", "auto")
    assert code == 0
    assert "learned from 1 response (1 distinct shape); 1 error left out" in out


@pytest.mark.parametrize("target", ["missing/b.json", "folder"])
def test_learn_that_cannot_write_is_wrong_use(tmp_path, capsys, target):
    """A flag named a place where nothing can be written, and nothing half-written is left behind."""
    write_lines(tmp_path / "r.jsonl", {"a": 1})
    (tmp_path / "folder").mkdir()
    code, out, err = ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / target)
    assert (code, out) == (64, "")
    assert "-o " in one_line(err)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "r.jsonl"]


def test_a_failed_learn_leaves_the_old_baseline(learned, capsys):
    """A bad line must not cost the baseline that was there."""
    old = (learned / "b.json").read_bytes()
    (learned / "bad.jsonl").write_text('{"a": 1}\n{"a": \n')
    assert ran(capsys, "learn", learned / "bad.jsonl", "-o", learned / "b.json").code == 4
    assert (learned / "b.json").read_bytes() == old


def test_check_finds_and_locates(learned, capsys):
    """A finding says what, how often, and where to look first."""
    code, out, err = check(capsys, learned)
    assert (code, err) == (1, "")
    head, *lines = out.splitlines()
    assert head == "HIGH  3 findings  7 responses against a baseline of 12"
    assert [line.split()[:2] for line in lines[:3]] == [
        ["high", "results[].score"], ["high", "results[].snippet"], ["info", "results[].summary"],
    ]  # fmt: skip
    assert "number -> string" in lines[0]
    assert "looks renamed to results[].summary" in lines[1]
    assert all(line.endswith(f"in 57%, first {learned / 'after.jsonl'}:4") for line in lines[:3])
    assert lines[-1] == "  coverage  everything seen"


def test_check_json_is_one_object(learned, capsys):
    """A program reads this: its keys are a promise."""
    report = checked(capsys, learned)
    assert list(report) == ["schema", "verdict", "responses", "errors", "findings", "truncations"]
    assert (report["schema"], report["verdict"], report["responses"], report["errors"]) == (1, "high", 7, 0)
    first = report["findings"][0]
    assert first == {
        "path": "results[].score", "rule_id": "kind-changed", "before": "number", "after": "string", "risk": "high",
        "evidence": first["evidence"], "pattern": None, "counterpart": None, "consumer": "default",
        "responses": 4, "file": str(learned / "after.jsonl"), "line": 4,
    }  # fmt: skip


def test_check_that_fits_is_quiet(learned, capsys):
    """What was learned from fits; that is the whole promise."""
    code, out, err = ran(capsys, "check", "--baseline", learned / "b.json", learned / "before.jsonl")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "QUIET  nothing found  12 responses against a baseline of 12", "  coverage  everything seen",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("high", 1), ("availability", 0), ("info", 1), ("availability, info", 1), ("investigate", 0), ("high,high", 1)],
)
def test_fail_on_is_a_list_and_not_a_threshold(learned, capsys, fail_on, code):
    """Only what is named fails: availability alone must not be failed by high."""
    assert check(capsys, learned, "--fail-on", fail_on).code == code


def test_policy_flags_reach_the_consumer(learned, capsys):
    """Each flag is a setting of Consumer, and nothing else decides."""
    assert "total" not in risks(checked(capsys, learned))
    assert risks(checked(capsys, learned, "--numeric", "strict"))["total"] == "high"
    kept = risks(checked(capsys, learned, "--ignore", "results[].*"))
    assert kept == {}
    required = risks(checked(capsys, learned, "--require", "results[].score", "--numeric", "strict"))
    assert required["results[].score"] == "high"
    assert set(required.values()) - {"high"} == {"info"}
    assert required["total"] == "info"
    both = check(capsys, learned, "--require", "total", "--ignore", "total")
    assert both.code == 64
    assert "ignore and requires both name total" in one_line(both.err)


def test_null_policy(tmp_path, capsys):
    """A first null is what each consumer says it is."""
    write_lines(tmp_path / "r.jsonl", *[{"a": 1}] * 3)
    write_lines(tmp_path / "after.jsonl", {"a": None})
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    for null in ("investigate", "high"):
        assert risks(checked(capsys, tmp_path, "--null", null)) == {"a": null}
    assert risks(checked(capsys, tmp_path, "--null", "quiet")) == {}


def test_consumers_of_the_baseline(tmp_path, capsys):
    """A baseline brings its consumers; one can be picked, flags lie over its settings, an unknown name is wrong use."""
    consumers = [Consumer("billing", numeric="strict", ignore=["skip"]), Consumer("dashboard")]
    Baseline.learn([{"a": 1, "skip": 1}] * 3, consumers=consumers).save(tmp_path / "b.json")
    write_lines(tmp_path / "after.jsonl", {"a": 1.5, "skip": "x"})
    every = checked(capsys, tmp_path)
    assert {(f["consumer"], f["path"]) for f in every["findings"]} == {("billing", "a"), ("dashboard", "skip")}
    assert "billing" in check(capsys, tmp_path).out
    assert risks(checked(capsys, tmp_path, "--consumer", "billing")) == {"a": "high"}
    assert risks(checked(capsys, tmp_path, "--consumer", "billing", "--numeric", "lenient")) == {}
    assert risks(checked(capsys, tmp_path, "--consumer", "billing", "--ignore", "a")) == {}
    wrong = check(capsys, tmp_path, "--consumer", "bil\x1bling")
    assert wrong.code == 64
    assert "(billing, dashboard)" in one_line(wrong.err)


def test_unwrap_overrides_the_baseline_s(tmp_path, capsys):
    """The recording may hold envelopes where the baseline was learned from payloads, or the other way round."""
    write_lines(tmp_path / "plain.jsonl", *[{"a": 1}] * 3)
    write_lines(tmp_path / "after.jsonl", json.dumps({"a": 1}))
    ran(capsys, "learn", tmp_path / "plain.jsonl", "-o", tmp_path / "b.json")
    assert risks(checked(capsys, tmp_path)) == {"$": "high"}
    (found,) = checked(capsys, tmp_path, "--unwrap", "auto")["findings"]
    assert "json-text" in found["after"]


def test_select_takes_the_response_out_of_a_log(tmp_path, capsys):
    """Recordings rarely hold the bare response."""
    write_lines(tmp_path / "calls.jsonl", *[{"tool": "x", "calls": [{"result": {"a": 1}}, {"result": {"a": 2}}]}] * 2)
    code, out, _ = ran(
        capsys, "learn", tmp_path / "calls.jsonl", "-o", tmp_path / "b.json", "--select", "calls[].result"
    )
    assert code == 0
    assert "learned from 4 responses" in out
    wrong = ran(capsys, "learn", tmp_path / "calls.jsonl", "-o", tmp_path / "b.json", "--select", "**.result")
    assert wrong.code == 64
    nothing = ran(capsys, "learn", tmp_path / "calls.jsonl", "-o", tmp_path / "b.json", "--select", "answer")
    assert nothing.code == 4
    assert one_line(nothing.err) == f"toolpulse: {tmp_path / 'calls.jsonl'}:1: nothing at answer"


def test_coverage_is_always_shown(tmp_path, capsys):
    """A verdict over a part of the data must not look like one over all of it."""
    write_lines(tmp_path / "r.jsonl", {"a": [1]})
    (tmp_path / "after.jsonl").write_text(json.dumps({"a": [1] * 100_000}) + "\n" + json.dumps({"a": [1] * 300}))
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    code, out, _ = check(capsys, tmp_path)
    assert code == 0
    assert "  coverage  a: 100 of 100,000 elements seen (of 2 different cuts the largest)" in out
    assert [cut["total"] for cut in checked(capsys, tmp_path)["truncations"]] == [300, 100_000]


def test_errors_are_counted_and_not_compared(tmp_path, capsys):
    """An error result is no drift; but a file of nothing else was not checked at all."""
    failed = {"content": [{"type": "text", "text": "boom"}], "isError": True}
    good = {"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False}
    write_lines(tmp_path / "r.jsonl", good)
    write_lines(tmp_path / "after.jsonl", good, failed)
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json", "--unwrap", "auto")
    code, out, _ = check(capsys, tmp_path)
    assert code == 0
    assert "1 response said to be an error and not compared" in out
    assert checked(capsys, tmp_path)["errors"] == 1
    write_lines(tmp_path / "after.jsonl", failed, failed)
    code, out, err = check(capsys, tmp_path, "--json")
    assert (code, out) == (4, "")
    assert "nothing to check: 2 responses" in one_line(err)
    assert ran(capsys, "learn", tmp_path / "after.jsonl", "-o", tmp_path / "c.json", "--unwrap", "auto").code == 4
