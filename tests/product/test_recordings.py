"""Recorded responses of real services, in their order, through a live monitor."""

from __future__ import annotations

from collections import Counter

import pytest
from corpus import shared

from benchmarks.replay import FAMILIES, Replayed, replay

DOCUMENTS = ("tau_bench_airline", "livemcpbench", "toolbench")


@pytest.fixture(scope="module")
def recorded():
    """The families of recordings as series of (tool, responses); skips where there are none."""
    folder = shared("corpus", "over_time")
    found = {}

    def family(name):
        if name not in found:
            if not any(folder.glob(f"{name.split('_')[0]}*")):
                pytest.skip(f"no recording of {name}")
            found[name] = list(FAMILIES[name](folder))
        return found[name]

    return family


def worse_than_info(done: Replayed):
    """Alerts that are no first error sentence in place of a record."""
    return [
        (alert.tool, alert.call, alert.event.summary, alert.event.changes[0].evidence)
        for alert in done.alerts
        if not alert.is_sentence
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_traffic_is_quiet_but_for_a_first_error_sentence(recorded, name):
    """A tool that answers with documents and, for the first time, with a sentence: that is one thing to tell of."""
    done = replay(recorded(name))
    assert done.tools > 0
    assert done.judged > 0
    assert worse_than_info(done) == []
    a_tool = Counter(alert.tool for alert in done.alerts)
    assert max(a_tool.values(), default=0) <= 1


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_warm_up_that_saw_both_is_told_of_neither(recorded, name):
    """Sentences and documents that came in the first ten responses are how the tool answers."""
    for tool, responses in recorded(name):
        warm = responses[:10]
        kinds = {isinstance(response, str) for response in warm}
        if len(kinds) == 2:
            done = replay([(tool, responses)])
            assert [alert for alert in done.alerts if alert.is_sentence] == [], tool


def test_seven_years_of_a_public_api_only_add(recorded):
    """Keyed by method, path pattern and status, what came to the API is ``info``."""
    done = replay(recorded("octokit_fixtures"))
    assert done.notes > 0
    assert worse_than_info(done) == []


def test_a_plain_hash_would_have_said_far_more(recorded):
    """What the evidence is for, in one number."""
    done = replay(recorded("tau_bench_airline"))
    assert done.hash_rule > 5 * max(1, len(done.alerts))
