"""The exit codes that comparisons and commands end with."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """The codes every command ends with. The numbers from 64 on are those of BSD's ``sysexits.h``.

    130 is what shells give a program that Ctrl-C ended: 128 and the number of SIGINT.
    """

    OK = 0
    DIFFERENT = 1
    INCOMPARABLE = 2
    PRECONDITION = 3
    INPUT = 4
    USAGE = 64
    INTERNAL = 70
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """What the code says, for help texts."""
        return _MEANING[self]


_MEANING: Final = {
    Code.OK: "done (check: nothing found at a risk named by --fail-on)",
    Code.DIFFERENT: "a difference was found (check: at a risk named by --fail-on; doctor: a problem)",
    Code.INCOMPARABLE: "the two sides cannot be compared",
    Code.PRECONDITION: "something it needs is not there",
    Code.INPUT: "a file or a store cannot be read or judged",
    Code.USAGE: "wrong use: an argument, or the extra toolpulse[cli] is not installed",
    Code.INTERNAL: "a fault in toolpulse; TOOLPULSE_DEBUG=1 shows the traceback",
    Code.INTERRUPTED: "interrupted with Ctrl-C",
}
