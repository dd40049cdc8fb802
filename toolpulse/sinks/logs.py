"""Drift events as structured log records, through structlog as the application configured it.

The default sink: ``runtime`` makes one where no sinks are named. It logs, and keeps nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from toolpulse.events import NAME
from toolpulse.judgement.rules import Risk

if TYPE_CHECKING:
    from toolpulse.events import DriftEvent

_LEVEL: Final = {
    Risk.HIGH: "error",
    Risk.AVAILABILITY: "warning",
    Risk.INVESTIGATE: "warning",
    Risk.INFO: "info",
    Risk.QUIET: "debug",
}


class LogSink:
    """Logs each event as ``tool_drift``: ``high`` as error, ``availability`` and ``investigate`` as warning.

    Where the application did not configure structlog, records go to stderr as JSON lines: stdout belongs to the tool,
    whose protocol may run over it.
    """

    def __init__(self) -> None:
        # now, and not at the first event: a child forked while a thread imports it would wait for that for ever
        import structlog  # noqa: F401

    def emit(self, event: DriftEvent) -> None:
        """Log the event."""
        logger = _logger()
        if logger is not None:
            getattr(logger, _LEVEL[event.risk])(NAME, **_fields(event))


def _logger() -> Any:
    import structlog

    if structlog.is_configured():
        return structlog.get_logger("toolpulse")
    if sys.stderr is None:  # a program without a console; structlog would take stdout
        return None
    # as a whole record of its own: an unconfigured structlog prints to stdout
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
    )


def _fields(event: DriftEvent) -> dict[str, Any]:
    import msgspec

    fields: dict[str, Any] = msgspec.to_builtins(event)
    return {name: value for name, value in fields.items() if value not in (None, (), {})}
