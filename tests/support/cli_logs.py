"""Events and drift logs for tests of the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cli_runs import ran

from toolpulse.events import DriftEvent, EventChange, encode
from toolpulse.judgement.rules import Risk

NOW = datetime.now(UTC)


def event(**changed) -> DriftEvent:
    """The event that the design page shows, but for what is changed."""
    fields = {
        "id": "e1",
        "time": NOW.isoformat(),
        "tool": "app.tools.search_docs",
        "key": "",
        "incident": "i1",
        "status": "open",
        "risk": Risk.HIGH,
        "risks": {"default": Risk.HIGH},
        "summary": "results[].score: number -> string and 2 more changes",
        "pattern": None,
        "changes": (
            EventChange("results[].score", "kind-changed", "number", "string", Risk.HIGH, "412 of 412 before"),
            EventChange("results[].explanation", "field-added", "missing", "string", Risk.INFO, ""),
            EventChange(
                "request_id",
                "field-removed",
                "string",
                "missing",
                Risk.HIGH,
                "412 of 412 before",
                "renamed",
                "requestId",
            ),
        ),
        "fingerprint_before": None,
        "fingerprint_after": None,
        "encoding": "native",
        "count": 17,
        "share": 0.41,
        "coverage": (),
    }
    return DriftEvent(**{**fields, **changed})


def learned(**changed) -> DriftEvent:
    """An event of what was learned."""
    fields = {
        "id": "l1",
        "incident": None,
        "status": "learned",
        "risk": Risk.INFO,
        "risks": {},
        "changes": (),
        "count": 10,
    }
    return event(**{**fields, "summary": "learned 7 paths (2 optional) from 10 calls", **changed})


def write_log(path: Path, *events) -> Path:
    """Write events, or lines as they are."""
    lines = [one if isinstance(one, bytes) else encode(one) for one in events]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def shown(capsys, path, *flags) -> list[str]:
    """The lines that a good log is shown as."""
    code, out, err = ran(capsys, "log", path, *flags)
    assert (code, err) == (0, "")
    return out.splitlines()


def clock(moment: datetime) -> str:
    """A time as the log shows it."""
    local = moment.astimezone()
    return local.strftime("%H:%M" if local.date() == datetime.now().date() else "%Y-%m-%d %H:%M")
