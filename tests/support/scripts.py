"""Runs a script in an interpreter of its own, as a user's program would run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from toolpulse.events import decode

ROOT = Path(__file__).resolve().parents[2]


def environment(**more):
    """The environment of this process without what steers ToolPulse, and with the checkout on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLPULSE_")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def run(code, cwd, *, env=None, python=sys.executable, **options):
    """Run the code and return what it did; a minute is time enough for most of them."""
    return subprocess.run(
        [python, "-W", "ignore:This process:DeprecationWarning", "-c", code],  # 3.12 and later warn of forks
        cwd=cwd,
        env=environment(**(env or {})),
        capture_output=True,
        text=options.pop("text", True),
        check=False,
        timeout=options.pop("timeout", 60),
        **options,
    )


def logged(folder, name="drift.jsonl"):
    """The events of a drift log; every line has to be whole."""
    return [decode(line) for line in (folder / name).read_bytes().splitlines()]
