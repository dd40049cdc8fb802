from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest
import structlog
from prompt_specs import FULL, SPEC

from toolpulse.errors import ConfigurationError
from toolpulse.provenance import context
from toolpulse.provenance.prompt import (
    request_fingerprint,
)

# the log lines of a request


def log_line(**fields):
    """What the processor makes of a record."""
    return dict(context.add_fingerprints(None, "info", {"event": "x", **fields}))


def test_every_log_line_of_a_request_carries_both():
    """From a log line one gets to the prompt that was deployed and to the text that was sent, without either's text."""
    rendered = "Evidence: doc\nQuestion: ?"
    with context.request(SPEC, rendered, ids={"evidence": ["doc_812", 7]}, counts={"history": 12}):
        line = log_line()
    assert line == {
        "event": "x",
        "release_fingerprint": FULL[:12],
        "request_fingerprint": request_fingerprint(rendered),
        "evidence_ids": ["doc_812", 7],
        "evidence_count": 2,
        "history_count": 12,
    }
    assert log_line() == {"event": "x"}


def test_it_works_in_structlog():
    """The processor is one line of a configuration."""
    with structlog.testing.capture_logs(processors=[context.add_fingerprints]) as lines:
        logger = structlog.get_logger()
        with context.request("11ea553565b5") as stamp:
            logger.info("before")
            stamp.rendered("text")
            logger.info("after", release_fingerprint="mine")
        logger.info("outside")
    assert [line.get("release_fingerprint") for line in lines] == ["11ea553565b5", "mine", None]
    assert [line.get("request_fingerprint") for line in lines] == [None, request_fingerprint("text"), None]


def test_runtime_data_is_part_of_no_fingerprint():
    """The same prompt with other evidence is the same release."""
    lines = []
    for evidence in (["a"], ["a", "b"]):
        with context.request(SPEC, "text", ids={"evidence": evidence}):
            lines.append(log_line())
    assert lines[0]["evidence_count"] != lines[1]["evidence_count"]
    for name in ("release_fingerprint", "request_fingerprint"):
        assert lines[0][name] == lines[1][name]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ids": {"evidence": ["x" * 129]}},
        {"ids": {"evidence": ["line\nbreak"]}},
        {"ids": {"evidence": "doc_1"}},
        {"ids": {"evidence": [1.5]}},
        {"counts": {"history": True}},
        {"counts": {"history": -1}},
        {"counts": {"history": "12"}},
    ],
)
def test_text_does_not_pass_as_an_id(wrong):
    """A document put where its id belongs would be on every log line."""
    with pytest.raises(ConfigurationError, match=r"evidence|history"), context.request(SPEC, **wrong):
        pass


def test_requests_at_the_same_time_do_not_mix():
    """An agent serves many at once, in tasks and in threads."""

    async def one(text):
        with context.request(SPEC, text):
            await asyncio.sleep(0)
            inner = await asyncio.create_task(asyncio.to_thread(log_line))
            return inner["request_fingerprint"]

    async def both():
        return await asyncio.gather(one("a"), one("b"))

    assert asyncio.run(both()) == [request_fingerprint("a"), request_fingerprint("b")]
    with context.request(SPEC, "here"):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(context.current_fields()))
        thread.start()
        thread.join()
        assert context.current_fields()["request_fingerprint"] == request_fingerprint("here")
    assert seen == [{}]


def test_an_inner_request_ends_and_an_error_ends_one():
    """A sub-agent has a prompt of its own; after it, and after an exception, the outer one is back."""
    with context.request("1" * 12):
        with suppress(RuntimeError), context.request("2" * 12):
            assert log_line()["release_fingerprint"] == "2" * 12
            raise RuntimeError
        assert log_line()["release_fingerprint"] == "1" * 12
    assert context.current_fields() == {}


def test_a_release_that_is_no_fingerprint_is_refused():
    """A whole prompt passed as text must not be logged on every line."""
    with pytest.raises(ConfigurationError, match="fingerprint"), context.request(SPEC["system"]):
        pass


def test_fields_are_copies():
    """A processor further down that edits a line must not edit the request."""
    with context.request(SPEC) as stamp:
        stamp.fields.clear()
        log_line().clear()
        assert stamp.fields == {"release_fingerprint": FULL[:12]}
