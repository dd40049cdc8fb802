"""Which error ends with which exit code, and the last stop of every command."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from toolpulse.cli._text import safe, without_secrets
from toolpulse.errors import ConfigurationError, InputError, StoreError, ToolPulseError
from toolpulse.provenance.comparison.codes import Code

if TYPE_CHECKING:
    from collections.abc import Callable


Exit: TypeAlias = Code

_CODES: Final[tuple[tuple[type[ToolPulseError], Exit], ...]] = (
    (ConfigurationError, Exit.USAGE),
    (InputError, Exit.INPUT),
    (StoreError, Exit.INPUT),
)


class CommandError(ToolPulseError):
    """A command cannot go on: the code to end with, and one line that says why."""

    def __init__(self, code: Exit, message: str) -> None:
        self.code = code
        super().__init__(message)


def complain(message: str) -> None:
    """One line on stderr, whatever is in the message; passwords of URLs are left out."""
    if sys.stderr is not None:
        print(f"toolpulse: {safe(without_secrets(message))}", file=sys.stderr, flush=True)


def guarded(run: Callable[[], int]) -> int:
    """The exit code of ``run``, also where it raises; no traceback unless ``TOOLPULSE_DEBUG`` asks for one."""
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
    except Exception as error:  # noqa: BLE001 - the last stop: its text may hold values of a response
        return _internal(error)


def _code(error: ToolPulseError) -> Exit | None:
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)


def _internal(error: Exception) -> Exit:
    if os.environ.get("TOOLPULSE_DEBUG", "") not in {"", "0"}:
        traceback.print_exception(error)
    hint = "TOOLPULSE_DEBUG=1 shows the traceback"
    complain(f"internal error: {type(error).__qualname__} in {_place(error)} ({hint})")
    return Exit.INTERNAL


def _place(error: Exception) -> str:
    """The file and line of our own code that was running last."""
    package = Path(__file__).parents[1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if package in Path(frame.filename).parents]
    if not frames:
        return "an unknown place"
    return f"{Path(frames[-1].filename).relative_to(package.parent).as_posix()}:{frames[-1].lineno}"
