from __future__ import annotations

import random

import pytest
from hypothesis import given
from strategies import json_with_maps, map_keys, shapes

from toolpulse import Baseline, shape_of
from toolpulse._base.paths import ROOT, VALUES, format_path, parse_path
from toolpulse.evidence.maps import LearnedMap, decide_maps, learn_maps
from toolpulse.evidence.shape_paths import rewrite_as_maps, shapes_by_path
from toolpulse.shape.map_keys import data_keys, data_like
from toolpulse.shape.nodes import Map, Object, Scalar

INTEGER = Scalar("integer")


def record(*names, value=INTEGER):
    """A record of these names."""
    return Object(dict.fromkeys(names, value))


def no_records(path):
    """Say of every path that nobody named it a record."""
    return False


@pytest.mark.parametrize(
    "keys",
    [
        ["1"],
        ["-5"],
        ["007", "2024"],
        ["0f8fad5b-d9cb-469f-a165-70867728950e"],
        ["{0F8FAD5B-D9CB-469F-A165-70867728950E}"],
        ["2024-01"],
        ["2024-01-31"],
        ["2024-01-31T10:00"],
        ["2024-01-31 10:00:00"],
        ["2024-01-31T10:00:00.123Z"],
        ["2024-01-31T10:00:00+02:00"],
        ["2024-01-31T10:00:00-0700"],
        ["10:00"],
        ["10:00:00.5"],
        ["9f86d081884c"],
        ["DEADBEEF0001"],
        ["a" * 63 + "1"],
        ["a@b.co"],
        ["first.last+tag@sub.example.org"],
        ["https://example.org/a?b=1"],
        ["urn://x"],
        ["s3://bucket/key"],
        ["user_93117", "user_20455", "user_77102"],
        ["a100", "b200", "c300"],
        ["item-001", "item-002", "item-003"],
        ["ns:001", "ns:002", "ns:003"],
        ["USD", "EUR", "GBP"],
        ["1", "2024-01-31", "a@b.co"],
    ],
    ids=" ".join,
)
def test_keys_that_are_data(keys):
    """Such keys say by themselves that they are data, so they neither drift nor are stored."""
    assert data_keys(keys)
    assert data_like(keys)
    assert isinstance(shape_of(dict.fromkeys(keys, 1)).shape, Map)


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [""],
        ["a"],
        ["id", "name"],
        ["1", "total"],
        ["1.5"],
        ["1e5"],
        ["1d", "7d", "ytd"],
        ["720p", "1080p"],
        ["v1", "v2", "v3"],
        ["user_93117"],
        ["user_93117", "user_20455"],
        ["user_12", "user_13", "user_14"],
        ["a100", "b100", "c100", "d100"],
        ["USD"],
        ["USD", "EUR"],
        ["usd", "eur", "gbp"],
        ["USDT", "EURT", "GBPT"],
        ["USD", "EUR", "total"],
        ["abcdefabcdef"],
        ["cafe1234"],
        ["9f86d081884"],
        ["9f86d081884g"],
        ["a@b"],
        ["@b.co"],
        ["a b@c.co"],
        ["http:"],
        ["http//x"],
        ["://x"],
        ["2024-1"],
        ["2024/01/31"],
        ["2024-01-31T"],
        ["10" + ":0"],
        ["0f8fad5b-d9cb-469f-a165"],
        ["1\n"],
        [" 1"],
        ["+1"],
        ["１"],
        ["9" * 513],
        ["001", "user_001", "x"],
    ],
    ids=" ".join,
)
def test_keys_that_are_names(keys):
    """A record's keys are a contract; taking them for data would hide their loss."""
    assert not data_keys(keys)
    assert isinstance(shape_of(dict.fromkeys(keys, 1)).shape, Object)


@given(map_keys)
def test_one_key_of_data_is_enough(key):
    """A map may have one entry."""
    assert data_keys([key])


def test_hostile_keys_are_judged_in_bounded_time():
    """The expressions look at 512 characters at most, and none of them backtracks without end."""
    for key in (
        "a" * 10**6,
        "a@" * 10**6,
        "1-" * 10**6,
        "a.b" * 170 + "@",
        "a@" + "b." * 254 + "/",
        "f" * 512,
        "x://" + " " * 500,
    ):
        assert not data_keys([key])


