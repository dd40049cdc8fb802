from __future__ import annotations

import subprocess
import sys

import pytest
from cli_runs import environment, one_line, ran, ran_apart

import toolpulse
from toolpulse.cli import COMMANDS
from toolpulse.cli._kit.exits import Exit

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(capsys, name):
    """Help is where somebody at three in the morning looks first: an example, and what each exit code means."""
    code, out, err = ran(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: toolpulse {name} ")
    assert f"example:\n  toolpulse {name}" in out
    for exit_code in (Exit.OK, Exit.USAGE, Exit.INTERNAL):
        assert f"  {exit_code.value:<4} {exit_code.meaning}\n" in out


def test_help_lists_every_command_and_every_code(capsys):
    """The first screen has to lead on to all there is."""
    code, out, _ = ran(capsys, "--help")
    assert code == 0
    width = max(map(len, NAMES))
    assert all(f"\n    {command.name:<{width}}  {command.summary}" in out for command in COMMANDS)
    assert all(f"  {code.value:<4} {code.meaning}" in out for code in Exit)


def test_version_is_the_package_s(capsys):
    """Who reports a fault is asked for it."""
    assert ran(capsys, "--version") == (0, f"toolpulse {toolpulse.__version__}\n", "")


@pytest.mark.parametrize("name", NAMES)
def test_without_rich_every_command_says_what_to_install(capsys, monkeypatch, name):
    """Whoever forgot the extra gets the same line from each command, wrong arguments or right ones."""
    monkeypatch.setitem(sys.modules, "rich", None)
    for argv in ([name], [name, "--bogus"], [name, "--fast"]):
        code, out, err = ran(capsys, *argv)
        assert (code, out) == (64, "")
        assert "pip install 'toolpulse[cli]'" in one_line(err)


def test_without_rich_help_and_version_work():
    """They need nothing, and the command must import without its extra."""
    script = "import sys; sys.modules['rich'] = None; from toolpulse.cli import main; sys.exit(main(sys.argv[1:]))"
    for argv in (["--help"], ["--version"], ["check", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *argv], capture_output=True, text=True, env=environment(), check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "toolpulse" in done.stdout


def test_both_names_of_the_program_agree():
    """The script and ``python -m`` are one program."""
    assert ran_apart("--version") == (0, f"toolpulse {toolpulse.__version__}\n", "")
    assert ran_apart("bogus").code == 64


def test_each_command_is_one_line_of_the_table():
    """A name twice would shadow a command."""
    assert len(set(NAMES)) == len(NAMES)
    functions = [one.run for command in COMMANDS for one in (command.actions or (command,))]
    folders = {function.__module__.rpartition(".")[0] for function in functions}
    assert folders == {"toolpulse.cli.commands", "toolpulse.cli.commands.provenance"}
