from __future__ import annotations

import pytest

from toolpulse import Baseline, Consumer, Risk
from toolpulse._base.paths import parse_path
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.changes import Change
from toolpulse.judgement.consumer import DEFAULT
from toolpulse.judgement.findings import findings

LEARNED = {"id": 1, "rows": [{"x": 1, "y": {"z": "s"}}], "meta": {"page": 1}, "n": 1}


def found(now, **settings):
    """Path and risk of what a reader with these settings finds."""
    verdict = Baseline.learn([LEARNED]).check([now], consumer=Consumer("reader", **settings))
    return {f.path: str(f.risk) for f in verdict.findings}


def without(*names, **more):
    """The learned response without some fields, and with others."""
    return {name: value for name, value in {**LEARNED, **more}.items() if name not in names}


@pytest.mark.parametrize(
    ("now", "settings", "expected"),
    [
        # ignore: at the path and below, not above
        (without("id"), {"ignore": ["id"]}, {}),
        (without("id", "n"), {"ignore": ["id"]}, {"n": "high"}),
        (without(rows=[{"x": 1, "y": {"z": 1}}]), {"ignore": ["rows[].y"]}, {}),
        (without(rows=[{"x": 1, "y": {"z": 1}}]), {"ignore": ["rows"]}, {}),
        (without("rows"), {"ignore": ["rows[].y"]}, {"rows": "high"}),
        (without(rows=[{"x": 1, "y": {"z": 1}}]), {"ignore": ["**.z"]}, {}),
        (without(rows=[]), {"ignore": ["rows"]}, {}),
        (without("id"), {"ignore": ["**"]}, {}),
        (without("id"), {"ignore": ["$"]}, {"id": "high"}),
        ("text", {"ignore": ["$"]}, {}),
        ({}, {"ignore": ["**"]}, {"$": "availability"}),
        (None, {"ignore": ["**"]}, {"$": "availability"}),
        # requires: at, above or below it the table stands, elsewhere nothing is worse than info
        (without("id", "n"), {"requires": ["id"]}, {"id": "high", "n": "info"}),
        (without("rows", "n"), {"requires": ["rows[].y.z"]}, {"rows": "high", "n": "info"}),
        (without(rows=[{"x": 1, "y": {"z": 1}}]), {"requires": ["rows[].y"]}, {"rows[].y.z": "high"}),
        (without(rows=[{"x": "1", "y": {"z": "s"}}]), {"requires": ["rows[].y"]}, {"rows[].x": "info"}),
        ({}, {"requires": ["id"]}, {"$": "availability"}),
        ("text", {"requires": ["id"]}, {"$": "high"}),
        (without(new=1), {"requires": ["id"]}, {"new": "info"}),
        (without(n=1.5), {"requires": ["id"], "numeric": "strict"}, {"n": "info"}),
        (without(n=1.5), {"requires": ["n"], "numeric": "strict"}, {"n": "high"}),
        (without(n=1.5), {"requires": ["n"]}, {}),
        (without(id=None), {"requires": ["id"], "null": "quiet"}, {"id": "investigate"}),
        (without("id"), {"requires": ["id"], "risk": {"field-removed": "info"}}, {"id": "high"}),
        # risk: a path goes before a rule
        (without("id", "n"), {"risk": {"field-removed": "info"}}, {"id": "info", "n": "info"}),
        (
            without("id", "n"),
            {"risk": {"field-removed": "info", "id": "investigate"}},
            {"id": "investigate", "n": "info"},
        ),
        (without("id"), {"risk": {"id": "quiet"}}, {}),
        (without(new=1), {"risk": {"field-added": "high"}}, {"new": "high"}),
        (without(n=1.5), {"risk": {"number-widened": "investigate"}}, {"n": "investigate"}),
        ({}, {"risk": {"response-empty": "high"}}, {"$": "high"}),
        (
            without(rows=[{"x": "1", "y": {"z": 1}}]),
            {"risk": {"rows[].*": Risk.INFO}},
            {"rows[].x": "info", "rows[].y.z": "high"},
        ),
        # opaque: structure is info, availability stands
        (without("id"), {"opaque": True}, {"id": "info"}),
        ("text", {"opaque": True}, {"$": "info"}),
        ({}, {"opaque": True}, {"$": "availability"}),
        (without("id"), {"opaque": True, "risk": {"id": "high"}}, {"id": "info"}),
        # null
        (without(id=None), {"null": "quiet"}, {}),
        (without(id=None), {}, {"id": "investigate"}),
        (without(id=None), {"null": "high"}, {"id": "high"}),
        (without(meta=None), {"null": "quiet"}, {"meta": "high"}),
        (without(rows=[{"x": 1, "y": None}, LEARNED["rows"][0]]), {"null": "quiet"}, {}),
    ],
)
def test_what_a_reader_tolerates(now, settings, expected):
    """One observation means different things to different readers; each setting is a line of that."""
    assert found(now, **settings) == expected


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": ""}, ["name"]),
        ({"name": 5}, ["name"]),
        ({"tools": ""}, ["tools"]),
        ({"numeric": "loose"}, ["numeric", "lenient, strict, exact"]),
        ({"null": "info"}, ["null", "quiet, investigate, high"]),
        ({"ignore": "id"}, ["ignore", "bare string"]),
        ({"requires": "id"}, ["requires", "bare string"]),
        ({"ignore": None}, ["ignore"]),
        ({"ignore": [5]}, ["int"]),
        ({"ignore": ["a["]}, ["a["]),
        ({"requires": ["a..b"]}, ["a..b"]),
        ({"risk": {"field-gone": "high"}}, ["field-gone"]),
        ({"risk": {"field-removed": "severe"}}, ["field-removed", "severe"]),
        ({"risk": [("field-removed", "high")]}, ["risk", "mapping"]),
        ({"risk": {5: "high"}}, ["risk", "5"]),
        ({"opaque": "yes"}, ["opaque"]),
        ({"ignore": ["a"], "requires": ["a"]}, ["ignore", "requires", "a"]),
        ({"opaque": True, "requires": ["a"]}, ["opaque", "a"]),
    ],
)
def test_a_wrong_setting_is_named_at_construction(settings, words):
    """A policy that silently does nothing would be found in an incident."""
    with pytest.raises(ConfigurationError) as caught:
        Consumer(**{"name": "reader", **settings})
    assert all(word in str(caught.value) for word in words)


