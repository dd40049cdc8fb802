"""All that commands show to a person: lines of text in, printed with styles on a terminal and plain elsewhere."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from toolpulse.cli._text import percent, plural, safe, with_key
from toolpulse.judgement.rules import Risk

if TYPE_CHECKING:
    from toolpulse.cli._examine import Report
    from toolpulse.cli._output import Output
    from toolpulse.cli._tree import Tree
    from toolpulse.cli.log import Entry, History
    from toolpulse.events import DriftEvent

T = TypeVar("T")

_STYLES: Final = {
    Risk.HIGH: "bold red",
    Risk.AVAILABILITY: "bold magenta",
    Risk.INVESTIGATE: "bold yellow",
    Risk.INFO: "cyan",
    Risk.QUIET: "green",
}

_MOMENT: Final = 0.5
"""Seconds of work that need no progress shown."""

# a wider cell pushes its own line out instead of all lines
_WIDEST: Final = 72

_PATTERNS: Final = {
    "renamed": ("looks renamed to {}", "looks renamed from {}"),
    "wrapped": ("looks wrapped in {}", "looks wrapped in {}"),
    "unwrapped": ("looks taken out of {}", "looks taken out of {}"),
    "replaced-by-error": ("looks replaced by an error: {}", "looks like an error in place of the response"),
    "single-element-collapsed": ("looks like one element in place of an array of one",) * 2,
}
"""What a pattern says of a path that is gone or changed, and of one that is new."""


class Printer:
    """Prints lines: styled on a terminal (but for ``NO_COLOR``), plain elsewhere; never wrapped and never cut."""

    def __init__(self, out: Output) -> None:
        self._out = out
        terminal = sys.stdout is not None and sys.stdout.isatty()
        self._styled = terminal and not os.environ.get("NO_COLOR")
        # rich prints into memory: it answers a closed pipe with an exit code of its own
        self._console = Console(
            file=io.StringIO(),
            force_terminal=self._styled,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )

    def lines(self, lines: Iterable[Text | str]) -> None:
        """Print lines, a break after each."""
        texts = [Text(safe(line)) if isinstance(line, str) else line for line in lines]
        if not self._styled:
            self._out.write("".join(f"{text.plain}\n" for text in texts))
            return
        with self._console.capture() as captured:
            for text in texts:
                self._console.print(text, soft_wrap=True, no_wrap=True, overflow="ignore", crop=False)
        self._out.write(captured.get())


def progress(items: Iterable[T], what: str) -> Iterator[T]:
    """The items; what takes longer than a moment counts them on stderr, if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    started, task = time.monotonic(), None
    try:
        for count, item in enumerate(items, 1):
            if task is not None:
                bar.update(task, description=plural(count, what))
            elif time.monotonic() - started > _MOMENT:
                bar.start()
                task = bar.add_task(plural(count, what), total=None)
            yield item
    finally:
        if task is not None:
            bar.stop()


