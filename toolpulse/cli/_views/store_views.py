"""What a store holds, as lines: the status of each tool, decisions, and an examination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from toolpulse.cli._kit.text import plural, safe, with_key
from toolpulse.cli._kit.times import clock
from toolpulse.cli._views.printer import columns, risk_text
from toolpulse.judgement.changes import WARM_UP

if TYPE_CHECKING:
    from toolpulse.cli._views.store_facts import Checkup, ToolStatus
    from toolpulse.state.incidents import Decision

_HEADS: Final = ("tool", "state", "calls", "errors", "24h", "shapes", "first seen", "last seen", "open incidents")
_RIGHT: Final = range(2, 5)
"""The columns of figures, which are aligned on the right."""


def status_table(rows: Sequence[ToolStatus], total: Mapping[str, int], names: Mapping[str, str]) -> list[Text | str]:
    """A line for each tool and key, and one with the total. ``names`` are the tools' short names."""
    if not rows:
        return ["no tools"]
    cells = [[Text(head, "dim") for head in _HEADS], *(_tool(row, names[row.tool]) for row in rows)]
    for at in _RIGHT:
        width = max(len(row[at].plain) for row in cells)
        for row in cells:
            row[at].pad_left(width - len(row[at].plain))
    figures = [plural(total["tools"], "tool"), plural(total["calls"], "call"), plural(total["errors"], "error")]
    return [*columns(cells), "", ", ".join([*figures, plural(total["incidents"], "open incident")])]


def _tool(row: ToolStatus, name: str) -> list[Text]:
    learning = row.state == "learning"
    incidents = Text(str(row.incidents) if row.incidents else "-")
    if row.risk is not None:
        incidents = Text.assemble(f"{row.incidents}, worst ", risk_text(row.risk))
    return [
        Text(safe(with_key(name, row.key)), "bold"),
        Text(f"learning, {row.observations} of {WARM_UP}" if learning else row.state, "yellow" if learning else ""),
        *(Text(f"{figure:,}") for figure in (row.calls, row.errors, row.last_24h)),
        Text(f"{row.learned:,}" + (f" and {row.quarantined:,} quarantined" if row.quarantined else "")),
        Text(clock(row.first)),
        Text(clock(row.last)),
        incidents,
    ]


def decision_lines(
    decisions: Sequence[Decision], past_tense: str, names: Mapping[str, str], consequence: str
) -> list[Text | str]:
    """A line for each incident that was decided on, its paths below it, and at the end what follows from it.

    ``past_tense`` is the decision's word, ``accepted``; ``names`` are the tools' short names.
    """
    out: list[Text | str] = []
    for decision in decisions:
        name = with_key(names.get(decision.tool, decision.tool), decision.key)
        changes = plural(len(decision.changes), "change")
        head = [Text(past_tense.upper(), "bold"), Text(safe(name), "bold"), Text(changes)]
        out += columns([[*head, Text(decision.incident, "dim")]])
        out += [f"  {path}" for path in sorted({path for path, _, _ in decision.changes})]
    return [*out, consequence]


def checkup(result: Checkup) -> list[Text | str]:
    """What an examination found, and what to do about each problem."""
    oldest = f", the oldest of {result.outbox.oldest}" if result.outbox.waiting else ""
    worst = f", worst {result.risk}" if result.risk is not None else ""
    figures: list[tuple[str, str]] = [
        ("store", result.where),
        ("engine", f"{result.engine} {result.version}, schema {result.schema}, {_bytes(result.size)}"),
        ("tools", f"{result.tools:,}"),
        ("incidents", f"{result.incidents:,} open{worst}"),
        ("outbox", f"{plural(result.outbox.waiting, 'event')} to be sent{oldest}"),
        ("writers", f"{result.outbox.writers:,} in the last 30 days"),
    ]
    lines = columns([[Text(f"  {name}"), Text(safe(text))] for name, text in figures])
    if not result.problems:
        return [Text("HEALTHY", "bold green"), *lines]
    problems = [line for one in result.problems for line in (f"  {one.what}", f"    to do: {one.advice}")]
    return [Text(plural(len(result.problems), "problem").upper(), "bold yellow"), *lines, "", *problems]


def _bytes(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,} {unit}"
        size = round(size / 1024)
    return f"{size:,} GiB"
