"""The sessions in the docs: blocks of commands with what they printed, which tests run again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from toolpulse.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "provenance"
SESSION = re.compile(r"(<!-- session -->\n```console\n)(.*?)(```\n<!-- /session -->)", re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:toolpulse|echo) .*)$", re.MULTILINE)
REWRITE = "TOOLPULSE_REWRITE_DOCS"

# what differs from run to run, as the docs have it
VARIES = (
    (re.compile(r"http://127\.0\.0\.1:[0-9]+"), "http://127.0.0.1:43117"),
    (re.compile(r"sqlite [0-9.]+, schema (\d+), [0-9,]+ KiB"), r"sqlite 3.45.1, schema \1, 168 KiB"),
    (re.compile(r"(?<=  )[0-9]{2}:[0-9]{2}(?=  )"), "14:02"),
    (re.compile(r"[0-9-]{10}T[0-9:.]{12}Z"), "2026-03-01T14:02:07.118Z"),
    (re.compile(r"since (?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}"), "since 14:02"),
)


def session(commands: list[str], capsys) -> str:
    """A session: each command with what it printed, on either stream."""
    out, code = [], None
    for command in commands:
        out.append(f"$ {command}\n")
        if command == "echo $?":
            out.append(f"{code}\n")
            continue
        code = main(shlex.split(command)[1:])
        out.extend(capsys.readouterr())
    text = "".join(out).replace(str(Path.cwd()), "/srv/agent")
    for pattern, shown in VARIES:
        text = pattern.sub(shown, text)
    return text
