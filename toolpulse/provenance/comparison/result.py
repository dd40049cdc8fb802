"""How a comparison ends: a code, one word, the reasons and the differences."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from toolpulse.judgement.findings import Finding
from toolpulse.provenance.comparison.codes import Code
from toolpulse.provenance.comparison.difference import Difference

SCHEMA: Final = 1
"""The version of a comparison as JSON."""


class Cause(msgspec.Struct, frozen=True, order=True):
    """One reason for a result: its name, where it holds, and the fields or tools it is about. Never a value."""

    reason: str
    where: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        return f"{self.reason}{at}" + (f": {', '.join(self.names)}" if self.names else "")


class Comparison(msgspec.Struct, frozen=True):
    """What a comparison came to.

    ``primary`` is the one word for it (``same``, ``changed``, ``prompt_changed``, ``MODEL_DRIFT``) and ``causes`` are
    all reasons. ``changes`` are the differences, judged (Finding) or not (Difference). ``unverified`` names what could
    not be looked at, and ``message`` is a sentence for a person.
    """

    code: Code
    primary: str
    causes: tuple[Cause, ...] = ()
    changes: tuple[Difference | Finding, ...] = ()
    unverified: tuple[str, ...] = ()
    message: str = ""

    @property
    def exit_code(self) -> int:
        """The code a command ends with, as a plain integer."""
        return int(self.code)

    def to_json(self) -> dict[str, Any]:
        """The comparison as one JSON object, integer ``schema`` first. Paths are printed."""
        return {
            "schema": SCHEMA,
            "code": int(self.code),
            "primary": self.primary,
            "causes": [{"reason": c.reason, "where": c.where, "names": list(c.names)} for c in self.causes],
            "changes": [_plain(change) for change in self.changes],
            "unverified": list(self.unverified),
            "message": self.message,
        }


def _plain(change: Difference | Finding) -> dict[str, Any]:
    """A judged change has a rule and a risk, an unjudged one its fact; a pattern is there only where it has one."""
    if isinstance(change, Finding):
        head = {"path": change.path, "rule_id": change.rule_id, "risk": change.risk.value}
    else:
        head = {"path": change.where, "fact": change.fact}
    row: dict[str, Any] = {**head, "before": change.before, "after": change.after, "evidence": change.evidence}
    if change.pattern is not None:
        row |= {"pattern": change.pattern, "counterpart": change.counterpart}
    return row