class TestLearning:
    def churn(self, count=8, value=INTEGER):
        """Rows in which two of ever new keys stand."""
        return [(record(f"k{chr(97 + n)}", f"m{chr(97 + n)}", value=value), 1) for n in range(count)]

    def test_keys_that_come_and_go(self):
        """Five observations in which hardly a key returns are a map, and the figures say why."""
        (decision,) = learn_maps(self.churn(), no_records)
        assert decision == LearnedMap(ROOT, 8, 16, 2, 0, 16, 1)
        assert decision.why == (
            "over 8 observations 16 keys (at most 2 at once), 0 of them in most, 16 in one only; values of 1 form"
        )

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            [(record("ka", "kb"), 1)],
            [(record(f"k{c}"), 1) for c in "abcd"],
            [(record("id", f"k{c}"), 1) for c in "abcdefg"],
            [(record(*"abcdefgh"), 5)],
            [(record("a", "b"), 3), (record("a"), 3), (record("b"), 3)],
            [(Object({f"k{c}": INTEGER, f"m{c}": record("a")}), 1) for c in "abcdefgh"],
            [(record("ka", "kb", "kc", value=record("x")), 1), (record("kc", "kd", "ke", value=record("x")), 1)],
            [(record("ka", "kb", value=record("x")), 1), (record("kc", "kd", value=record("x")), 1)],
            [(record("ka", "kb", "kc"), 1), (record("kd", "ke", "kf"), 1)],
        ],
        ids=[
            "nothing",
            "one row",
            "four rows",
            "a key that returns",
            "stable",
            "optional fields",
            "mixed values",
            "a key returns",
            "four containers",
            "scalars",
        ],
    )
    def test_what_stays_a_record(self, rows):
        """Each condition of the rule is needed; short of one an object is a contract."""
        assert learn_maps(rows, no_records) == ()

    def test_two_observations_are_enough_where_no_key_returns(self):
        """Six records of one shape under six different names cannot be six fields."""
        rows = [(record("ka", "kb", "kc", value=record("x")), 1), (record("kd", "ke", "kf", value=record("x")), 1)]
        assert [decision.path for decision in learn_maps(rows, no_records)] == [ROOT]

    @pytest.mark.parametrize(("kinds", "found"), [(5, 1), (6, 0)])
    def test_values_of_more_than_five_forms_are_fields(self, kinds, found):
        """The values of a map are alike; six sorts of them are a record's."""
        forms = [Scalar(kind) for kind in ("integer", "string", "bytes", "boolean", "uuid", "date")][:kinds]
        rows = [(record(f"k{c}", f"m{c}", value=forms[n % kinds]), 1) for n, c in enumerate("abcdefghijkl")]
        assert len(learn_maps(rows, no_records)) == found

    @pytest.mark.parametrize(("extra", "found"), [(5, 1), (4, 0)])
    def test_many_keys_must_be_new(self, extra, found):
        """Optional fields return sooner or later; a quarter of a map's keys are there once only."""
        rows = [(record(f"k{n % 13}x", f"m{n % 13}x", f"n{n % 13}x"), 1) for n in range(26)]
        rows += [(record(*(f"once{n}x" for n in range(extra * 13 // 5))), 1)]
        assert len(learn_maps(rows, no_records)) == found

    @pytest.mark.parametrize(("others", "found"), [(5, 1), (4, 0)])
    def test_the_union_must_outgrow_each(self, others, found):
        """A record that was whole once has shown all of its fields."""
        rows = [(record(*(f"k{n}x" for n in range(10))), 1)]
        rows += [(record(f"m{n % others}x"), 1) for n in range(10)]
        assert len(learn_maps(rows, no_records)) == found

    @pytest.mark.parametrize(("second", "found"), [("de", 1), ("d", 0)])
    def test_five_containers_of_one_shape(self, second, found):
        """Two observations say little, so what they hold must be plainly alike."""
        rows = [(record(*(f"k{c}" for c in names), value=record("x")), 1) for names in ("abc", second)]
        assert len(learn_maps(rows, no_records)) == found

    def test_named_records_are_never_learned_to_be_maps(self):
        """The application knows better."""
        assert learn_maps(self.churn(), lambda path: True) == ()

    def test_outermost_first_then_further_in(self):
        """A map within a map is found once its outer keys are gone."""
        rows = [(Object({f"k{a}": record(f"x{a}", f"y{a}")}), 1) for a in "abcde"]
        assert [d.path for d in learn_maps(rows, no_records)] == [ROOT]
        settled, decisions = decide_maps(rows, no_records, 20)
        assert [d.path for d in decisions] == [ROOT, (VALUES,)]
        assert set(settled) == {Map([Map([INTEGER])])}

    def test_the_order_of_rows_does_not_matter(self):
        """Two processes that saw the same must decide the same."""
        rows = self.churn()
        expected = decide_maps(rows, no_records, 20)[1]
        for seed in range(5):
            mixed = list(rows)
            random.Random(seed).shuffle(mixed)
            assert decide_maps(mixed, no_records, 20)[1] == expected

    def test_keys_are_gone_once_decided(self):
        """What is stored of a learned map holds none of its keys."""
        responses = [{"by": {f"canary{c}x": {"v": 1}, f"canary{c}y": {"v": 2}}} for c in "abcdefgh"]
        baseline = Baseline.learn(responses)
        assert b"canary" not in baseline.to_json()
        assert [d.path for d in baseline.maps_learned] == [parse_path("by")]
        assert b"canary" not in repr(baseline.check([{"by": {"canaryz": {"w": 1}}}])).encode()

    def test_records_keeps_an_object_a_record(self):
        """``records=`` says the contrary of what keys and their coming and going say."""
        responses = [{"by": {f"k{c}": {"v": 1}, f"m{c}": {"v": 2}}} for c in "abcdefgh"]
        baseline = Baseline.learn(responses, records=["by"])
        assert baseline.maps_learned == ()
        assert baseline.check([{"by": {"kz": {"v": 1}}}]).findings[0].path == "by.kz"


@given(shapes)
def test_places_reach_every_part(shape):
    """Each place is below another, the root first."""
    paths = [path for path, _ in shapes_by_path(shape)]
    assert paths[0] == ROOT
    assert len(set(paths)) == len(paths)
    assert all(path[:-1] in set(paths) for path in paths if path)


@given(shapes)
def test_rewriting_nothing_changes_nothing(shape):
    """The rewriting is the identity where no record is a map."""
    assert rewrite_as_maps(shape, lambda path, here: False, 10**6) is shape


@given(json_with_maps)
def test_no_key_of_data_is_in_a_shape(value):
    """Whatever else a response holds, keys that say they are data do not get into its shape."""
    for path, here in shapes_by_path(shape_of(value).shape):
        for shape in here:
            if isinstance(shape, Object) and shape.names:
                assert not data_keys(shape.names), format_path(path)
