from __future__ import annotations

import pytest

from toolpulse import Baseline
from toolpulse.judgement import patterns as patterns_module

HIT = {"id": "d", "score": 0.5, "title": "t"}


def patterns(learned, now):
    """For each finding its path, pattern and counterpart."""
    findings = Baseline.learn([learned] if not isinstance(learned, tuple) else list(learned)).check([now]).findings
    return {f.path: (f.pattern, f.counterpart) for f in findings}


@pytest.mark.parametrize(
    ("learned", "now", "expected"),
    [
        # renamed
        (
            {"request_id": "a", "n": 1},
            {"requestId": "a", "n": 1},
            {"request_id": ("renamed", "requestId"), "requestId": ("renamed", "request_id")},
        ),
        ({"a": [1], "n": 1}, {"b": [2], "n": 1}, {"a": ("renamed", "b"), "b": ("renamed", "a")}),
        ([{"a": "x", "n": 1}], [{"b": "y", "n": 1}], {"[].a": ("renamed", "[].b"), "[].b": ("renamed", "[].a")}),
        ({"a": "x", "n": 1}, {"b": 5, "n": 1}, {"a": (None, None), "b": (None, None)}),
        ({"a": "x", "b": "y", "n": 1}, {"c": "x", "n": 1}, {"a": (None, None), "b": (None, None), "c": (None, None)}),
        ({"a": "x", "n": 1}, {"b": "x", "c": "y", "n": 1}, {"a": (None, None), "b": (None, None), "c": (None, None)}),
        (
            {"user_name": "x", "zip": "1", "n": 1},
            {"userName": "x", "postcode": "1", "n": 1},
            {
                "user_name": ("renamed", "userName"),
                "userName": ("renamed", "user_name"),
                "zip": ("renamed", "postcode"),
                "postcode": ("renamed", "zip"),
            },
        ),
        ({"a": None, "n": 1}, {"b": None, "n": 1}, {"a": (None, None), "b": (None, None)}),
        # wrapped and unwrapped
        (
            HIT,
            {"data": HIT},
            {
                "id": ("wrapped", "data"),
                "score": ("wrapped", "data"),
                "title": ("wrapped", "data"),
                "data": ("wrapped", "data"),
            },
        ),
        (
            HIT,
            {"data": HIT, "ok": True},
            {
                "id": ("wrapped", "data"),
                "score": ("wrapped", "data"),
                "title": ("wrapped", "data"),
                "data": ("wrapped", "data"),
                "ok": (None, None),
            },
        ),
        (
            {"data": HIT},
            HIT,
            {
                "data": ("unwrapped", "data"),
                "id": ("unwrapped", "data"),
                "score": ("unwrapped", "data"),
                "title": ("unwrapped", "data"),
            },
        ),
        ([HIT], {"items": [HIT], "next": None}, {"$": ("wrapped", "items")}),
        ({"r": [HIT]}, {"r": {"nodes": [HIT]}}, {"r": ("wrapped", "r.nodes")}),
        ([HIT], {"items": [HIT], "more": [HIT]}, {"$": (None, None)}),
        ({"items": [HIT], "next": None}, [HIT], {"$": ("unwrapped", "items")}),
        ([HIT], {"other": [1]}, {"$": (None, None)}),
        # collapsed
        ({"items": [HIT, HIT]}, {"items": HIT}, {"items": ("single-element-collapsed", None)}),
        ({"tags": ["a"]}, {"tags": "a"}, {"tags": ("single-element-collapsed", None)}),
        ({"tags": ["a"]}, {"tags": 5}, {"tags": (None, None)}),
        # replaced by an error
        (
            HIT,
            {"error": "x"},
            {
                "id": ("replaced-by-error", "error"),
                "score": ("replaced-by-error", "error"),
                "title": ("replaced-by-error", "error"),
                "error": ("replaced-by-error", "error"),
            },
        ),
        (
            {"data": [1]},
            {"errorMessage": {"code": 1}},
            {"data": ("replaced-by-error", "errorMessage"), "errorMessage": ("replaced-by-error", "errorMessage")},
        ),
        ({"data": [1], "ok": True}, {"error": "x", "ok": False}, {"data": (None, None), "error": (None, None)}),
        ({"data": [1], "ok": True}, {"ok": False}, {"data": (None, None)}),
    ],
)
def test_patterns(learned, now, expected):
    """A pattern is said where one reading stands out, and none where two compete."""
    assert patterns(learned, now) == expected


def test_a_pattern_does_not_change_the_risk():
    """A rename breaks its readers like any removal."""
    findings = Baseline.learn([{"request_id": "a", "n": 1}]).check([{"requestId": "a", "n": 1}]).findings
    assert [(f.path, f.risk, f.pattern) for f in findings] == [
        ("request_id", "high", "renamed"),
        ("requestId", "info", "renamed"),
    ]


def test_fields_renamed_in_some_elements_are_no_rename():
    """Where only some elements differ, two writers are at work."""
    assert {p for p, _ in patterns([{"a": "x", "n": 1}] * 2, [{"a": "x", "n": 1}, {"b": "x", "n": 1}]).values()} == {
        None
    }


def test_all_fields_renamed_at_once_is_explained_in_bounded_work(comparisons):
    """A response may exchange every one of its fields; comparing each with each must not be what it buys."""
    baseline = Baseline.learn([{f"field_{n}_x": "s" for n in range(256)}])
    findings = baseline.check([{f"other{n}": "s" for n in range(256)}]).findings
    assert len(findings) == 512
    assert comparisons.total() < 2_000
    camel = baseline.check([{f"field{n}X": "s" for n in range(256)}]).findings
    assert {f.pattern for f in camel} == {"renamed"}


def test_many_records_renamed_at_once_cost_a_look_each(monkeypatch):
    """Spellings are looked up, not compared with each other: 50 records of 70 fields exchange all of them."""
    calls = 0
    letters = patterns_module._letters

    def counted(path):
        nonlocal calls
        calls += 1
        return letters(path)

    monkeypatch.setattr(patterns_module, "_letters", counted)
    wide = {f"a{i}b": {f"c{j}d": 1 for j in range(70)} for i in range(50)}
    changed = {f"a{i}b": {f"e{j}f": 1 for j in range(70)} for i in range(50)}
    assert len(Baseline.learn([wide]).check([changed]).findings) == 50 * 70 * 2
    assert calls <= 50 * 70 * 2
