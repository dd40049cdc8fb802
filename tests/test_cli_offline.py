from __future__ import annotations

import gzip
import io
import json
import sys

import pytest
from cli_runs import Ran, one_line, ran, ran_apart, write_lines
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Baseline, Consumer, Limits
from toolpulse.cli._examine import coverage, examine
from toolpulse.cli.inputs import Source
from toolpulse.shape import Truncation

BEFORE = [{"results": [{"id": "a", "score": 0.5, "snippet": "x"}] * (1 + i % 3), "total": 3} for i in range(12)]
AFTER = [{"results": [{"id": "a", "score": "0.5", "summary": "x"}], "total": 3.5}] * 4


@pytest.fixture
def learned(tmp_path, capsys):
    """A folder with before.jsonl, after.jsonl and the baseline of the first."""
    write_lines(tmp_path / "before.jsonl", *BEFORE)
    write_lines(tmp_path / "after.jsonl", *BEFORE[:3], *AFTER)
    assert ran(capsys, "learn", tmp_path / "before.jsonl", "-o", tmp_path / "b.json").code == 0
    return tmp_path


def check(capsys, folder, *flags) -> Ran:
    """Check after.jsonl."""
    return ran(capsys, "check", "--baseline", folder / "b.json", folder / "after.jsonl", *flags)


def checked(capsys, folder, *flags) -> dict:
    """The one object of ``check --json``."""
    code, out, err = check(capsys, folder, "--json", *flags)
    assert code in {0, 1}
    assert err == ""
    return json.loads(one_line(out))


def risks(report: dict) -> dict[str, str]:
    """The risk at each path."""
    return {finding["path"]: finding["risk"] for finding in report["findings"]}


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


def test_coverage_is_one_line_a_place():
    """Thousands of long responses give thousands of truncations; a person needs the worst of each place."""
    cuts = [Truncation("a", "elements", 100, n) for n in (150, 900, 200)] + [Truncation("b", "depth", 0, 0)]
    assert coverage(cuts) == [
        "a: 100 of 900 elements seen (of 3 different cuts the largest)", "b: deeper than the limit",
    ]  # fmt: skip


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


scalars = st.none() | st.booleans() | st.integers(0, 9) | st.floats(0, 1) | st.sampled_from(["x", '{"a": 1}'])
responses = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(responses, min_size=1, max_size=8), st.lists(responses, max_size=12), st.sampled_from(["none", "auto"]))
def test_examining_one_by_one_is_check(taught, asked, unwrap):
    """Knowing where a finding was seen first must not change what is found."""
    consumers = (Consumer("a", numeric="strict"), Consumer("b", null="high"))
    baseline = Baseline.learn(taught, consumers=consumers, limits=Limits(elements=2), unwrap=unwrap)
    report = examine(baseline, ((Source("f", n), one) for n, one in enumerate(asked, 1)))
    assert report.verdict == baseline.check(asked)
    assert report.sightings.keys() == set(report.verdict.findings)
    for finding, seen in report.sightings.items():
        alone = baseline.check([asked[seen.first.line - 1]]).findings
        assert finding.path in {f.path for f in alone}
        assert not any(finding in baseline.check([one]).findings for one in asked[: seen.first.line - 1])
        assert 1 <= seen.responses <= len(asked)


def test_show_draws_the_shape(tmp_path, capsys):
    """Presence, kinds, nulls and empties are what a baseline knows; a person sees each of them."""
    rows = [
        {
            "id": "a",
            "n": 1 if i % 2 else 1.5,
            "tags": [] if i == 0 else ["x"],
            "by": {"u": i},
            "ref": None if i < 2 else "r",
        }
        | ({"opt": True} if i < 7 else {})
        for i in range(8)
    ]
    write_lines(tmp_path / "r.jsonl", *rows)
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    code, out, err = ran(capsys, "show", tmp_path / "b.json")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()[2:] if line}
    assert lines["$"] == "object"
    assert lines["id"] == "always string"
    assert lines["n"] == "always integer 50%, number 50%"
    assert lines["opt"] == "88% boolean"
    assert lines["ref"] == "always string 75%, null 25%"
    assert lines["tags"] == "always array, empty 12%"
    assert lines["[]"] == "string"
    assert out.startswith("8 responses, 5 distinct shapes, 8 paths (1 optional)\n")


