from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import environment, one_line, program, ran, ran_apart, write_lines

import toolpulse
from toolpulse.cli import COMMANDS, main
from toolpulse.cli._kit.exits import Exit, complain, guarded
from toolpulse.cli._kit.output import Output
from toolpulse.errors import ConfigurationError, InputError, StoreError, ToolPulseError

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


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_the_usage_line_names_every_option(capsys, command):
    """The usage line is written by hand, so an option can be forgotten in it or outlive its removal."""
    _, out, _ = ran(capsys, command.name, "--help")
    usage, _, rest = out.partition("\n\n")
    options = {word.strip(",") for line in rest.splitlines() for word in line.split()[:1] if word.startswith("-")}
    shown = {word.strip("[],") for word in usage.replace("|", " ").split() if word.strip("[").startswith("-")}
    assert options - {"-h", "--"} == shown
    assert command.usage.isascii()


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


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("bad \x1b[2J key"), 64),
        (InputError("f:1: bad\nline"), 4),
        (StoreError("locked"), 4),
        (ToolPulseError("odd"), 70),
        (ZeroDivisionError("secret value"), 70),
        (RecursionError("secret value"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_code(capsys, error, code):
    """The codes are what a pipeline branches on; no error may slip through as a traceback."""

    def run():
        raise error

    assert guarded(run) == code
    err = capsys.readouterr().err
    if code == 130:
        assert err == ""
    else:
        assert one_line(err).startswith("toolpulse: ")
        assert "secret" not in err


def test_an_internal_error_names_type_and_place(capsys, monkeypatch):
    """A fault report needs the place; the message of an exception may hold a value of a response."""
    command = next(command for command in COMMANDS if command.name == "log")
    monkeypatch.setattr("toolpulse.cli.commands.log._print", lambda *_: 1 / 0)
    code, out, err = ran(capsys, command.name, "x")
    assert (code, out) == (70, "")
    assert "internal error: ZeroDivisionError in toolpulse/cli/commands/log.py:" in one_line(err)
    assert "division" not in err
    monkeypatch.setenv("TOOLPULSE_DEBUG", "1")
    code, out, err = ran(capsys, command.name, "x")
    assert (code, out) == (70, "")
    assert err.startswith("Traceback")
    assert "division by zero" in err


def test_system_exit_passes():
    """Only Exception is turned into a code; whoever ends the process on purpose may."""

    def run():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        guarded(run)


def test_complaints_stay_on_one_line(capsys):
    """A file name or a key in a message must not forge a second one."""
    complain("a\nb\x1b]0;t\x07\u202e\ud800\u2028c")
    assert one_line(capsys.readouterr().err)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGPIPE there")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_fault(tmp_path, flags):
    """`toolpulse log | head -1` is the commonest use of all; the verdict of `check` must survive it, too."""
    write_lines(tmp_path / "old.jsonl", *[{"a": 1}] * 3)
    write_lines(tmp_path / "new.jsonl", {f"k{i}": {"x": 1} for i in range(250)})
    baseline = tmp_path / "b.json"
    assert main(["learn", str(tmp_path / "old.jsonl"), "-o", str(baseline)]) == 0
    for argv, expected in (
        (("check", "--baseline", baseline, tmp_path / "new.jsonl", *flags), 1),
        (("show", baseline, *flags), 0),
        (("check", "--help"), 0),
    ):
        reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
        reader.wait()
        done = subprocess.run(
            program(*argv), stdout=reader.stdin, stderr=subprocess.PIPE, env=environment(), check=False
        )
        reader.stdin.close()
        assert (done.returncode, done.stderr) == (expected, b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_is_reported(tmp_path):
    """Output that was lost must not look like success."""
    write_lines(tmp_path / "old.jsonl", {"a": 1})
    main(["learn", str(tmp_path / "old.jsonl"), "-o", str(tmp_path / "b.json")])
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            program("show", tmp_path / "b.json"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == 70
    assert "No space left on device" in one_line(done.stderr)


def test_no_standard_output_at_all(monkeypatch, tmp_path):
    """A process started without one has ``sys.stdout`` None; the exit code is still the answer."""
    write_lines(tmp_path / "old.jsonl", {"a": 1})
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["learn", str(tmp_path / "old.jsonl"), "-o", str(tmp_path / "b.json")]) == 0
    out = Output()
    assert out.gone
    out.write("nowhere")


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
