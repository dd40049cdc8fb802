"""Standard output: the one place that writes to it, and knows when nobody reads it any more."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from toolpulse.cli._exit import CommandError, Exit


class Output:
    """Writes to standard output. Once its reader has gone (``| head``) it takes everything and writes nothing."""

    def __init__(self) -> None:
        self.gone = sys.stdout is None

    def write(self, text: str) -> None:
        """Write at once; what the encoding lacks is escaped. Raises CommandError where the device refuses."""
        if self.gone:
            return
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:
            self.gone = True
            drop_stdout()
        except OSError as error:
            drop_stdout()
            reason = error.strerror or type(error).__name__
            raise CommandError(Exit.INTERNAL, f"cannot write to standard output: {reason}") from None


def drop_stdout() -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not complain of it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
