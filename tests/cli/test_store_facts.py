from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from toolpulse.cli._views.store_facts import Checkup, Problem, ToolStatus
from toolpulse.judgement.rules import Risk
from toolpulse.stores.sql.outbox import Outbox

FIRST = datetime(2024, 5, 17, 12, tzinfo=timezone(timedelta(hours=2)))


def test_times_of_a_tool_are_utc_to_the_millisecond():
    """Scripts compare them as text with those of events."""
    status = ToolStatus("t", "", "watching", 3, 1, 2, 1, 0, 2, 1, Risk.HIGH, FIRST, FIRST.astimezone(UTC))
    plain = status.plain()
    assert plain["first"] == plain["last"] == "2024-05-17T10:00:00.000Z"
    assert plain.keys() == set(ToolStatus._fields)
    assert json.loads(json.dumps(plain))["risk"] == "high"


def test_an_examination_is_objects_within_an_object():
    """A tuple with names would be a list without them in JSON."""
    outbox = Outbox(*range(len(Outbox._fields)))
    checkup = Checkup("sqlite:///x", "SQLite", "3", 1, 2, 3, 4, None, outbox, (Problem("a fault", "mend it"),))
    plain = json.loads(json.dumps(checkup.plain()))
    assert plain["outbox"] == dict(zip(Outbox._fields, range(len(Outbox._fields)), strict=True))
    assert plain["problems"] == [{"what": "a fault", "advice": "mend it"}]
