"""What is away too long, and errors that come too often, as changes: the figures of ``evidence.silence`` in words.

Only a live baseline is asked; a sealed one is judged at first sight. Pure. The state of a tool calls it at each flush.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpulse._base.paths import ROOT
from toolpulse.evidence.silence import ErrorRate, Silence, error_rate, silences
from toolpulse.judgement.changes import Change

if TYPE_CHECKING:
    from toolpulse.evidence.profile import Profile
    from toolpulse.evidence.quarantine import QuarantineLog
    from toolpulse.shape.nodes import Shape


def silence_changes(
    profile: Profile, newest: Shape, *, now: int, parts: int, quarantine: QuarantineLog
) -> tuple[Change, ...]:
    """A change for each part that the newest learned observation lacks, and that has been away improbably long.

    The arguments are those of ``toolpulse.evidence.silence.silences``.
    """
    return tuple(map(_silence, silences(profile, newest, now=now, parts=parts, quarantine=quarantine)))


def _silence(away: Silence) -> Change:
    evidence = f"{away.seen:,} of {away.total:,} before; not in the last {away.silent:,}"
    return Change(
        away.path, away.fact, away.before, away.after, evidence, learned_from=away.total, shown_by=away.silent
    )


def error_rate_change(*, calls: int, errors: int, run: int, recent: int) -> Change | None:
    """A change at the root where errors come improbably often, else None.

    The arguments are those of ``toolpulse.evidence.silence.error_rate``.
    """
    rate = error_rate(calls=calls, errors=errors, run=run, recent=recent)
    return None if rate is None else Change(ROOT, "errors", "result", "error", _evidence(rate), learned_from=calls)


def _evidence(rate: ErrorRate) -> str:
    recently = f"{rate.failed:,} in a row" if rate.in_a_row else f"{rate.failed:,} of the last {rate.recent}"
    return f"{recently}; {rate.failed_before:,} of {rate.calls_before:,} before"
