from __future__ import annotations

import pytest
from traces import GIVEN, SEARCH

from toolpulse.errors import ConfigurationError
from toolpulse.provenance.generation import (
    coverage,
    generation_fingerprint,
)


def fingerprint(**changes):
    """The fingerprint of the usual call with changes."""
    return generation_fingerprint(**(GIVEN | changes))


def test_a_temperature_is_a_number_however_it_was_written():
    """As text "0" and "0.0" would be two set-ups; OpenTelemetry wants a double."""
    assert len({str(value) for value in (0, 0.0, "0", "0.0")}) > 1, "the naive way: text"
    spans = [fingerprint(temperature=value) for value in (0, 0.0, -0.0, "0", "0.0", "0e3")]
    assert all(span == spans[0] for span in spans)
    assert isinstance(spans[0]["gen_ai.request.temperature"], float)


@pytest.mark.parametrize("temperature", [True, "warm", "", float("nan"), float("inf"), "1e400", [], 10**400])
def test_what_is_no_temperature_is_refused(temperature):
    """A temperature nobody can mean must not become part of an identity."""
    with pytest.raises(ConfigurationError, match="temperature"):
        fingerprint(temperature=temperature)


@pytest.mark.parametrize(
    ("tools", "known"),
    [
        (None, "none"),
        ([], "full"),
        ([SEARCH], "full"),
        ([{"type": "function", "function": SEARCH}], "full"),
        ([{"name": "a", "input_schema": {}}], "full"),
        ([{"name": "a", "inputSchema": {}}], "full"),
        ([{"type": "function", "name": "a", "parameters": None}], "full"),
        ([{"type": "web_search_20250305", "name": "web_search"}], "full"),
        ([SEARCH, {"type": "function", "name": "a"}], "names"),
        ([{"name": "a"}], "names"),
        (["a"], "names"),
    ],
)
def test_coverage_says_how_much_of_the_tools_was_there(tools, known):
    """Names alone stay equal while the schemas change, so a hash of them would vouch for what it has not seen."""
    assert coverage(tools) == known
    found = fingerprint(tools=tools)
    assert found["fingerprint.tools.coverage"] == known
    assert ("tool.schema_hash" in found) == (known == "full")


def test_a_proxy_that_rewrites_numbers_changes_no_hash():
    """JSON Schema does not tell 1.0 from 1, and a JavaScript proxy rewrites one as the other."""
    tool = {"name": "a", "parameters": {"type": "object", "maxProperties": 1.0}}
    other = {"name": "a", "parameters": {"type": "object", "maxProperties": 1}}
    assert fingerprint(tools=[tool]) == fingerprint(tools=[other])


def test_two_tools_of_one_name_still_have_a_hash():
    """What the provider was sent is what is fingerprinted, also where it makes little sense."""
    found = fingerprint(tools=[SEARCH, SEARCH])
    assert "tool.schema_hash" in found
    assert "fingerprint.tools.digests" not in found
