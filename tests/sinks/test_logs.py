from __future__ import annotations

import json

import pytest
import structlog
from scripts import run
from sink_events import an_event

from toolpulse import Risk
from toolpulse.sinks.logs import LogSink

DRIFTING = """
@toolpulse.watch(tool="t")
def tool(n):
    return {"n": n}
for n in [1] * 12 + ["x", None]:
    tool(n)
toolpulse.configure()
"""


def test_without_configuration_events_go_to_stderr_as_json(tmp_path):
    """stdout may carry a protocol, so nothing of ours goes there."""
    done = run("import toolpulse" + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["event"], line["level"], line["status"]) for line in lines] == [
        ("tool_drift", "info", "learned"),
        ("tool_drift", "error", "open"),
        ("tool_drift", "warning", "open"),
    ]
    assert lines[1]["changes"][0]["path"] == "n"
    assert lines[1]["schema"] == 1


def test_without_stderr_nothing_is_said_and_nothing_fails(tmp_path):
    """A program without a console has none, and stdout is not ours to take."""
    done = run("import sys; sys.stderr = None\nimport toolpulse" + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_events_go_through_the_application_s_configuration(tmp_path):
    """Its format and its destination are the application's to choose."""
    configured = """
import structlog, sys, toolpulse
structlog.configure(processors=[structlog.processors.KeyValueRenderer(key_order=["event", "risk"])],
                    logger_factory=structlog.PrintLoggerFactory(open("app.log", "w")))
"""
    done = run(configured + DRIFTING, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = (tmp_path / "app.log").read_text().splitlines()
    assert [line.split(" ")[0] for line in lines] == ["event='tool_drift'"] * 3
    assert "'high'" in lines[1]


@pytest.fixture
def _structlog_configured():
    structlog.configure()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("_structlog_configured")
def test_an_event_is_one_record_with_a_level_by_its_risk():
    """Whoever alerts on errors hears of what is high, and of nothing less."""
    levels = {"high": "error", "availability": "warning", "investigate": "warning", "info": "info", "quiet": "debug"}
    for risk, level in levels.items():
        with structlog.testing.capture_logs() as logs:
            LogSink().emit(an_event(risk=Risk(risk)))
        (record,) = logs
        assert (record["event"], record["log_level"], record["risk"]) == ("tool_drift", level, risk)
        assert record["changes"][0]["rule_id"] == "kind-changed"
        assert not {"decision", "coverage", "pattern"} & record.keys()