def columns(rows: Sequence[Sequence[Text]], indent: str = "") -> list[Text]:
    """Rows as lines, their cells one below the other."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((cell_len(row[at].plain) for row in rows if at < len(row)), default=0) for at in range(count)]
    return [_joined(row, [min(width, _WIDEST) for width in widths], indent) for row in rows]


def _joined(row: Sequence[Text], widths: Sequence[int], indent: str) -> Text:
    line = Text(indent)
    for cell, width in zip(row, widths, strict=False):
        line.append_text(cell)
        line.append(" " * (max(0, width - cell_len(cell.plain)) + 2))
    line.rstrip()
    return line


def risk_text(risk: Risk, *, loud: bool = False) -> Text:
    return Text(risk.value.upper() if loud else risk.value, _STYLES[risk])


def drift_log(history: History, *, ids: bool = False) -> list[Text | str]:
    """The whole of a log; with ``ids`` those of incidents, too."""
    if not history.entries:
        return ["no events"]
    out: list[Text | str] = []
    for entry in history.entries:
        if out and entry.event.changes:
            out.append("")
        out.extend(drift_event(entry, history, ids=ids))
    return out


def drift_event(entry: Entry, history: History, *, ids: bool = False) -> list[Text]:
    """One event: a line, and below it the changes, who is hit how hard, and what was not seen."""
    event = entry.event
    name = with_key(history.name(event.tool), event.key)
    head = [risk_text(event.risk, loud=True), Text(safe(name), "bold")]
    if not event.changes:
        return columns([[*head, Text(safe(event.summary))]])
    head.append(Text(plural(len(event.changes), "change")))
    head.append(Text(f"since {clock(entry.since)}"))
    head.append(Text(f"{plural(event.count, 'call')} ({event.share:.0%})"))
    if event.status != "open":
        head.append(Text(safe(event.status)))
    if ids:
        head.append(Text(safe(event.incident or ""), "dim"))
    rows = [
        [Text(safe(c.path)), Text(safe(_change(c.rule_id, c.before, c.after))), Text(safe(because(c)), "dim")]
        for c in event.changes
    ]
    below = [f"for {line}" for line in _readers(event, history)]
    below += [f"seen in part: {line}" for line in event.coverage]
    below += [f"decision: {event.decision}"] if event.decision else []
    return [*columns([head]), *columns(rows, "  "), *(Text(safe(f"  {line}")) for line in below)]


def _readers(event: DriftEvent, history: History) -> list[str]:
    """The risk for each consumer, where they differ or one has a name; for whom nothing was found it is quiet."""
    quiet = sorted(history.consumers - event.risks.keys())
    if event.risks.keys() <= {"default"} or (
        not quiet and len(event.risks) > 1 and len(set(event.risks.values())) == 1
    ):
        return []
    told = [f"{name}: {risk}" for name, risk in sorted(event.risks.items())]
    told += [f"{name}: quiet" for name in quiet] if len(quiet) < 4 else [f"{len(quiet)} others: quiet"]
    return [", ".join(told)]


def _change(rule_id: str, before: str, after: str) -> str:
    return after if rule_id == "element-shape-new" else f"{before} -> {after}"


def because(change: object) -> str:
    """The evidence of a change, and the pattern it is part of."""
    evidence, pattern = getattr(change, "evidence", ""), getattr(change, "pattern", None)
    said = ""
    if pattern is not None:
        new = getattr(change, "before", "") == "missing"
        said = _PATTERNS.get(pattern, (pattern, pattern))[new].format(getattr(change, "counterpart", None) or "")
    return "; ".join(part for part in (evidence, said) if part)


def clock(moment: datetime) -> str:
    """A time as people have it, with its day where that is not today."""
    try:
        local = moment.astimezone()
    except (OverflowError, ValueError, OSError):
        local = moment
    day, clock = local.isoformat(" ", "minutes")[:16].split()
    return clock if local.date() == datetime.now().astimezone().date() else f"{day} {clock}"


def learned(tree: Tree, cuts: Sequence[str], errors: int, file: str) -> list[Text | str]:
    """What a baseline has learned."""
    skipped = f"; {plural(errors, 'error')} left out" if errors else ""
    return [
        f"learned from {plural(tree.responses, 'response')} ({plural(tree.shapes, 'distinct shape')}){skipped}",
        f"  paths     {tree.paths} ({tree.optional} optional)",
        *_listed("maps", [f"{path}: {why}" for path, why in tree.maps] or ["none"]),
        *_listed("coverage", cuts or ["everything seen"]),
        f"written to {file}",
    ]


def _listed(title: str, items: Sequence[str]) -> list[Text | str]:
    return [f"  {title if at == 0 else '':<8}  {item}" for at, item in enumerate(items)]


def shape_tree(tree: Tree) -> list[Text | str]:
    """A baseline as a tree: what is there, how often, and of which kind."""
    rows = [
        [
            Text("  " * row.depth + row.label, "bold" if row.container else ""),
            Text(row.presence, "yellow" if row.optional else "dim"),
            Text(safe(", ".join(row.kinds))),
        ]
        for row in tree.rows
    ]
    settings = [f"{name}: {value}" for name, value in tree.settings]
    counted = f"{plural(tree.responses, 'response')}, {plural(tree.shapes, 'distinct shape')}"
    return [
        f"{counted}, {plural(tree.paths, 'path')} ({tree.optional} optional)",
        "",
        *columns(rows),
        "",
        *_listed("maps", [f"{path}: {why}" for path, why in tree.maps] or ["none"]),
        *_listed("coverage", tree.cuts or ["everything seen"]),
        *(_listed("settings", settings) if settings else []),
    ]


def check_report(report: Report, learned: int, cuts: Sequence[str]) -> list[Text | str]:
    """What responses mean against a baseline."""
    verdict, several = report.verdict, len({f.consumer for f in report.verdict.findings}) > 1
    against = f"{plural(verdict.responses, 'response')} against a baseline of {learned:,}"
    found = plural(len(verdict.findings), "finding") if verdict.findings else "nothing found"
    head = columns([[risk_text(verdict.risk, loud=True), Text(found), Text(against)]])
    rows = []
    for finding in verdict.findings:
        seen = report.sightings[finding]
        rows.append([
            risk_text(finding.risk),
            *([Text(safe(finding.consumer))] if several else []),
            Text(safe(finding.path)),
            Text(safe(finding.change)),
            Text(safe(because(finding)), "dim"),
            Text(safe(f"in {percent(seen.responses, verdict.responses - verdict.errors)}, first {seen.first}")),
        ])  # fmt: skip
    errors = [f"  {plural(verdict.errors, 'response')} said to be an error and not compared"] if verdict.errors else []
    return [*head, *columns(rows, "  "), *errors, *_listed("coverage", cuts or ["everything seen"])]
