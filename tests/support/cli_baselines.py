"""Responses before and after a change, and what ``check`` says of them, for tests of the command line."""

from __future__ import annotations

import json

from cli_runs import Ran, one_line, ran

BEFORE = [{"results": [{"id": "a", "score": 0.5, "snippet": "x"}] * (1 + i % 3), "total": 3} for i in range(12)]
AFTER = [{"results": [{"id": "a", "score": "0.5", "summary": "x"}], "total": 3.5}] * 4


def check(capsys, folder, *flags) -> Ran:
    """Check after.jsonl."""
    return ran(capsys, "check", "--baseline", folder / "b.json", folder / "after.jsonl", *flags)


def checked(capsys, folder, *flags) -> dict:
    """The one object of ``check --json``."""
    code, out, err = check(capsys, folder, "--json", *flags)
    assert code in {0, 1}
    assert err == ""
    return json.loads(one_line(out))


def risks(report: dict) -> dict[str, str]:
    """The risk at each path."""
    return {finding["path"]: finding["risk"] for finding in report["findings"]}
