"""The walk from a response to its fingerprint, beside sorting, writing and hashing the same response.

``known`` is a walk over an equal response after the first ones, ``first`` one by a walker that knows nothing. Beside
them ``json.dumps(sort_keys=True)`` and SHA-256: what hashing the values themselves would cost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.payloads import Payload, payloads
from benchmarks.timing import Timed, compare, options, table, verdict
from toolpulse.shape import Walker

KNOWN_TO_JSON: Final = 0.75
"""A known 54 KB response costs at most this part of writing it as sorted JSON and hashing that."""

MILLION_TO_THOUSAND: Final = 2.0
"""A million elements cost at most this many times a thousand: the walk is bounded."""

_BYTES_A_ROUND: Final = 600_000
_MOST_CALLS: Final = 500
_LARGE: Final = 10_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; with ``--check`` the exit code says whether the targets are met."""
    args = options(__doc__, argv, rounds=(25, "rounds, of which the median counts"))
    rounds = 3 if args.quick else args.rounds
    measured = [payload for payload in payloads().values() if not (args.quick and payload.bytes > _LARGE)]
    found = {payload.name: measure(payload, rounds, quick=args.quick) for payload in measured}
    table(
        "microseconds a response",
        ("payload", "bytes", "known", "first", "json+sha256", "known/json", "first/json"),
        ((name, payloads()[name].bytes, *_row(timed)) for name, timed in found.items()),
    )
    targets = (
        ("known 54 KB search to json+sha256", found["54 KB search"].ratios[0], KNOWN_TO_JSON),
        ("known 54 KB nested to json+sha256", found["54 KB nested"].ratios[0], KNOWN_TO_JSON),
        ("a million elements to a thousand", growth(rounds), MILLION_TO_THOUSAND),
    )
    return verdict(targets, check=args.check)


def measure(payload: Payload, rounds: int, *, quick: bool = False) -> Timed:
    """Time one payload: known, first, and JSON with SHA-256."""
    known = Walker()
    known.observe(payload.fresh())
    large = payload.bytes > _LARGE
    calls = 1 if large or quick else max(1, min(_MOST_CALLS, _BYTES_A_ROUND // payload.bytes))
    return compare(
        lambda count: (payload.many(count), [(Walker(), value) for value in payload.many(count)], payload.many(count)),
        (lambda value: known.observe(value).fingerprint, _first, _json),
        3 if large else rounds,
        calls,
    )


def growth(rounds: int) -> float:
    """How many times a thousand elements a million cost, known."""
    walker = Walker()
    thousand, million = payloads()["1,000 elements"], payloads()["1,000,000 elements"]
    walker.observe(thousand.fresh())
    sides = (lambda value: walker.observe(value).fingerprint,) * 2
    # one large list a round would meet a cold cache each time; a few short ones are warm
    return compare(lambda count: (million.many(count), thousand.many(count)), sides, rounds, 3).ratios[0]


def _first(prepared: tuple[Walker, Any]) -> str:
    walker, value = prepared
    return walker.observe(value).fingerprint


def _json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _row(timed: Timed) -> tuple[float, ...]:
    return *timed.micros, *timed.ratios[:2]


if __name__ == "__main__":
    raise SystemExit(main())
