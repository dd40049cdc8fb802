from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Baseline, Consumer, Limits
from toolpulse.cli._kit.inputs import Source
from toolpulse.cli._views.findings import coverage, examine
from toolpulse.shape import Truncation

scalars = st.none() | st.booleans() | st.integers(0, 9) | st.floats(0, 1) | st.sampled_from(["x", '{"a": 1}'])
responses = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(responses, min_size=1, max_size=8), st.lists(responses, max_size=12), st.sampled_from(["none", "auto"]))
def test_examining_one_by_one_is_check(learned, asked, unwrap):
    """Knowing where a finding was seen first must not change what is found."""
    consumers = (Consumer("a", numeric="strict"), Consumer("b", null="high"))
    baseline = Baseline.learn(learned, consumers=consumers, limits=Limits(elements=2), unwrap=unwrap)
    report = examine(baseline, ((Source("f", n), one) for n, one in enumerate(asked, 1)))
    assert report.verdict == baseline.check(asked)
    assert report.sightings.keys() == set(report.verdict.findings)
    for finding, seen in report.sightings.items():
        alone = baseline.check([asked[seen.first.line - 1]]).findings
        assert finding.path in {f.path for f in alone}
        assert not any(finding in baseline.check([one]).findings for one in asked[: seen.first.line - 1])
        assert 1 <= seen.responses <= len(asked)


def test_coverage_is_one_line_a_place():
    """Thousands of long responses give thousands of truncations; a person needs the worst of each place."""
    cuts = [Truncation("a", "elements", 100, n) for n in (150, 900, 200)] + [Truncation("b", "depth", 0, 0)]
    assert coverage(cuts) == [
        "a: 100 of 900 elements seen (of 3 different cuts the largest)", "b: deeper than the limit",
    ]  # fmt: skip
