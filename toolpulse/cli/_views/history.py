"""A drift log as a person wants it: each incident once, with its newest event and the time it began."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from toolpulse._base.canonical import JSONError
from toolpulse.cli._kit.lines import lines
from toolpulse.cli._kit.text import file_label, short_names
from toolpulse.cli._kit.times import moment
from toolpulse.errors import InputError
from toolpulse.events import DriftEvent, decode


class Line(NamedTuple):
    """One line of a log."""

    text: str
    event: DriftEvent
    time: datetime
    """The time of the event, in UTC."""


class Entry(NamedTuple):
    """What is shown of an incident."""

    event: DriftEvent
    """Its newest event."""
    since: datetime
    """When it began: the time of its oldest event."""


class History:
    """The newest event of each incident, oldest first, and the names of all tools and consumers."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], Entry] = {}
        self._began: dict[tuple[str, str, str], datetime] = {}
        self._short_names: dict[str, str] = {}
        self.consumers: set[str] = set()

    def add(self, line: Line, *, shown: bool = True) -> Entry:
        """Take the next line, and return the entry of its incident.

        A line that is not ``shown`` hides the incident, but what it says of times and names counts.
        """
        event = line.event
        key = (event.tool, event.key, event.incident or event.id)
        began = self._began[key] = min(self._began.get(key, line.time), line.time)
        self.add_tool(event.tool)
        self.consumers.update(event.risks)
        entry = Entry(event, began)
        # a dict keeps the order of insertion, so the newest moves to the end
        self._entries.pop(key, None)
        if shown:
            self._entries[key] = entry
        return entry

    def add_tool(self, tool: str) -> None:
        """Take a tool's name, so that no other tool is shown by an ending that fits this one, too."""
        self._short_names.setdefault(tool, "")

    def name(self, tool: str) -> str:
        """The shortest ending of a tool's name that no other tool added so far has."""
        if not self._short_names.get(tool):
            self._short_names = short_names([*self._short_names, tool])
        return self._short_names[tool]

    @property
    def entries(self) -> list[Entry]:
        """What is to be shown, the incident with the newest event last."""
        return list(self._entries.values())


def read_line(file: str, number: int, raw: bytes) -> Line:
    """Read line ``number`` of a log. Raises InputError: ``file:line: what is wrong``."""
    try:
        event = decode(raw)
        return Line(raw.decode("utf-8"), event, moment(event.time))
    except JSONError as error:
        reason = error.reason if error.column is None else f"{error.reason} (column {error.column})"
    except InputError as error:
        reason = str(error)
    except (ValueError, OverflowError):
        reason = "time is not as ISO 8601 has it"
    raise InputError(f"{file_label(file)}:{number}: {reason}") from None


def line_of(text: str, event: DriftEvent) -> Line:
    """The line of an event that was read already. Raises InputError where its time cannot be read."""
    try:
        return Line(text, event, moment(event.time))
    except (ValueError, OverflowError):
        raise InputError(f"event {event.id}: time is not as ISO 8601 has it") from None


def history_of(file: str) -> History:
    """The history in a log file. Raises InputError at the first line that is no event."""
    history = History()
    for number, raw in lines(file):
        history.add(read_line(file, number, raw))
    return history