def test_show_says_why_a_map_and_what_was_cut(tmp_path, capsys):
    """A map hides its keys, so the figures that made it one have to be told."""
    rows = [
        {"m": {f"k{chr(97 + i)}{chr(97 + j)}": {"v": 1} for j in range(4)}, "l": [0] * (90 + 4 * i)} for i in range(8)
    ]
    baseline = Baseline.learn(rows, maps=["never"], limits=Limits(depth=9))
    (decision,) = baseline.maps_learned
    baseline.save(tmp_path / "b.json")
    code, out, _ = ran(capsys, "show", tmp_path / "b.json")
    assert code == 0
    assert f"m: {decision.why}" in out
    assert "l: not always seen in full" in out
    assert "map: never" in out
    assert "limits.depth: 9" in out
    assert "kaa" not in out


def test_show_json_is_one_object(learned, capsys):
    """For programs, with counts in place of shares."""
    code, out, _ = ran(capsys, "show", learned / "b.json", "--json")
    shown = json.loads(one_line(out))
    assert code == 0
    assert list(shown) == ["schema", "responses", "shapes", "paths", "maps", "truncations", "settings"]
    assert (shown["schema"], shown["responses"], shown["shapes"]) == (1, 12, 1)
    paths = {one["path"]: one for one in shown["paths"]}
    assert paths["results[].score"] == {
        "path": "results[].score", "seen": 12, "always": 12, "in_some": 0, "of": 12, "kinds": {"number": 12},
    }  # fmt: skip


