from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request

import pytest

from toolpulse import shape_of
from toolpulse.cli.commands._demo_server import DAYS, PLANTED, ToolServer


@pytest.fixture
def server():
    """A server of tools on the first day."""
    try:
        made = ToolServer()
    except OSError as error:
        pytest.skip(f"no socket to be had: {error}")
    with made:
        yield made


def ask(server, tool):
    """What a tool of the server answers."""
    with urllib.request.urlopen(f"{server.url}/{tool}", timeout=5) as response:
        return json.load(response)


def keys(server, tool, times=40):
    """The keys that each of some answers has."""
    return [set(ask(server, tool)) for _ in range(times)]


def test_what_is_planted_for_a_day_begins_on_it(server):
    """The demo says on which day something goes wrong; a day earlier it would be learned."""
    seen = {}
    for server.day in range(1, DAYS + 1):
        hits = [hit for _ in range(20) for hit in ask(server, "search")["results"]]
        pages = [page for _ in range(20) for page in ask(server, "pages")["pages"]]
        seen[server.day] = {
            4: any("error" in page for page in pages),
            5: isinstance(ask(server, "invoice")["total"], float),
            6: all("summary" in hit and isinstance(hit["score"], str) for hit in hits),
        }
    first = {what: min(day for day in seen if seen[day][what]) for what in (4, 5, 6)}
    assert first == {4: 4, 5: 5, 6: 6}
    assert not any(seen[day][4] for day in seen if day != 4), "the error is of one day"
    assert all(seen[day][what] for what in (5, 6) for day in range(what, DAYS + 1)), "the others stay"
    assert PLANTED.keys() == {3, 4, 5, 6}


def test_search_finds_nothing_only_on_its_day(server):
    """An empty result is ordinary in no other answer."""
    empty = {}
    for server.day in range(1, DAYS + 1):
        empty[server.day] = any(not ask(server, "search")["results"] for _ in range(20))
    assert [day for day, one in empty.items() if one] == [3]


def test_the_same_seed_gives_the_same_week():
    """What the documentation shows is what a user sees."""
    weeks = []
    for _ in range(2):
        with ToolServer(seed=7) as one:
            weeks.append([ask(one, "search") for _ in range(5)])
    assert weeks[0] == weeks[1]
    assert len({shape_of(answer).fingerprint for answer in weeks[0]}) > 1


def test_an_unknown_tool_is_not_found(server):
    """As of any server: a caller's mistake is no answer."""
    with pytest.raises(urllib.error.HTTPError) as error:
        ask(server, "nothing")
    assert error.value.code == 404
    error.value.close()


def test_no_thread_outlives_its_block():
    """The demo ends like any command."""
    with ToolServer() as one:
        ask(one, "invoice")
        assert any(thread.name == "toolpulse-demo" for thread in threading.enumerate())
    assert not any(thread.name == "toolpulse-demo" for thread in threading.enumerate())
