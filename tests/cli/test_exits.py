from __future__ import annotations

import pytest
from cli_runs import one_line, ran

from toolpulse.cli import COMMANDS
from toolpulse.cli._kit.exits import complain, guarded
from toolpulse.errors import ConfigurationError, InputError, StoreError, ToolPulseError


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
