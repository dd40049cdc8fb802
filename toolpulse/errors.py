"""Every error ToolPulse raises on purpose, under one root.

ToolPulseError
  ConfigurationError   (also ValueError)  a setting is wrong; the message names the key
  DecorationError      (also TypeError)   ``watch`` was given something it cannot watch
  InputError           (also ValueError)  a file or a line cannot be read or judged
  StoreError                              a store refused or lost its backend
  DriftError                              raised to the caller on ``on_drift="raise"``
"""

from __future__ import annotations

from typing import Any


class ToolPulseError(Exception):
    """The root of all errors that ToolPulse raises on purpose."""


class ConfigurationError(ToolPulseError, ValueError):
    """A setting is wrong. Raised where it is given, never at a later call."""


class DecorationError(ToolPulseError, TypeError):
    """``watch`` was given something it cannot watch; the message names what to do instead."""


class InputError(ToolPulseError, ValueError):
    """Input cannot be read or judged; the message names the file and the line."""


class StoreError(ToolPulseError):
    """A store refused an operation or lost its backend."""


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