def test_which_tools_a_consumer_reads():
    """``tools`` is a glob of tool names."""
    assert DEFAULT.reads("anything.at_all")
    searcher = Consumer("s", tools="search_*")
    assert searcher.reads("search_docs")
    assert not searcher.reads("docs_search")
    assert not searcher.reads("Search_docs")


def test_one_change_has_a_finding_for_each_reader():
    """Findings say whose they are, and are in the order of risk, path, rule and reader."""
    readers = [Consumer("zed"), Consumer("lax", risk={"field-removed": "info"}), Consumer("deaf", ignore=["id"])]
    verdict = Baseline.learn([LEARNED], consumers=readers).check([without("id", "n")])
    assert [(f.path, f.consumer, str(f.risk)) for f in verdict.findings] == [
        ("id", "zed", "high"),
        ("n", "deaf", "high"),
        ("n", "zed", "high"),
        ("id", "lax", "info"),
        ("n", "lax", "info"),
    ]


def test_what_is_still_being_learned_is_info_live_and_judged_when_sealed():
    """A path that was seen fewer than ten times has no contract yet, unless what was learned is all there is."""
    gone = Change(parse_path("a"), "missing", "string", "missing", "", learned_from=9)
    for taught, risk in ((9, "info"), (10, "high")):
        change = Change(parse_path("a"), "missing", "string", "missing", "", learned_from=taught)
        assert [f.risk for f in findings((change,), (DEFAULT,), sealed=False)] == [risk]
    assert [f.risk for f in findings((gone,), (DEFAULT,), sealed=True)] == ["high"]


def test_settings_are_shown_and_can_be_made_again():
    """What a baseline file stores of a consumer is what made it."""
    consumer = Consumer("r", tools="a*", numeric="exact", null="high", ignore=["x"], requires=["y"], risk={"z": "info"})
    again = Consumer(**consumer.plain())
    assert again.plain() == consumer.plain()
    assert repr(consumer) == (
        "Consumer('r', tools='a*', numeric='exact', null='high', ignore=['x'], requires=['y'], "
        "risk={'z': <Risk.INFO: 'info'>})"
    )
    assert repr(Consumer("r")) == "Consumer('r')"
    assert Consumer("r").plain() == {"name": "r"}
