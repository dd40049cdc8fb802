"""What waits to be judged: observations counted by shape, and how calls failed.

The runtime counts, ``tool_state`` judges, stores keep the key of what is quarantined. Values only; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from toolpulse.evidence.chance import WINDOW
from toolpulse.evidence.rows import Row, truncated_paths
from toolpulse.shape import Truncation
from toolpulse.shape.nodes import Shape

MOST_ERROR_TYPES: Final = 64
"""Types of exceptions counted apart; those beyond it are counted as ``other``."""

Cuts: TypeAlias = tuple[tuple[str, str], ...]
"""Where a walk was cut: path and limit."""


class TallyKey(NamedTuple):
    """What makes observations one tally: all that their judgement depends on."""

    shape: Shape
    encoding: str
    cut: Cuts
    broken: tuple[str, ...]
    """The assertions that did not hold."""


def cuts_of(truncations: tuple[Truncation, ...]) -> Cuts:
    """Where a walk was cut, without how much was seen: that differs between responses of one shape."""
    return tuple((cut.path, cut.limit) for cut in truncations) if truncations else ()


class Tally(msgspec.Struct, frozen=True):
    """Observations of one shape and encoding that wait to be judged: how many, at which ordinals, when."""

    shape: Shape
    encoding: str
    count: int
    first: int
    last: int
    time: str
    """Of the first of them; ISO 8601, UTC."""
    truncations: tuple[Truncation, ...] = ()
    broken: tuple[str, ...] = ()
    """``consumer: assertion`` of those that did not hold."""

    @property
    def row(self) -> Row:
        """As a row of a baseline."""
        return Row(self.shape, self.count, self.first, self.last, self.encoding, truncated_paths(self.truncations))

    @property
    def key(self) -> TallyKey:
        """What makes it a tally of its own."""
        return TallyKey(self.shape, self.encoding, cuts_of(self.truncations), self.broken)


class Calls(msgspec.Struct, frozen=True):
    """How calls ended. They have ordinals of their own: the positions of calls, failed ones included."""

    calls: int = 0
    errors: int = 0
    last_good: int = 0
    """The position of the last call that did not fail; 0 for none."""
    failed: tuple[int, ...] = ()
    """The positions of those of the last 100 calls that failed."""
    types: Mapping[str, int] = {}
    """The failed ones by the type of the exception; ``result`` for a result that says so itself."""
    time: str = ""
    """Of the last failure; ISO 8601, UTC."""

    @property
    def run(self) -> int:
        """How many of the newest calls failed in a row."""
        return self.calls - self.last_good

    def followed_by(self, block: Calls) -> Calls:
        """These calls and then those of ``block``, whose positions start at 1."""
        calls = self.calls + block.calls
        failed = (*self.failed, *(self.calls + position for position in block.failed))
        types = dict(self.types)
        for kind, count in block.types.items():
            known = kind if kind in types or len(types) < MOST_ERROR_TYPES else "other"
            types[known] = types.get(known, 0) + count
        return Calls(
            calls,
            self.errors + block.errors,
            self.calls + block.last_good if block.last_good else self.last_good,
            tuple(position for position in failed if position > calls - WINDOW),
            types,
            block.time or self.time,
        )


NO_CALLS: Final = Calls()
