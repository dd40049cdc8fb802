from __future__ import annotations

import pytest

from toolpulse import Risk
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.findings import Finding
from toolpulse.state.incident_log import AWAY, MOST_INCIDENTS, IncidentLog


def finding(path, rule="field-removed", risk=Risk.HIGH, consumer="default"):
    """A finding with the usual things in it."""
    return Finding(path, rule, "string", "missing", risk, "", None, None, consumer)


def observe(incident_log, ordinal, *findings, count=1):
    """One observation with these findings; what is to be reported."""
    names = incident_log.open(findings, ordinal, f"t{ordinal}")
    reported = [incident_log.count(name, count, ordinal + count - 1, f"t{ordinal}") for name in sorted(names)]
    return report(incident_log, [incident for incident in reported if incident is not None])


def report(incident_log, incidents):
    """The incidents, once events reported them."""
    for incident in incidents:
        incident_log.mark_reported(incident)
    return incidents


def test_changes_that_appear_together_are_one_incident():
    """One deployment breaks many fields; that is one thing to look at."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a"), finding("b"))
    assert (reported.status, reported.count, reported.opened) == ("open", 1, 11)
    assert {f.path for f in reported.findings} == {"a", "b"}


def test_a_later_observation_counts_to_it_in_silence():
    """The count grows; nothing is reported again."""
    incident_log = IncidentLog("t", "")
    observe(incident_log, 11, finding("a"), finding("b"))
    assert observe(incident_log, 12, finding("a"), count=5) == []
    (incident,) = incident_log.incidents.values()
    assert (incident.count, incident.last) == (6, 16)


def test_only_a_change_nobody_has_seen_opens_another():
    """The known part stays with the old incident, the new one has the rest."""
    incident_log = IncidentLog("t", "")
    observe(incident_log, 11, finding("a"))
    (reported,) = observe(incident_log, 12, finding("a"), finding("c"))
    assert [f.path for f in reported.findings] == ["c"]
    assert sorted(i.count for i in incident_log.incidents.values()) == [1, 2]


def test_confirmation():
    """With ``confirm=3`` two sightings are no news, the third is."""
    incident_log = IncidentLog("t", "", confirm=3)
    assert observe(incident_log, 11, finding("a")) == observe(incident_log, 12, finding("a")) == []
    (reported,) = observe(incident_log, 13, finding("a"))
    assert (reported.status, reported.count) == ("open", 3)


def test_additions_are_noted():
    """What nobody calls more than info opens nothing."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a", "field-added", Risk.INFO))
    assert reported.status == "noted"
    assert incident_log.resolve(10_000) == []


def test_it_resolves_when_it_stays_away():
    """Twenty observations at least, and improbably many under its own share."""
    incident_log = IncidentLog("t", "")
    for ordinal in range(11, 31):
        observe(incident_log, ordinal, finding("a"))
    assert incident_log.resolve(30 + AWAY - 1) == []
    (over,) = report(incident_log, incident_log.resolve(30 + AWAY))
    assert over.status == "resolved"
    assert incident_log.resolve(30 + AWAY) == []


def test_a_rare_one_takes_longer():
    """One in twenty that stays away for twenty is no news."""
    incident_log = IncidentLog("t", "")
    for ordinal in range(20, 201, 20):
        observe(incident_log, ordinal, finding("a"))
    assert incident_log.resolve(200 + AWAY) == []
    assert [i.status for i in report(incident_log, incident_log.resolve(100_000))] == ["resolved"]


def test_a_return_joins_it_and_is_reported_when_it_grew():
    """An incident that comes and goes must not open hundreds of times."""
    incident_log = IncidentLog("t", "")
    observe(incident_log, 11, finding("a"))
    assert [i.status for i in report(incident_log, incident_log.resolve(10_000))] == ["resolved"]
    assert observe(incident_log, 10_001, finding("a")) == []
    assert observe(incident_log, 10_002, finding("a")) == []
    (reported,) = observe(incident_log, 10_003, finding("a"))
    assert (reported.status, reported.count) == ("reopened", 4)
    assert len(incident_log.incidents) == 1


def test_accepting_lets_its_changes_pass():
    """What was accepted is no news any more, the rest is."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a"), finding("b"))
    assert incident_log.decide("accept", reported.id, ("a",), reason="planned", who="me", time="t")
    assert incident_log.not_accepted((finding("a"), finding("b"))) == (finding("b"),)
    assert incident_log.incidents[reported.id].status == "open"
    assert incident_log.decide("accept", reported.id, (), reason="planned", who="me", time="t")
    assert incident_log.not_accepted((finding("a"), finding("b"))) == ()
    assert incident_log.incidents[reported.id].status == "accepted"


def test_the_same_decision_twice_is_one():
    """Two processes may hear of it."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a"))
    first = incident_log.decide("reject", reported.id, (), reason="", who="me", time="t1")
    assert first is not None
    assert incident_log.decide("reject", reported.id, (), reason="", who="you", time="t2") is None
    assert incident_log.incidents[reported.id].status == "rejected"


def test_deciding_about_a_change_it_does_not_have_fails():
    """A misspelt path must not look like a decision."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a"))
    with pytest.raises(ConfigurationError, match="no change at b; it has a"):
        incident_log.decide("accept", reported.id, ("b",), reason="", who="", time="")


def test_a_log_goes_on_from_what_another_knew():
    """A restart opens nothing a second time."""
    incident_log = IncidentLog("t", "")
    (reported,) = observe(incident_log, 11, finding("a"), finding("b"))
    incident_log.decide("accept", reported.id, ("a",), reason="", who="", time="")
    again = IncidentLog("t", "")
    again.restore(incident_log.incidents.values(), incident_log.decisions.values())
    assert again.incidents == incident_log.incidents
    assert again.accepted == incident_log.accepted
    assert observe(again, 12, finding("b")) == []


def test_incidents_are_bounded():
    """A hostile response may invent changes without end; additions go first."""
    incident_log = IncidentLog("t", "")
    (kept,) = observe(incident_log, 1, finding("kept"))
    for n in range(MOST_INCIDENTS + 50):
        observe(incident_log, 2 + n, finding(f"n{n}", "field-added", Risk.INFO))
    assert len(incident_log.incidents) <= MOST_INCIDENTS
    assert kept.id in incident_log.incidents
