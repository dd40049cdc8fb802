"""Programs that run beside a test and are ended by it, and what must be in their store afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from scripts import environment, logged

NO_WORD_OF_FORKS = ("-W", "ignore:This process:DeprecationWarning")

PRELUDE = """
import json, os, sys, time
from pathlib import Path
from toolpulse import Monitor
from toolpulse.sinks.jsonl import JsonlSink

GOOD = {"id": 1, "name": "x", "tags": ["a"]}
BREAK = {**GOOD, "id": "1"}

"""


class Program:
    """A script that runs beside the test; it and the test tell each other how far they are by files in a folder."""

    def __init__(self, folder, code, *arguments, before=""):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, *NO_WORD_OF_FORKS, "-c", before + PRELUDE + code, *map(str, arguments)],
            cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_for(self, name):
        """Wait until the program says so."""
        self.wait_until((self.folder / name).exists)

    def wait_until(self, true):
        """Wait for something the program does."""
        while not true():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.005)

    def kill(self):
        """End it as the kernel does when memory is short."""
        self.process.kill()
        self.process.communicate(timeout=60)

    def result(self):
        """What it printed, as JSON, and its warnings; it has to end well."""
        out, err = self.process.communicate(timeout=90)
        assert self.process.returncode == 0, err
        return json.loads(out), err.splitlines()


def whole(store, tool="t"):
    """What is known of a tool, once it was seen that counts add up and all texts can be read."""
    assert store.check() == []
    known = store.load(tool, "")
    if known is not None:
        rows = [*known.rows.values(), *(held.row for held in known.quarantined.values())]
        merged = known.merged.observations.count if known.merged else 0
        assert sum(row.count for row in rows) + merged == known.observations
    return known


def told(folder, name="drift.jsonl"):
    """The ids of what a drift log holds, by status."""
    return {event.id: event.status for event in logged(folder, name)} if (folder / name).exists() else {}
