from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolpulse import Risk
from toolpulse.judgement.findings import Finding
from toolpulse.state.incidents import Incident, change_key, incident_id


def finding(path, rule="field-removed", risk=Risk.HIGH, consumer="default"):
    """A finding with the usual things in it."""
    return Finding(path, rule, "string", "missing", risk, "", None, None, consumer)


class TestIdentity:
    @given(st.permutations(["a", "b", "c"]))
    def test_an_incident_is_its_changes(self, paths):
        """Every process computes the same id, in whatever order it met the changes and for whatever reader."""
        changes = frozenset(change_key(finding(path, consumer=f"c{n}")) for n, path in enumerate(paths))
        assert incident_id("t", "", changes) == incident_id("t", "", frozenset(change_key(finding(p)) for p in "abc"))

    def test_what_makes_another_incident(self):
        """Tool, key, path, rule and what is there now."""
        changes = frozenset({("a", "field-removed", "missing")})
        ids = {
            incident_id("t", "", changes),
            incident_id("u", "", changes),
            incident_id("t", "k", changes),
            incident_id("t", "", frozenset({("b", "field-removed", "missing")})),
            incident_id("t", "", frozenset({("a", "kind-changed", "missing")})),
            incident_id("t", "", frozenset({("a", "field-removed", "null")})),
            incident_id("t", "", changes | {("b", "field-removed", "missing")}),
        }
        assert len(ids) == 7
        assert all(len(one) == 12 for one in ids)


class TestShare:
    @given(st.integers(0, 100), st.integers(1, 100), st.integers(0, 200))
    def test_it_is_between_none_and_all(self, count, opened, ordinal):
        """A share is of what was observed since it opened, however late the counts arrive."""
        incident = Incident("i", "t", "", (finding("a"),), "open", count, opened, opened, "", "")
        assert 0 <= incident.share(ordinal) <= 1

    def test_it_counts_from_its_own_opening(self):
        """What was before it opened is not its affair."""
        incident = Incident("i", "t", "", (finding("a"),), "open", 5, 91, 100, "", "")
        assert incident.share(100) == 0.5


class TestStoredNames:
    def test_an_incident_of_an_earlier_version_is_read(self):
        """Databases hold incidents for years; the names of their fields outlive ours."""
        stored = {
            "id": "i", "tool": "t", "key": "", "findings": [], "status": "reopened", "count": 9, "opened": 1, "last": 9,
            "first_time": "", "last_time": "", "told": 7, "told_risk": "high", "tellings": 2, "silent": True,
        }  # fmt: skip
        incident = msgspec.convert(stored, Incident)
        assert (incident.reported_at_count, incident.reported_risk, incident.report_count) == (7, Risk.HIGH, 2)
        assert msgspec.to_builtins(incident) == {**stored, "findings": ()}
