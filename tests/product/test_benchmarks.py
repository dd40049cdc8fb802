from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from corpus import shared

import toolpulse
from toolpulse.shape import Walker

ROOT = Path(__file__).resolve().parents[2]
HEADS = {
    "bench_shape": "microseconds a response",
    "bench_decorator": "microseconds a call, and what watching adds",
    "bench_judge": "microseconds to judge a shape not seen before",
    "bench_store": "processes on one store",
    "bench_threads": "kilobytes after 10,000 calls and at the end",
    "bench_worst": "milliseconds of processor time a response, the least of the rounds",
    "bytes_ratio": "bytes of shapes beside bytes of responses",
    "replay": "incidents told of beside alerts of plain rules",
    "traffic": "scenario",
}
RECORDED = {"bytes_ratio", "replay"}
LONG = {"traffic"}


@pytest.fixture
def benchmark_module(monkeypatch):
    """Imports a module of the folder beside the tests, which is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def calls_of(function: Any, *args: Any) -> Counter[str]:
    """How often each function was called, by name, Python's own included. Loops inside C are not seen."""
    seen: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen[frame.f_code.co_name] += 1
        elif event == "c_call":
            seen[argument.__qualname__] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    del seen["setprofile"]
    return seen


@pytest.mark.timeout(600)  # some start many processes, which on a busy machine wait for each other
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in HEADS])
def test_a_quick_run_prints_its_table(name, benchmark_module, capsys):
    """A benchmark that nobody runs rots; what it measures is not looked at here."""
    if name in RECORDED:
        shared("corpus")
    assert benchmark_module(name).main(["--quick"]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    assert any(line.startswith(HEADS[name]) for line in printed)
    assert len(printed) > 5


def test_every_module_that_measures_is_run():
    """A benchmark that is added must be run by the test above and named in the folder's README."""
    paths = (ROOT / "benchmarks").glob("*.py")
    files = {path.stem for path in paths if "def main(" in path.read_text(encoding="utf-8")}
    assert files == HEADS.keys()
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"benchmarks.{name}" in readme for name in files)


def test_payloads_are_the_same_in_each_run_and_share_nothing(benchmark_module):
    """Figures of two runs compare only on equal data, and a shared container or key would flatter the caches."""
    payloads = benchmark_module("payloads")
    again = {name: payload.text for name, payload in payloads.payloads().items()}
    payloads.payloads.cache_clear()
    assert {name: payload.text for name, payload in payloads.payloads().items()} == again
    one, other = payloads.payloads()["54 KB search"].many(2)
    assert one == other
    assert one["results"][0] is not other["results"][0]
    assert 50_000 < payloads.payloads()["54 KB search"].bytes < 60_000


def test_a_missed_target_fails_only_a_check(benchmark_module, capsys):
    """A noisy machine must not fail a run that only wants the table."""
    verdict = benchmark_module("timing").verdict
    assert verdict([("x", 2.0, 1.0)], check=True) == 1
    assert verdict([("x", 2.0, 1.0)], check=False) == 0
    assert verdict([("x", 1.0, 1.0)], check=True) == 0
    assert capsys.readouterr().out.count("MISSED") == 2


def test_a_million_elements_are_touched_as_often_as_a_thousand():
    """Work is bounded by the limits, not by the response."""
    read = []

    class Element:
        pass

    toolpulse.register(Element, lambda element: read.append(1) or {"a": 1})
    touched = []
    for length in (1_000, 1_000_000):
        read.clear()
        toolpulse.shape_of([Element()] * length)
        touched.append(len(read))
    assert touched == [toolpulse.Limits().elements] * 2


def test_a_known_record_costs_no_call_a_field():
    """The plan of a record answers for all its scalars: sixty fields cost as many calls as six."""
    walker = Walker()

    def record(fields: int) -> dict[str, int]:
        return {f"field_{'abcdefgh'[n // 8]}{'abcdefgh'[n % 8]}": n for n in range(fields)}

    for fields in (6, 60):
        walker.observe(record(fields))
    assert calls_of(walker.observe, record(60)) == calls_of(walker.observe, record(6))


def test_known_records_in_an_array_cost_no_call_each_beyond_their_key():
    """A page of a hundred results is the common case: a look-up each, and no visit."""
    walker = Walker()

    def page(records: int) -> list[dict[str, object]]:
        return [{"id": n, "title": "text", "score": 0.5} for n in range(records)]

    walker.observe(page(100))
    few, many = calls_of(walker.observe, page(50)), calls_of(walker.observe, page(100))
    assert few["visit"] == many["visit"] == 1
    # all of it in C: whether the keys are plain text, and whether the types are those of the row before
    assert (many - few).keys() <= {"dict.values", "dict.get", "set.add", "dict.__sizeof__", "all"}


def test_a_second_equal_response_makes_no_plan():
    """A plan that is made anew each time would be slower than none."""
    walker = Walker()

    def response() -> dict[str, object]:
        return {"results": [{"id": 1, "source": {"name": "x"}, "tags": ["a"]}], "total": 1}

    first = calls_of(walker.observe, response())
    plans = dict(walker._plans.known)
    second = calls_of(walker.observe, response())
    assert first["plan"] == 3
    assert second["plan"] == 0
    assert walker._plans.known == plans


def test_a_walk_that_knows_a_record_spends_as_much_of_the_node_budget():
    """What is cut must not depend on what was seen before."""
    nested = [[{"a": 1, "b": 2}] * 3, [{"a": 1, "b": 2}] * 3, [["x"]]]
    for nodes in range(1, 40):
        walker = Walker(toolpulse.Limits(nodes=nodes))
        assert walker.observe(nested) == walker.observe(nested)


def test_the_replay_finds_a_field_that_goes_away(benchmark_module):
    """Zero incidents on recordings mean something only if the same replay tells of a break."""
    replay = benchmark_module("replay")
    sound = [{"id": 1, "score": 0.5} for _ in range(15)]
    done = replay.replay([("sound", sound), ("broken", [*sound, {"id": 1}, {"id": 2}])])
    assert [(alert.tool, alert.call, alert.delay) for alert in done.alerts] == [("broken", 16, 0)]
    assert (done.hash_rule, done.presence_rule) == (1, 1)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/repos/o/tmp-scenario-labels-2017/labels", "/repos/o/*/labels"),
        ("/repos/o/r/commits/" + "0a" * 20 + "/status", "/repos/o/r/commits/*/status"),
        ("/projects/columns/42/cards?page=2", "/projects/columns/*/cards"),
        ("/repos/o/r/git/refs/", "/repos/o/r/git/refs"),
    ],
)
def test_recordings_of_one_endpoint_are_one_series(path, pattern, benchmark_module):
    """Ids in paths would make each recording a tool of its own, which never ends its warm-up."""
    assert benchmark_module("replay").pattern(path) == pattern
