"""Running the command line in tests: in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from toolpulse.cli import main

ROOT = Path(__file__).resolve().parents[2]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def ran(capsys, *argv) -> Ran:
    """Run a command in this process."""
    capsys.readouterr()
    code = main([str(word) for word in argv])
    return Ran(code, *capsys.readouterr())


def environment(**extra) -> dict[str, str]:
    """This process's environment, so that the package is found from any folder and nothing colours the output."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith("TOOLPULSE_") and k not in {"FORCE_COLOR", "COLUMNS"}
    }
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **extra}


def program(*argv) -> list[str]:
    """The words that run a command in a process of its own."""
    return [sys.executable, "-m", "toolpulse", *(str(word) for word in argv)]


def ran_apart(*argv, cwd=None, **extra) -> Ran:
    """Run a command in a process of its own."""
    done = subprocess.run(
        program(*argv), capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd, env=environment(**extra)
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_lines(path: Path, *responses) -> Path:
    """Write responses as JSON lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in responses), "utf-8")
    return path


def one_line(text: str) -> str:
    """The only line of a text, printable throughout."""
    (line,) = text.splitlines()
    assert line.isprintable()
    return line