BAD_BASELINES = [
    (b"", "not JSON"),
    (b"[]", "stands where an object should"),
    (b"{}", "schema is missing"),
    (b'{"schema": true}', "schema"),
    (b'{"schema": "1"}', "schema"),
    (b'{"schema": 2}', "schema 2"),
    (b'{"schema": 1}', "not a baseline"),
    (b'{"schema": 1, "x": ', "not JSON"),
    (b"\xff", "not UTF-8"),
    (b"\x1f\x8b\x08", "not UTF-8"),
]


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize(("data", "reason"), BAD_BASELINES)
def test_a_bad_baseline_is_4_and_one_line(learned, capsys, data, reason):
    """Schema is checked in its order before any content, for show as for check."""
    (learned / "b.json").write_bytes(data)
    for argv in (["show", learned / "b.json"], ["check", "--baseline", learned / "b.json", learned / "after.jsonl"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (4, "")
        assert one_line(err).startswith(f"toolpulse: {learned / 'b.json'}: ")
        assert reason in err


def _broken(change) -> bytes:
    stored = json.loads(Baseline.learn(BEFORE).to_json())
    change(stored)
    return json.dumps(stored).encode()


@pytest.mark.attack
@pytest.mark.quick
@pytest.mark.parametrize(
    "change",
    [
        lambda b: b["rows"][0].update(fingerprint="0" * 64),
        lambda b: b["rows"][0].update(count=0),
        lambda b: b["rows"][0].update(count=True),
        lambda b: b["rows"][0].update(shape=7),
        lambda b: b["rows"][0].update(cuts=["a..b"]),
        lambda b: b["limits"].update(depth=0),
        lambda b: b.update(unwrap="maybe"),
        lambda b: b.update(maps=["a["]),
        lambda b: b.update(consumers=[{"name": "x", "numeric": "sloppy"}]),
        lambda b: b.update(consumers=[{"nome": "x"}]),
        lambda b: b.update(consumers=[{"name": "x"}, {"name": "x"}]),
        lambda b: b.update(extra=1),
        lambda b: b["rows"][0].update(shape=json.loads("[" * 400 + "]" * 400), fingerprint="0" * 64),
    ],
)
def test_a_tampered_baseline_is_4(learned, capsys, change):
    """A merge conflict settled by hand must not be judged against as if nothing had happened."""
    (learned / "b.json").write_bytes(_broken(change))
    code, out, err = ran(capsys, "check", "--baseline", learned / "b.json", learned / "after.jsonl")
    assert (code, out) == (4, "")
    assert "b.json: " in one_line(err)


def test_bad_input_is_4_and_one_line(learned, capsys):
    """Each way a file can be bad names the file, and the line where there is one."""
    good = b'{"a": 1}\n'
    cut = gzip.compress(good * 1000)[:-30]
    cases = {
        "missing.jsonl": None,
        "empty.jsonl": b"",
        "blank.jsonl": b"\n \n",
        "middle.jsonl": good + b'{"a": \n' + good,
        "middle.jsonl.gz": gzip.compress(good + b'{"a": \n' + good),
        "cut.jsonl.gz": cut,
        "nan.json": b'{"a": NaN}',
        "binary.json": b"\x00\x01\x02",
        "esc\x1b[31m.json": b"{",
    }
    for name, data in cases.items():
        if data is not None:
            (learned / name).write_bytes(data)
        for argv in (
            ["learn", learned / name, "-o", learned / "x.json"],
            ["check", "--baseline", learned / "b.json", learned / name, "--json"],
        ):
            code, out, err = ran(capsys, *argv)
            assert (code, out) == (4, ""), name
            assert one_line(err).startswith("toolpulse: ")
            if name.startswith("middle"):
                assert f"{name}:2: not JSON" in err
    assert not (learned / "x.json").exists()
    for argv in (["learn", learned, "-o", "x.json"], ["show", learned], ["show", learned / "no.json"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (4, "")
        assert one_line(err)


def test_standard_input(learned, capsys, monkeypatch):
    """``-`` makes it a filter, gzip included."""
    for data in ((learned / "after.jsonl").read_bytes(), gzip.compress((learned / "after.jsonl").read_bytes())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code, out, _ = ran(capsys, "check", "--baseline", learned / "b.json", "-", "--json")
        assert code == 1
        assert json.loads(out)["findings"][0]["file"] == "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert "first <stdin>:4" in ran(capsys, "check", "--baseline", learned / "b.json", "-").out


HOSTILE = [
    "\x1b[31mred",
    "a\nHIGH forged",
    "\u202ereversed",
    "[bold]markup[/bold]",
    ":smile:",
    "\x9b2J",
    "k" * 300,
    "",
    "\ud800",
]


@pytest.mark.attack
@pytest.mark.quick
def test_hostile_keys_are_harmless(tmp_path, capsys):
    """Key names come from a tool: none may steer a terminal, forge a line or be read as markup."""
    for name in ("r", "after"):
        rows = [dict.fromkeys(HOSTILE, "x" if name == "r" else 1)]
        write_lines(tmp_path / f"{name}.jsonl", *rows)
    ran(capsys, "learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json")
    for result in (
        check(capsys, tmp_path),
        check(capsys, tmp_path, "--json"),
        ran(capsys, "show", tmp_path / "b.json"),
        ran(capsys, "show", tmp_path / "b.json", "--json"),
    ):
        assert all(line.isprintable() and line.isascii() for line in result.out.splitlines())
        assert not any(line.startswith("HIGH forged") for line in result.out.splitlines())
        assert "[bold]markup[/bold]" in result.out
        assert ":smile:" in result.out


def test_a_hostile_consumer_name_is_harmless(tmp_path, capsys):
    """A committed baseline comes from a pull request."""
    hostile = [Consumer("x\x1b[2J\ny"), Consumer("y", numeric="strict")]
    Baseline.learn([{"a": 1}] * 3, consumers=hostile).save(tmp_path / "b.json")
    write_lines(tmp_path / "after.jsonl", {"a": "x"})
    for out in (check(capsys, tmp_path).out, ran(capsys, "show", tmp_path / "b.json").out):
        assert all(line.isprintable() for line in out.splitlines())


def test_long_paths_are_not_cut(tmp_path):
    """A path that ends in dots cannot be searched for; a pipe has no width."""
    deep = {"a": 1}
    for _ in range(20):
        deep = {"a_rather_long_field_name": deep}
    write_lines(tmp_path / "r.jsonl", deep)
    write_lines(tmp_path / "after.jsonl", json.loads(json.dumps(deep).replace("1", '"x"')))
    assert ran_apart("learn", tmp_path / "r.jsonl", "-o", tmp_path / "b.json").code == 0
    done = ran_apart("check", "--baseline", tmp_path / "b.json", tmp_path / "after.jsonl", COLUMNS="40")
    assert done.code == 1
    assert ".".join(["a_rather_long_field_name"] * 20) + ".a  integer -> string" in done.out
    assert "\x1b" not in done.out


def test_an_ascii_terminal_gets_escapes_and_no_crash(tmp_path):
    """LANG=C is what cron has."""
    write_lines(tmp_path / "r\u00e9\u4e2d.jsonl", {"a": 1})
    done = ran_apart(
        "learn", tmp_path / "r\u00e9\u4e2d.jsonl", "-o", tmp_path / "\u4e2d.json", PYTHONIOENCODING="ascii"
    )
    assert done.code == 0
    assert "\\u4e2d.json" in done.out
