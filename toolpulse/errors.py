"""Every error ToolPulse raises on purpose, under one root.

ToolPulseError
  ConfigurationError   (also ValueError)  a setting is wrong; the message names the key
  DecorationError      (also TypeError)   ``watch`` was given something it cannot watch
  InputError           (also ValueError)  a file or a line cannot be read or judged
    SchemaMissing                         a persisted object does not say which version it is
    SchemaUnsupported                     it says a version that this program does not read
    SchemaMismatch                        two that are to be compared say different versions
  StoreError                              a store refused or lost its backend
    StoreMissing                          there is none, and none is to be made
    StoreUnusable                         and trying again is in vain
      StoreForeign                        what is there is not ours, and was left as it is
      StoreUnreadable                     for one tool; the others are well
  DriftError                              raised to the caller on ``on_drift="raise"``
"""

from __future__ import annotations

from typing import Any, ClassVar


class ToolPulseError(Exception):
    """The root of all errors that ToolPulse raises on purpose."""


class ConfigurationError(ToolPulseError, ValueError):
    """A setting is wrong. Raised where it is given, never at a later call."""


class DecorationError(ToolPulseError, TypeError):
    """``watch`` was given something it cannot watch; the message names what to do instead."""


class InputError(ToolPulseError, ValueError):
    """Input cannot be read or judged; the message names the file and the line."""


class SchemaMissing(InputError):  # noqa: N818 - named for what is wrong with the input
    """A persisted object has no ``schema``, or one that is no whole number."""


class SchemaUnsupported(InputError):  # noqa: N818 - as above
    """A persisted object is of a version, ``found``, that this program does not read; it reads those ``supported``."""

    def __init__(self, what: str, found: int, supported: tuple[int, ...]) -> None:
        self.found = found
        self.supported = supported
        reads = ", ".join(map(str, sorted(supported)))
        super().__init__(f"schema {found} of the {what} is not supported; this version reads {reads}")


class SchemaMismatch(InputError):  # noqa: N818 - as above
    """Two persisted objects are of different versions, ``one`` and ``other``, and not to be compared."""

    def __init__(self, what: str, one: int, other: int) -> None:
        self.one = one
        self.other = other
        super().__init__(f"schema {one} and schema {other}: a {what} is compared with one of its own version only")


class StoreError(ToolPulseError):
    """A store refused an operation or lost its backend. The message holds no value and no password."""

    outcome: ClassVar[str] = ""
    """What becomes of those who watch with it."""


class StoreMissing(StoreError):  # noqa: N818 - named for what is wrong with the store
    """There is no such file, or no tables of ours in the database, and whoever asks does not make them."""


class StoreUnusable(StoreError):  # noqa: N818 - as above
    """Trying again is in vain: the store is damaged, was deleted while in use, or a newer version wrote it."""

    outcome = "; what is learned stays in memory until this process ends"


class StoreForeign(StoreUnusable):
    """What is there is not ours: another program's database or tables, or no database at all. It is left as it is."""


class StoreUnreadable(StoreUnusable):
    """What is kept of one tool cannot be read."""

    outcome = "; that tool is judged in memory until this process ends"


class DriftError(ToolPulseError):
    """A response drifted and the tool was watched with ``on_drift="raise"``.

    ``findings`` holds the findings at ``high``, worst first. No value of the response is kept.
    """

    def __init__(self, tool: str, findings: tuple[Any, ...] = ()) -> None:
        self.tool = tool
        self.findings = findings
        shown = "; ".join(f"{f.path}: {f.before} -> {f.after}" for f in findings[:3])
        more = f" and {len(findings) - 3} more" if len(findings) > 3 else ""
        super().__init__(f"the response of {tool} changed shape: {shown}{more}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.findings)
