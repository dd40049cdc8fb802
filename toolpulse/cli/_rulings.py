"""How a ruling is told: to a person as a block of lines, with ``--json`` as one object, and at the end as a code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolpulse.cli._exit import complain
from toolpulse.cli._output import Output
from toolpulse.cli._text import safe, safe_json
from toolpulse.judgement.findings import Finding

if TYPE_CHECKING:
    from rich.text import Text

    from toolpulse.provenance.comparison.difference import Difference
    from toolpulse.provenance.comparison.result import Comparison

_HEADS: Final = dict.fromkeys(("removed", "contract", "added", "description", "reordered"), "CHANGED") | dict.fromkeys(
    ("first", "new"), "RECORDED"
)
"""The word in front where it is not the ruling's own."""


def tell(ruling: Comparison, *, as_json: bool, code: int | None = None, more: Mapping[str, Any] | None = None) -> int:
    """Print a ruling and return the code to end with: the ruling's own, or ``code`` in its place.

    ``more`` is added to the JSON object.
    """
    ended = ruling.exit_code if code is None else code
    if as_json:
        print_json({**ruling.to_json(), "code": ended, **(more or {})})
    else:
        from toolpulse.cli._render import Printer

        Printer(Output()).lines(lines(ruling))
    return ended


def print_json(plain: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    Output().write(safe_json(json.dumps(plain, ensure_ascii=True)) + "\n")


def remark(remarks: Sequence[str]) -> None:
    """What to think about, on stderr."""
    for one in remarks:
        complain(f"note: {one}")


def lines(ruling: Comparison) -> list[Text | str]:
    """A ruling for a person: what it came to, and below it every change."""
    from rich.text import Text

    from toolpulse.cli._render import columns

    head = Text(_HEADS.get(ruling.primary, ruling.primary.upper().replace("_", " ")), "bold")
    rows = [_row(change) for change in ruling.changes]
    return [*columns([[head, Text(safe(ruling.message))]]), *columns(rows, "  ")]


def _row(change: Difference | Finding) -> list[Text]:
    from rich.text import Text

    from toolpulse.cli._render import because, risk_text

    judged = isinstance(change, Finding)
    path = change.path if isinstance(change, Finding) else change.where
    return [
        *([risk_text(change.risk)] if isinstance(change, Finding) else []),
        Text(safe(path)),
        Text(safe(change.before if change.before == change.after else f"{change.before} -> {change.after}")),
        Text(safe(because(change)), "dim" if judged else ""),
    ]
