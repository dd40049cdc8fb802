from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_with_maps, tool_responses

from toolpulse import Baseline, Consumer, Limits, Risk
from toolpulse.errors import ConfigurationError, InputError
from toolpulse.evidence.rows import Row, join_rows
from toolpulse.shape.nodes import Object, Scalar

LEARNED = [{"id": 1, "rows": [{"x": 1}]}, {"id": 2, "rows": []}]


@given(st.lists(tool_responses | json_with_maps, min_size=1, max_size=5), tool_responses | json_with_maps)
def test_a_saved_baseline_is_the_same_baseline(responses, news):
    """Equal bytes and equal findings, or a file in a repository would change by being read."""
    baseline = Baseline.learn(responses)
    again = Baseline.from_json(baseline.to_json())
    assert again.to_json() == baseline.to_json()
    assert again.profile.plain() == baseline.profile.plain()
    assert again.check([news]) == baseline.check([news])


@given(st.lists(tool_responses, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_keys_and_elements_may_come_in_any_order(responses, random):
    """The same responses, serialised another way, give the same file."""
    from strategies import reordered

    mixed = [reordered(response, random) for response in responses]
    assert Baseline.learn(mixed).to_json() == Baseline.learn(responses).to_json()


def test_settings_are_part_of_the_file(tmp_path):
    """A check elsewhere must read and judge as the learning did."""
    baseline = Baseline.learn(
        LEARNED,
        consumers=[
            Consumer("a", numeric="exact", ignore=["x"], risk={"field-added": "high"}),
            Consumer("b", opaque=True),
        ],
        limits=Limits(elements=5),
        maps=["m", "b.m"],
        records=["r"],
        unwrap="auto",
    )
    baseline.save(tmp_path / "b.json")
    again = Baseline.load(tmp_path / "b.json")
    assert again.limits == Limits(elements=5)
    assert again.unwrap == "auto"
    assert [c.plain() for c in again.consumers] == [c.plain() for c in baseline.consumers]
    assert again.check(['{"id": 1, "rows": [], "new": 1}']).risk is Risk.HIGH
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_the_file_is_sorted_and_made_of_short_lines():
    """Two people who learn something else must be able to merge."""
    text = Baseline.learn([{f"k{n}": n} for n in (3, 1, 2)]).to_json().decode()
    plain = json.loads(text)
    prints = [row["fingerprint"] for row in plain["rows"]]
    assert prints == sorted(prints)
    assert list(plain) == sorted(plain)
    assert text.endswith("}\n")
    assert all(len(line) < 120 for line in text.splitlines())
    assert plain["schema"] == 1


def test_nothing_of_a_value_is_in_the_file():
    """Values and keys of maps are the tool's users' data."""
    canary = "canary-51"
    responses = [{"name": canary, "by": {f"{canary}@example.com": [canary, canary.encode()]}, "n": 4711_4711}] * 3
    data = Baseline.learn(responses).to_json()
    assert canary.encode() not in data
    assert b"47114711" not in data


@pytest.mark.parametrize("schema", [..., None, True, "1", 1.0, [1]])
def test_the_schema_must_be_there_and_whole(schema):
    """Content of an unknown version is not looked at."""
    plain = json.loads(Baseline.learn(LEARNED).to_json())
    plain["schema"] = schema
    if schema is ...:
        del plain["schema"]
    with pytest.raises(InputError, match="schema"):
        Baseline.from_json(json.dumps(plain).encode())


def broken(**changed):
    """A baseline file with something changed at its top."""
    plain = json.loads(Baseline.learn(LEARNED).to_json())
    plain.update(changed)
    return json.dumps(plain).encode()


def with_row(**changed):
    """A baseline file with something changed in its first row."""
    plain = json.loads(Baseline.learn(LEARNED).to_json())
    plain["rows"][0].update(changed)
    return json.dumps(plain).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not a baseline"),
        (b"\xff", "UTF-8"),
        (broken(schema=2), "schema 2"),
        (broken(schema=2, rows=5), "schema 2"),
        (broken(rows=5), "rows"),
        (broken(extra=1), "extra"),
        (broken(limits={"elements": 0}), "limits.elements"),
        (broken(limits={"size": 1}), "size"),
        (broken(unwrap="sometimes"), "unwrap"),
        (broken(maps=["a["]), "a\\["),
        (broken(maps=["a"], records=["a"]), "both name a"),
        (broken(consumers=[{"name": "a"}, {"name": "a"}]), "two are named a"),
        (broken(consumers=[{"name": "a", "numeric": "loose"}]), "numeric"),
        (broken(consumers=[{"name": "a", "colour": "red"}]), "colour"),
        (broken(consumers=[{"name": "a", "risk": [1]}]), "risk"),
        (broken(consumers=[{"name": "a", "ignore": [1]}]), "int"),
        (broken(consumers=[{}]), "name"),
        (with_row(fingerprint="0" * 64), "fingerprint"),
        (with_row(shape="text"), "kind"),
        (with_row(shape="object"), "kind"),
        (with_row(shape=[5]), "shape"),
        (with_row(shape={"a": None}), "NoneType"),
        (with_row(count=0), "count"),
        (with_row(count=-1), "count"),
        (with_row(first=3, last=2), "first"),
        (with_row(count="3"), "count"),
        (with_row(cuts=["a["]), "a\\["),
        (
            broken(
                rows=[
                    {"fingerprint": "x", "shape": json.loads("[" * 900 + "]" * 900), "count": 1, "first": 1, "last": 1}
                ]
            ),
            "not a baseline",
        ),
    ],
)
def test_a_damaged_file_is_refused(data, words, tmp_path):
    """What cannot be judged by must not be judged by; the message names the file and what is wrong."""
    path = tmp_path / "base.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as caught:
        Baseline.load(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """The error of the operating system says why."""
    with pytest.raises(InputError, match=r"nowhere\.json: No such file"):
        Baseline.load(tmp_path / "nowhere.json")


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    """A baseline is replaced whole or not at all."""
    path = tmp_path / "b.json"
    Baseline.learn(LEARNED).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        Baseline.learn([1]).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"consumers": [Consumer("a"), Consumer("a")]}, "two are named a"),
        ({"consumers": ["a"]}, "consumers"),
        ({"limits": 5}, "limits"),
        ({"maps": "a"}, "maps"),
        ({"records": ["a["]}, "a\\["),
        ({"unwrap": "maybe"}, "unwrap"),
    ],
)
def test_a_wrong_setting_is_named(settings, words):
    """Nothing is learned under a setting that cannot be meant."""
    with pytest.raises(ConfigurationError, match=words):
        Baseline.learn(LEARNED, **settings)


