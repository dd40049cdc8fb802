"""How a comparison ends: the codes every command ends with, and a ruling with its reasons."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import msgspec

from toolpulse.judgement.consumer import Finding
from toolpulse.judgement.diff import Change

SCHEMA: Final = 1
"""The version of a ruling as JSON."""


class Code(IntEnum):
    """The codes every command ends with. The numbers from 64 on are those of BSD's ``sysexits.h``."""

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


class Cause(msgspec.Struct, frozen=True, order=True):
    """One reason of a ruling: which, where it holds, and what it names there (fields, tools). Never a value."""

    reason: str
    where: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        return f"{self.reason}{at}" + (f": {', '.join(self.names)}" if self.names else "")


class Ruling(msgspec.Struct, frozen=True):
    """What a comparison came to.

    ``primary`` is the one word for it (``same``, ``changed``, ``prompt_changed``, ``MODEL_DRIFT``), ``causes`` are all
    reasons, ``changes`` the facts, judged (Finding) or not (Change), ``unverified`` what could not be looked at, and
    ``message`` a sentence for a person.
    """

    code: Code
    primary: str
    causes: tuple[Cause, ...] = ()
    changes: tuple[Change | Finding, ...] = ()
    unverified: tuple[str, ...] = ()
    message: str = ""

    @property
    def exit_code(self) -> int:
        """The code a command ends with."""
        return int(self.code)

    def to_json(self) -> dict[str, Any]:
        """The ruling as one JSON object, integer ``schema`` first. Paths are printed."""
        return {
            "schema": SCHEMA,
            "code": int(self.code),
            "primary": self.primary,
            "causes": [{"reason": c.reason, "where": c.where, "names": list(c.names)} for c in self.causes],
            "changes": [_plain(change) for change in self.changes],
            "unverified": list(self.unverified),
            "message": self.message,
        }


def _plain(change: Change | Finding) -> dict[str, Any]:
    """A change with what it has: a fact, or a rule and a risk; a pattern only where there is one."""
    if isinstance(change, Finding):
        head = {"path": change.path, "rule_id": change.rule_id, "risk": change.risk.value}
    else:
        head = {"path": change.where, "fact": change.fact}
    found: dict[str, Any] = {**head, "before": change.before, "after": change.after, "evidence": change.evidence}
    if change.pattern is not None:
        found |= {"pattern": change.pattern, "counterpart": change.counterpart}
    return found
