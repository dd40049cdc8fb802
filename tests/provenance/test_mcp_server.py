from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from cli_runs import one_line, ran

from toolpulse.errors import ConfigurationError, InputError
from toolpulse.provenance.schemas.mcp_server import list_tools

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"


def server(how="well"):
    """The words that start the server."""
    return [sys.executable, str(SERVER), how]


def test_a_server_s_tools_are_listed():
    """Page by page and in order; what a server says in between is passed over, a request of the same id included."""
    assert [tool["name"] for tool in list_tools(server())] == ["a", "b"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("exits", "ended before it answered initialize"),
        ("garbage", "sent what is no message"),
        ("list", "sent what is no message"),
        ("error", r"answers tools/list with an error \(code -32603\)"),
        ("no tools", "has no tools"),
        ("endless", "more than 100 pages"),
    ],
)
def test_a_server_that_is_none_is_told_and_its_words_are_not(how, message):
    """What a server prints can be anything."""
    with pytest.raises(InputError, match=message) as caught:
        list_tools(server(how))
    assert "hunter2" not in str(caught.value)
    assert "ready" not in str(caught.value)


def test_a_server_that_hangs_is_given_up():
    """A check in a pipeline must end; the server must not outlive it."""
    with pytest.raises(InputError, match=r"did not answer within 0\.2 seconds"):
        list_tools(server("hangs"), timeout=0.2)


@pytest.mark.parametrize("command", [[], ["/no/such/server"]])
def test_a_server_that_cannot_be_started_is_wrong_use(command):
    """The command is the caller's."""
    with pytest.raises(ConfigurationError, match="MCP server"):
        list_tools(command)


def test_pin_and_check_a_server(capsys, tmp_path):
    """The committed pin of a third party's server, checked in one line."""
    pin = ["--pin", tmp_path / "pin.json"]
    source = "mcp:" + shlex.join(server())
    assert ran(capsys, "tools", "pin", *pin, source).code == 0
    assert ran(capsys, "tools", "check", *pin, source).code == 0
    failed = ran(capsys, "tools", "check", *pin, "mcp:" + shlex.join(server("error")))
    assert failed.code == 4
    assert "code -32603" in one_line(failed.err)
    for wrong in ("mcp:", "mcp:'", "mcp:/no/such/server"):
        assert ran(capsys, "tools", "check", *pin, wrong).code == 64
