"""A ruling about runs, for a person: the word, every reason with where it holds, what was not seen, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse.cli._text import safe

if TYPE_CHECKING:
    from rich.text import Text

    from toolpulse.verdicts import Ruling


def report(head: str, ruling: Ruling, advice: list[str]) -> list[Text | str]:
    """The lines of a report: ``head`` in front, below it the causes, the changes, what is unverified, the advice."""
    from rich.text import Text

    from toolpulse.cli._render import columns

    causes = [[Text(safe(text)) for text in (c.reason, c.where, ", ".join(c.names))] for c in ruling.causes]
    changes = [
        [Text(safe(text)) for text in (c.where, f"{c.before} -> {c.after}", c.evidence)]
        for c in ruling.changes
        if hasattr(c, "where")
    ]
    return [
        Text(safe(head), "bold"),
        *columns([[cell for cell in row if cell.plain] for row in causes], "  "),
        *columns(changes, "    "),
        *([f"  unverified: {', '.join(ruling.unverified)}"] if ruling.unverified else []),
        *(f"  {line}" for line in advice),
    ]
