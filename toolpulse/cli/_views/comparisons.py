"""A comparison of runs, prompts or tools: as lines for a person, or with ``--json`` as one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolpulse.cli._kit.output import Output, print_json
from toolpulse.cli._kit.text import listed, safe
from toolpulse.judgement.findings import Finding

if TYPE_CHECKING:
    from rich.text import Text

    from toolpulse.provenance.comparison.difference import Difference
    from toolpulse.provenance.comparison.result import Cause, Comparison

_HEADS: Final = dict.fromkeys(("removed", "contract", "added", "description", "reordered"), "CHANGED") | dict.fromkeys(
    ("first", "new"), "RECORDED"
)
"""The word in front, where it is not the comparison's own."""

_MOST: Final = 4
"""Pairs that are listed for one reason."""


def print_comparison(comparison: Comparison, *, as_json: bool, code: int | None = None) -> int:
    """Print a comparison, and return the exit code: the comparison's own, or ``code`` in its place."""
    ends_with = comparison.exit_code if code is None else code
    if as_json:
        print_json({**comparison.to_json(), "code": ends_with})
    else:
        from toolpulse.cli._views.printer import Printer

        Printer(Output()).lines(_change_lines(comparison))
    return ends_with


def cause_lines(headline: str, comparison: Comparison, advice: Sequence[str], *, values: bool) -> list[Text | str]:
    """Why runs do not compare: the headline, below it each reason with the places where it holds, and the advice.

    With ``values`` the changes are listed, too.
    """
    from rich.text import Text

    from toolpulse.cli._views.printer import columns

    # a Finding has no `where`
    changes = [
        [Text(safe(text)) for text in (change.where, f"{change.before} -> {change.after}")]
        for change in comparison.changes
        if values and hasattr(change, "where")
    ]
    return [
        Text(safe(headline), "bold"),
        *columns([[Text(safe(cell)) for cell in row] for row in _reasons(comparison.causes)], "  "),
        *columns(changes, "    "),
        *([f"  unverified: {', '.join(comparison.unverified)}"] if comparison.unverified else []),
        *(f"  {line}" for line in advice),
    ]


def _reasons(causes: Sequence[Cause]) -> list[list[str]]:
    """The cells of each reason. One that holds at several places is one row."""
    places: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for cause in causes:
        places.setdefault((cause.reason, cause.names), []).append(cause.where)
    return [
        [cell for cell in (reason, ", ".join(names), listed([at for at in where if at], _MOST, "pair")) if cell]
        for (reason, names), where in places.items()
    ]


def _change_lines(comparison: Comparison) -> list[Text | str]:
    """What the comparison came to, and below it every change."""
    from rich.text import Text

    from toolpulse.cli._views.printer import columns

    word = Text(_HEADS.get(comparison.primary, comparison.primary.upper().replace("_", " ")), "bold")
    rows = [_change_row(change) for change in comparison.changes]
    return [*columns([[word, Text(safe(comparison.message))]]), *columns(rows, "  ")]


def _change_row(change: Difference | Finding) -> list[Text]:
    from rich.text import Text

    from toolpulse.cli._views.drift import because
    from toolpulse.cli._views.printer import risk_text

    judged = isinstance(change, Finding)
    path = change.path if isinstance(change, Finding) else change.where
    return [
        *([risk_text(change.risk)] if isinstance(change, Finding) else []),
        Text(safe(path)),
        Text(safe(change.before if change.before == change.after else f"{change.before} -> {change.after}")),
        Text(safe(because(change)), "dim" if judged else ""),
    ]
