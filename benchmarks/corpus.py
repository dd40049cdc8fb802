"""Recorded responses, read where they lie.

``TOOLPULSE_CORPUS`` names the folder that holds ``corpus/``; without it, one beside the checkout is looked for.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).resolve().parents[1] / "tests" / "support"


def from_tests(module: str) -> Any:
    """A module of the tests, which are no package."""
    sys.path.insert(0, str(_TESTS))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.remove(str(_TESTS))


def corpus() -> Path | None:
    """The folder of recorded responses; None, and a word on stderr, where there is none."""
    found: Path = from_tests("corpus").folder() / "corpus"
    if not found.is_dir():
        print("no recorded responses: TOOLPULSE_CORPUS names the folder that holds corpus/", file=sys.stderr)
        return None
    return found


def lines(path: Path) -> Iterator[Any]:
    """The documents of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
