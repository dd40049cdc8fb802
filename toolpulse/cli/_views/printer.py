"""Printing lines of text: with styles on a terminal, plain elsewhere, and the pieces that lines are made of."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from toolpulse.cli._kit.text import plural, safe
from toolpulse.judgement.rules import Risk

if TYPE_CHECKING:
    from toolpulse.cli._kit.output import Output

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

_WIDEST: Final = 72
"""Characters of a column at most. A wider cell moves the rest of its own line, and not that of all lines."""


class Printer:
    """Prints lines: styled on a terminal (unless ``NO_COLOR`` is set), plain elsewhere; never wrapped and never cut."""

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
        """Print lines, a line break after each. In a ``str``, what a terminal acts on is escaped; a Text is safe."""
        texts = [Text(safe(line)) if isinstance(line, str) else line for line in lines]
        if not self._styled:
            self._out.write("".join(f"{text.plain}\n" for text in texts))
            return
        with self._console.capture() as captured:
            for text in texts:
                self._console.print(text, soft_wrap=True, no_wrap=True, overflow="ignore", crop=False)
        self._out.write(captured.get())


def progress(items: Iterable[T], what: str) -> Iterator[T]:
    """The items. If that takes longer than a moment, they are counted on stderr, where that is a terminal.

    ``what`` names one item: ``response``.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    parts = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*parts, console=Console(stderr=True), transient=True)
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
    """A line for each row, with the cells of a column one below the other. Rows may have different numbers of cells."""
    count = max((len(row) for row in rows), default=0)
    # in cells of a terminal: a wide character takes two
    widths = [max((cell_len(row[at].plain) for row in rows if at < len(row)), default=0) for at in range(count)]
    return [_joined(row, [min(width, _WIDEST) for width in widths], indent) for row in rows]


def _joined(row: Sequence[Text], widths: Sequence[int], indent: str) -> Text:
    line = Text(indent)
    for cell, width in zip(row, widths, strict=False):
        line.append_text(cell)
        line.append(" " * (max(0, width - cell_len(cell.plain)) + 2))
    line.rstrip()
    return line


def titled(title: str, items: Sequence[str]) -> list[Text | str]:
    """A line for each item, the title in front of the first."""
    return [f"  {title if at == 0 else '':<8}  {item}" for at, item in enumerate(items)]


def risk_text(risk: Risk, *, loud: bool = False) -> Text:
    """A risk in its colour; ``loud`` in capitals."""
    return Text(risk.value.upper() if loud else risk.value, _STYLES[risk])
