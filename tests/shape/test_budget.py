from __future__ import annotations

import re

from toolpulse import Limits, shape_of
from toolpulse.shape.budget import LEAST_WORK


def distinct(count: int, fields: int = 1) -> list[list[dict[str, int]]]:
    """Lists of twenty records of which no two are alike."""
    records = [{f"k{n}x{field}": 1 for field in range(fields)} for n in range(count)]
    return [records[start : start + 20] for start in range(0, count, 20)]


def test_distinct_shapes_are_work():
    """Making a shape that was never seen costs many times what a look-up does, so fewer of them are looked at."""
    assert not [cut for cut in shape_of(distinct(800)).truncations if cut.limit == "work"]
    cut = shape_of(distinct(2_000)).truncations
    assert "work" in {one.limit for one in cut}
    assert re.search(r": \d+ of \d+ (parts|elements) seen", "\n".join(map(str, cut)))


def test_more_nodes_allow_more_work():
    """Who raises the limit of nodes wants more to be looked at, whatever it is."""
    assert not [
        cut for cut in shape_of(distinct(2_000), Limits(nodes=5 * LEAST_WORK)).truncations if cut.limit == "work"
    ]


def test_alike_records_are_no_work():
    """Ordinary responses are never cut by work: a record that is like the last one is a look-up."""
    record = {"id": 1, "tags": ["a"], "owner": {"name": "a", "teams": [{"id": 1}]}}
    assert not shape_of([[record] * 10] * 100).truncations


def test_too_many_cuts_are_one():
    """Telling of ten thousand cuts would cost more than the walk did."""
    wide = {f"a{n}b": {f"c{m}d": {"x" * 300: [1]} for m in range(250)} for n in range(80)}
    seen = shape_of(wide)
    assert [(cut.path, cut.limit) for cut in seen.truncations] == [("$", "work")]
    assert seen.shape.kind == "unknown"
