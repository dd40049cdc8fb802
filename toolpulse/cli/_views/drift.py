"""Events as lines: a drift log, an event in it, and why a change is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from toolpulse.cli._kit.text import plural, safe, with_key
from toolpulse.cli._kit.times import clock
from toolpulse.cli._views.printer import columns, risk_text

if TYPE_CHECKING:
    from toolpulse.cli._views.history import Entry, History
    from toolpulse.events import DriftEvent

_PATTERNS: Final = {
    "renamed": ("looks renamed to {}", "looks renamed from {}"),
    "wrapped": ("looks wrapped in {}", "looks wrapped in {}"),
    "unwrapped": ("looks taken out of {}", "looks taken out of {}"),
    "replaced-by-error": ("looks replaced by an error: {}", "looks like an error in place of the response"),
    "single-element-collapsed": ("looks like one element in place of an array of one",) * 2,
}
"""What a pattern says of a path that is gone or changed, and of one that is new; ``{}`` is the other path."""


def drift_log(history: History, *, ids: bool = False) -> list[Text | str]:
    """All entries of a log, a blank line between incidents; with ``ids`` each incident's id at the end of its line."""
    if not history.entries:
        return ["no events"]
    out: list[Text | str] = []
    for entry in history.entries:
        if out and entry.event.changes:
            out.append("")
        out.extend(drift_event(entry, history, ids=ids))
    return out


def drift_event(entry: Entry, history: History, *, ids: bool = False) -> list[Text]:
    """One event: its headline, and below it the changes, the risk for each consumer, and what was not seen in full."""
    event = entry.event
    if not event.changes:
        return columns([[*_risk_and_tool(event, history), Text(safe(event.summary))]])
    rows = [[Text(safe(c.path)), Text(safe(c.what)), Text(safe(because(c)), "dim")] for c in event.changes]
    below = [f"for {line}" for line in _consumers(event, history)]
    below += [f"seen in part: {line}" for line in event.coverage]
    below += [f"decision: {event.decision}"] if event.decision else []
    headline = columns([_headline(entry, history, ids=ids)])
    return [*headline, *columns(rows, "  "), *(Text(safe(f"  {line}")) for line in below)]


def _headline(entry: Entry, history: History, *, ids: bool) -> list[Text]:
    event = entry.event
    return [
        *_risk_and_tool(event, history),
        Text(plural(len(event.changes), "change")),
        Text(f"since {clock(entry.since)}"),
        Text(f"{plural(event.count, 'call')} ({event.share:.0%})"),
        *([Text(safe(event.status))] if event.status != "open" else []),
        *([Text(safe(event.incident or ""), "dim")] if ids else []),
    ]


def _risk_and_tool(event: DriftEvent, history: History) -> list[Text]:
    return [risk_text(event.risk, loud=True), Text(safe(with_key(history.name(event.tool), event.key)), "bold")]


def _consumers(event: DriftEvent, history: History) -> list[str]:
    """The risk for each consumer, where risks differ or one consumer has a name. One that is not hit is quiet."""
    quiet = sorted(history.consumers - event.risks.keys())
    if event.risks.keys() <= {"default"} or (
        not quiet and len(event.risks) > 1 and len(set(event.risks.values())) == 1
    ):
        return []
    risks = [f"{name}: {risk}" for name, risk in sorted(event.risks.items())]
    risks += [f"{name}: quiet" for name in quiet] if len(quiet) < 4 else [f"{len(quiet)} others: quiet"]
    return [", ".join(risks)]


def because(change: object) -> str:
    """The evidence of a change or a finding, and the pattern that it is part of."""
    evidence, pattern = getattr(change, "evidence", ""), getattr(change, "pattern", None)
    sentence = ""
    if pattern is not None:
        is_new = getattr(change, "before", "") == "missing"
        # a log of a newer version may name a pattern that is not known here
        sentence = _PATTERNS.get(pattern, (pattern, pattern))[is_new].format(getattr(change, "counterpart", None) or "")
    return "; ".join(part for part in (evidence, sentence) if part)
