"""What commands on a store show to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from toolpulse.cli._render import clock, columns, risk_text
from toolpulse.cli._text import plural, safe, with_key
from toolpulse.judgement.changes import WARM_UP

if TYPE_CHECKING:
    from toolpulse.cli.doctor import Checkup
    from toolpulse.cli.status import ToolStatus
    from toolpulse.state.incidents import Decision

_HEADS: Final = ("tool", "state", "calls", "errors", "24h", "shapes", "first seen", "last seen", "open incidents")
_RIGHT: Final = range(2, 5)
"""The columns of figures."""


def status_table(rows: Sequence[ToolStatus], total: Mapping[str, int], names: Mapping[str, str]) -> list[Text | str]:
    """A line for each tool and key, and their total."""
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
        Text(f"{row.taught:,}" + (f" and {row.held:,} held" if row.held else "")),
        Text(clock(row.first)),
        Text(clock(row.last)),
        incidents,
    ]


def decided(taken: Sequence[Decision], word: str, names: Mapping[str, str], tail: str) -> list[Text | str]:
    """What was decided, a line for each incident with the paths below it, and what follows from it."""
    out: list[Text | str] = []
    for decision in taken:
        name = with_key(names.get(decision.tool, decision.tool), decision.key)
        changes = plural(len(decision.changes), "change")
        head = [Text(word.upper(), "bold"), Text(safe(name), "bold"), Text(changes), Text(decision.incident, "dim")]
        out += columns([head])
        out += [f"  {path}" for path in sorted({path for path, _, _ in decision.changes})]
    return [*out, tail]


def checkup(found: Checkup) -> list[Text | str]:
    """How a store is doing, and what to do."""
    waits = f"{plural(found.outbox.waiting, 'event')} to be sent"
    oldest = f", the oldest of {found.outbox.oldest}" if found.outbox.waiting else ""
    worst = f", worst {found.risk}" if found.risk is not None else ""
    lines: list[tuple[str, str]] = [
        ("store", found.where),
        ("engine", f"{found.engine} {found.version}, schema {found.schema}, {_bytes(found.size)}"),
        ("tools", f"{found.tools:,}"),
        ("incidents", f"{found.incidents:,} open{worst}"),
        ("outbox", f"{waits}{oldest}"),
        ("writers", f"{found.outbox.writers:,} in the last 30 days"),
    ]
    told = columns([[Text(f"  {name}"), Text(safe(text))] for name, text in lines])
    if not found.problems:
        return [Text("HEALTHY", "bold green"), *told]
    problems = [line for problem in found.problems for line in (f"  {problem.what}", f"    to do: {problem.advice}")]
    return [Text(plural(len(found.problems), "problem").upper(), "bold yellow"), *told, "", *problems]


def _bytes(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,} {unit}"
        size = round(size / 1024)
    return f"{size:,} GiB"
