"""A small MCP server over stdio; the first argument says how it misbehaves."""

from __future__ import annotations

import json
import sys
import time

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
PAGES = {
    None: {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "nextCursor": "2"},
    "2": {"tools": [{"name": "b", "inputSchema": {"type": "object"}}]},
}


def send(message):
    """Write one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    method, number = request["method"], request.get("id")
    if method == "initialize":
        if HOW == "exits":
            sys.exit(3)
        if HOW == "hangs":
            time.sleep(3600)
        if HOW == "garbage":
            print("Server ready!", flush=True)
        if HOW == "list":
            print("[1]", flush=True)
        send({"method": "notifications/message", "params": {"level": "info"}})
        send({"id": number, "method": "ping"})
        send({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}})
    elif method == "tools/list":
        if HOW == "error":
            send({"id": number, "error": {"code": -32603, "message": "hunter2"}})
        elif HOW == "no tools":
            send({"id": number, "result": {"tools": "hunter2"}})
        elif HOW == "endless":
            send({"id": number, "result": {"tools": [], "nextCursor": "again"}})
        else:
            send({"id": number, "result": PAGES[request["params"].get("cursor")]})
