from __future__ import annotations

import pytest
from cli_runs import one_line, ran

from toolpulse.cli import COMMANDS

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_usage_line_names_every_option(capsys, command):
    """The usage line is written by hand, so an option can be forgotten in it or outlive its removal."""
    _, out, _ = ran(capsys, command.name, "--help")
    usage, _, rest = out.partition("\n\n")
    options = {word.strip(",") for line in rest.splitlines() for word in line.split()[:1] if word.startswith("-")}
    shown = {word.strip("[],") for word in usage.replace("|", " ").split() if word.strip("[").startswith("-")}
    assert options - {"-h", "--"} == shown
    assert command.usage.isascii()


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["bogus"],
        ["--bogus"],
        ["learn"],
        ["learn", "x.jsonl"],
        ["learn", "-o", "b.json"],
        ["learn", "x", "-o", "b.json", "--unwrap", "maybe"],
        ["learn", "x", "-o", "b.json", "--map", "a..b"],
        ["learn", "x", "-o", "b.json", "--record", ""],
        ["check", "x"],
        ["check", "x", "--baseline", "b", "--fail-on", "hihg"],
        ["check", "x", "--baseline", "b", "--fail-on", ""],
        ["check", "x", "--baseline", "b", "--fail-on", "high,quiet"],
        ["check", "x", "--baseline", "b", "--numeric", "sloppy"],
        ["check", "x", "--baseline", "b", "--null", "info"],
        ["check", "x", "--baseline", "b", "--ignore", "a["],
        ["check", "x", "--baseline", "b", "--require", "*b"],
        ["check", "x", "--baseline", "b", "--base", "b"],
        ["show"],
        ["show", "a", "b"],
        ["show", "a\0b"],
        ["learn", "x", "-o", ""],
        ["log", "--since", "yesterday"],
        ["log", "--since", "999999w"],
        ["log", "--risk", "red"],
        ["log", "--follow", "-"],
        ["demo", "extra"],
        ["log", "--\x1b[31mred\nline"],
    ],
)
def test_wrong_use_is_64_and_one_line(capsys, argv):
    """argparse's own 2 means something else here, and a usage text of ten lines hides what was wrong."""
    code, out, err = ran(capsys, *argv)
    assert (code, out) == (64, "")
    assert one_line(err).startswith("toolpulse: ")
