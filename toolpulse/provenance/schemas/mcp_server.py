"""The tools of an MCP server over stdin and stdout: it is started, asked, and stopped. No SDK is needed.

The messages are those of the Model Context Protocol, revision 2025-06-18: ``initialize``, the notification
``initialized``, and ``tools/list`` page by page; one JSON-RPC message a line.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from toolpulse._base.canonical import load_exact
from toolpulse.errors import ConfigurationError, InputError

REVISION: Final = "2025-06-18"

_LONGEST: Final = 16 * 2**20
"""Bytes of one message. What a server sends is not trusted either."""
_MOST_PAGES: Final = 100
"""Pages of tools that are asked for before a server counts as one that never ends."""
_MOST_ASIDES: Final = 1_000
"""Notifications and requests of the server that are passed over while an answer is awaited."""


def list_tools(command: Sequence[str], *, timeout: float = 30.0) -> list[Any]:
    """The definitions that a server lists, in its order.

    ``command``: the words that start it; its stderr is passed on. ``timeout``: seconds for all of it. Raises
    ConfigurationError where it cannot be started, InputError where it does not answer in time, answers with an error
    (the message has its code and not its text) or with what is no MCP.
    """
    if not command:
        raise ConfigurationError("an MCP server's command must not be empty")
    try:
        server = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - asked for
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ConfigurationError(f"the MCP server cannot be started: {reason}") from None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        server.kill()

    clock = threading.Timer(timeout, give_up)
    clock.start()
    try:
        return _Session(server).tools()
    except InputError:
        if late.is_set():
            raise InputError(f"the MCP server did not answer within {timeout:g} seconds") from None
        raise
    finally:
        clock.cancel()
        _stop(server)


class _Session:
    """The conversation with one server that was started."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._server = server
        self._last = 0

    def tools(self) -> list[Any]:
        client = {"name": "toolpulse", "version": "1"}
        self._ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        definitions: list[Any] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            page = self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            some = page.get("tools")
            if not isinstance(some, list):
                raise InputError("the MCP server's answer to tools/list has no tools")
            definitions += some
            cursor = page.get("nextCursor")
            if cursor is None:
                return definitions
        raise InputError(f"the MCP server lists its tools on more than {_MOST_PAGES} pages")

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        for _ in range(_MOST_ASIDES):
            answer = self._read(method)
            if answer.get("id") == self._last and "method" not in answer:
                return _result(method, answer)
        raise InputError(f"the MCP server does not answer {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        with suppress(OSError):  # it has ended; the answer that does not come says so
            self._server.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            self._server.stdin.flush()

    def _read(self, method: str) -> dict[str, Any]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline(_LONGEST + 1)
        if not line.endswith(b"\n"):
            why = "sent a message that is too long" if len(line) > _LONGEST else f"ended before it answered {method}"
            raise InputError(f"the MCP server {why}")
        try:
            message = load_exact(line)
        except InputError as error:
            raise InputError(f"the MCP server sent what is no message: {error}") from None
        if not isinstance(message, dict):
            raise InputError("the MCP server sent what is no message")
        return message


def _result(method: str, answer: dict[str, Any]) -> dict[str, Any]:
    result = answer.get("result")
    if isinstance(result, dict):
        return result
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    shown = f" (code {code})" if type(code) is int else ""
    raise InputError(f"the MCP server answers {method} with an error{shown}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End of input is how a client says goodbye; a server that stays is killed."""
    assert server.stdin is not None
    assert server.stdout is not None
    with suppress(OSError):
        server.stdin.close()
    try:
        server.wait(2)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    server.stdout.close()