def test_there_must_be_something_to_learn_from():
    """A baseline of nothing would call everything fine; error results are nothing."""
    error = {"isError": True, "content": [{"type": "text", "text": "no"}]}
    for responses in ([], [error, error]):
        with pytest.raises(InputError, match="nothing to learn"):
            Baseline.learn(responses, unwrap="auto")


def test_errors_are_counted_and_never_compared():
    """A result that says it failed is no drift of the results."""
    error = {"isError": True, "content": [{"type": "text", "text": "no"}]}
    verdict = Baseline.learn([LEARNED[0], error], unwrap="auto").check([error, LEARNED[1]], consumer=None)
    assert (verdict.risk, verdict.responses, verdict.errors) == (Risk.AVAILABILITY, 2, 1)
    assert [f.path for f in verdict.findings] == ["rows"]


def test_checking_teaches_nothing():
    """A sealed baseline says the same however often it is asked."""
    baseline = Baseline.learn(LEARNED)
    before = baseline.to_json()
    news = {"id": "x"}
    first = baseline.check([news])
    assert baseline.check([news] * 20).findings == first.findings
    assert baseline.to_json() == before


def test_responses_are_left_as_they_were():
    """Learning and checking only look."""
    value = copy.deepcopy(LEARNED)
    Baseline.learn(value).check(value)
    assert value == LEARNED


def test_whose_findings():
    """Without a name all readers of the baseline answer, with one that reader, and a Consumer may be brought along."""
    baseline = Baseline.learn([{"n": 1}], consumers=[Consumer("lax"), Consumer("strict", numeric="strict")])
    news = [{"n": 1.5}]
    assert [f.consumer for f in baseline.check(news).findings] == ["strict"]
    assert baseline.check(news, consumer="lax").findings == ()
    assert [f.consumer for f in baseline.check(news, consumer=Consumer("mine", numeric="exact")).findings] == ["mine"]
    with pytest.raises(ConfigurationError, match=r"'none' is not one .*\(lax, strict\)"):
        baseline.check(news, consumer="none")


def test_findings_over_several_responses_are_told_once():
    """The verdict is the worst of all, the findings a union."""
    verdict = Baseline.learn([{"a": 1, "b": 1}]).check([{"a": "x", "b": 1}, {"a": "y", "b": 1}, {"a": 1}])
    assert [(f.path, f.change) for f in verdict.findings] == [("a", "integer -> string"), ("b", "integer -> missing")]


def test_nothing_to_check_is_quiet():
    """No response, no finding."""
    verdict = Baseline.learn(LEARNED).check([])
    assert (verdict.risk, verdict.findings, verdict.responses) == (Risk.QUIET, (), 0)


def test_an_encoding_that_changed_breaks_whoever_parses():
    """JSON text and the object it holds are read in different ways; the same encoding stays quiet."""
    baseline = Baseline.learn(['{"a": 1}', '{"a": 2}'], unwrap="auto")
    assert baseline.check(['{"a": 3}']).findings == ()
    (finding,) = baseline.check([{"a": 3}]).findings
    assert (finding.path, finding.rule_id, finding.change) == ("$", "container-changed", "json-text -> native")


def test_rows_are_joined():
    """The same shape twice is one row, with all its sightings."""
    shape = Object({"a": Scalar("integer")})
    one, two = Row(shape, 3, 1, 9, cuts=frozenset({("a",)})), Row(shape, 2, 4, 12, cuts=frozenset({("b",)}))
    assert join_rows(one, two) == join_rows(two, one) == Row(shape, 5, 1, 12, cuts=frozenset({("a",), ("b",)}))
