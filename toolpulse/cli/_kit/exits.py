"""Exit codes: which error ends with which, and the function that runs every command and turns errors into codes."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from toolpulse.cli._kit.text import safe, without_secrets
from toolpulse.errors import ConfigurationError, InputError, StoreError, ToolPulseError
from toolpulse.provenance.comparison.codes import Code

if TYPE_CHECKING:
    from collections.abc import Callable


Exit: TypeAlias = Code
"""The exit codes of the program; each has its meaning, which ``--help`` prints."""

_CODES: Final[tuple[tuple[type[ToolPulseError], Exit], ...]] = (
    (ConfigurationError, Exit.USAGE),
    (InputError, Exit.INPUT),
    (StoreError, Exit.INPUT),
)

_PACKAGE: Final = Path(__file__).parents[2]


class CommandError(ToolPulseError):
    """A command cannot go on: the code to end with, and one line for stderr that says why."""

    def __init__(self, code: Exit, message: str) -> None:
        self.code = code
        super().__init__(message)


def complain(message: str) -> None:
    """Print one line on stderr, ``toolpulse: `` in front. Control characters and passwords in URLs are masked."""
    if sys.stderr is not None:
        print(f"toolpulse: {safe(without_secrets(message))}", file=sys.stderr, flush=True)


def guarded(run: Callable[[], int]) -> int:
    """Call ``run`` and return the exit code, also where it raises an Exception or is interrupted by Ctrl-C.

    An error that users can cause is one line on stderr. Any other is an internal error, named by its type and the line
    of code only, because its text may hold values of a response; ``TOOLPULSE_DEBUG=1`` prints the traceback.
    """
    try:
        return run()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except ToolPulseError as error:
        code = error.code if isinstance(error, CommandError) else _code(error)
        if code is not None:
            complain(str(error))
            return code
        return _internal(error)
    except Exception as error:  # noqa: BLE001 - nothing above catches it, and its text may hold values of a response
        return _internal(error)


def _code(error: ToolPulseError) -> Exit | None:
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)


def _internal(error: Exception) -> Exit:
    if os.environ.get("TOOLPULSE_DEBUG", "") not in {"", "0"}:
        traceback.print_exception(error)
    hint = "TOOLPULSE_DEBUG=1 shows the traceback"
    complain(f"internal error: {type(error).__qualname__} in {_code_line(error)} ({hint})")
    return Exit.INTERNAL


def _code_line(error: Exception) -> str:
    """The file and line of our own code that ran last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    if not frames:
        return "an unknown place"
    return f"{Path(frames[-1].filename).relative_to(_PACKAGE.parent).as_posix()}:{frames[-1].lineno}"
