"""How improbable a silence is, from counts alone: the one test behind every rule about rates.

Something was seen c times in the n observations up to its last sighting, then m times not. Under a rate that is
unknown and taken as uniform on Jeffreys' scale, the probability of that silence is

    B(c + 1/2, n - c + 1/2 + m) / B(c + 1/2, n - c + 1/2)

(B the beta function). Every gap between sightings is a new test, so the more sightings, the more chances a silence had,
and what counts as improbable shrinks with c: below ``ALPHA / max(30, c, c * c / 100)``. The plain ``ALPHA / c`` sums to
``ALPHA * log(c)`` over the life of a path and would raise a false signal on everything in the end; this sum stays below
``3.3 * ALPHA`` for ever. Where several parts of a response come and go, each has its chances; ``parts`` divides the
bound among them, so that it holds for the tool and not for each path.
"""

from __future__ import annotations

from math import exp, lgamma
from typing import Final

ALPHA: Final = 0.001
"""The scale of what is improbable: about a third of the chance of a false signal over the whole life of a tool."""

WINDOW: Final = 100
"""Calls over which the share of errors is judged."""


def silence_probability(seen: int, total: int, silent: int) -> float:
    """The probability of ``silent`` observations without it, after ``seen`` sightings in ``total`` up to the last."""
    hit, miss = seen + 0.5, max(0, total - seen) + 0.5
    return exp(_log_beta(hit, miss + silent) - _log_beta(hit, miss))


def improbable(seen: int, total: int, silent: int, parts: int = 1) -> bool:
    """Whether a silence is too long for chance, where ``parts`` are watched. Never without a sighting or a silence."""
    if not seen or silent <= 0:
        return False
    bound = ALPHA / (max(30.0, seen, seen * seen / 100) * max(1, parts))
    # one more silence is never less probable than the first was; most questions end here
    if (max(0, total - seen) + 0.5) / (max(total, seen) + 1) >= bound ** (1 / silent):
        return False
    return silence_probability(seen, total, silent) < bound


def excess_probability(errors: int, calls: int, recent: int, window: int = WINDOW) -> float:
    """The probability of at least ``recent`` errors in ``window`` calls, after ``errors`` in ``calls`` before them."""
    hit, miss = errors + 0.5, max(0, calls - errors) + 0.5
    norm = _log_beta(hit, miss)
    tail = (
        exp(_log_choose(window, k) + _log_beta(hit + k, miss + window - k) - norm) for k in range(recent, window + 1)
    )
    return min(1.0, sum(tail))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
