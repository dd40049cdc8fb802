"""A ruling about runs, for a person: the word, every reason with where it holds, what was not seen, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolpulse.cli._text import listed, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from toolpulse.provenance.comparison.result import Cause, Comparison

_MOST: Final = 4
"""Places that are listed for one reason."""


def report(head: str, ruling: Comparison, advice: Sequence[str], *, values: bool) -> list[Text | str]:
    """The lines of a report: ``head`` in front, below it the reasons, with ``values`` the changes, what is unverified,
    and the advice. The same reason at several places is told once.
    """
    from rich.text import Text

    from toolpulse.cli._render import columns

    changes = [
        [Text(safe(text)) for text in (change.where, f"{change.before} -> {change.after}")]
        for change in ruling.changes
        if values and hasattr(change, "where")
    ]
    return [
        Text(safe(head), "bold"),
        *columns([[Text(safe(cell)) for cell in row] for row in _rows(ruling.causes)], "  "),
        *columns(changes, "    "),
        *([f"  unverified: {', '.join(ruling.unverified)}"] if ruling.unverified else []),
        *(f"  {line}" for line in advice),
    ]


def _rows(causes: Sequence[Cause]) -> list[list[str]]:
    places: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for cause in causes:
        places.setdefault((cause.reason, cause.names), []).append(cause.where)
    return [
        [cell for cell in (reason, ", ".join(names), listed([at for at in found if at], _MOST, "pair")) if cell]
        for (reason, names), found in places.items()
    ]
