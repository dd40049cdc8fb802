from __future__ import annotations

import json
import subprocess
import sys

import pytest
from scripts import environment

SERVER = """
import json, sys
WATCH

@watch
def search(query):
    if query == "fail":
        raise LookupError("no such thing")
    return {"results": [{"id": 1, "score": query if query == "drift" else 0.5}]}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": search(**request["params"])}
    except LookupError as error:
        answer = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": 1, "message": str(error)}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""

PLAIN = "watch = lambda function: function"
WAYS = {
    "as it is": "from toolpulse import watch",
    "inline": "import toolpulse\nfrom toolpulse import watch\ntoolpulse.configure(background=False)",
    "with print redirected": "import builtins\nfrom toolpulse import watch",
}


def _talk(setup, cwd):
    """What a client says and hears, line by line as a protocol over pipes goes."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER.replace("WATCH", setup)],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    heard = []
    queries = ["a"] * 12 + ["drift", "fail", "drift", "a"]
    for number, query in enumerate(queries):
        request = {"jsonrpc": "2.0", "id": number, "method": "search", "params": {"query": query}}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        heard.append(server.stdout.readline())
    rest, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    return b"".join(heard) + rest, errors


@pytest.mark.parametrize("way", WAYS)
def test_stdout_is_the_protocol_s_to_the_byte(way, tmp_path):
    """One line of ours between two answers would end the session of a server that speaks over stdio."""
    plain, silence = _talk(PLAIN, tmp_path)
    watched, told = _talk(WAYS[way], tmp_path)
    assert watched == plain
    assert silence == b""
    events = [json.loads(line) for line in told.splitlines()]
    assert [(event["event"], event["status"]) for event in events] == [
        ("tool_drift", "learned"),
        ("tool_drift", "open"),
    ]
    assert events[1]["changes"][0]["path"] == "results[].score"
    assert events[1]["risk"] == "high"
