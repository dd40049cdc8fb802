"""Which observations were not learned: how many, up to when, and what they showed all the same.

What a quarantined observation lacks is reported elsewhere, so it is no silence; but what it shows has not gone away.
The state of a tool keeps one log and hands it to ``silence``. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from toolpulse.evidence.shape_paths import as_map_values, shapes_by_path
from toolpulse.shape.nodes import is_empty

if TYPE_CHECKING:
    from toolpulse._base.paths import Path
    from toolpulse.evidence.profile import Profile
    from toolpulse.shape.nodes import Shape

SilentFact: TypeAlias = Literal["vanished", "valueless", "empty"]
"""What can be away: a field (missing), a value (null), the members of a container; at the root the whole response."""

MOST_NOTED: Final = 4096
"""Entries kept of when observations were quarantined; beyond it every other one of the oldest joins the next."""


class QuarantineLog:
    """The quarantined observations of one tool and key, as running totals by ordinal."""

    def __init__(self) -> None:
        self._shown: dict[tuple[SilentFact, Path], int] = {}
        self._ordinals: list[int] = []
        self._totals: list[int] = []

    def add(self, count: int, last: int) -> None:
        """Note ``count`` observations up to the ordinal ``last``."""
        total = count + (self._totals[-1] if self._totals else 0)
        if self._ordinals and last <= self._ordinals[-1]:
            self._totals[-1] = total
            return
        if len(self._ordinals) >= MOST_NOTED:
            # totals run on, so what a dropped entry counted is counted at the next one
            del self._ordinals[: MOST_NOTED // 2 * 2 : 2], self._totals[: MOST_NOTED // 2 * 2 : 2]
        self._ordinals.append(last)
        self._totals.append(total)

    def note_shown(self, profile: Profile, shape: Shape, last: int) -> None:
        """Note what such an observation at the ordinal ``last`` showed of what the profile knows."""
        for path, shapes in shapes_by_path(shape):
            if profile.at(path) is None:
                continue
            self._shown["vanished", path] = last
            if any(shape.kind not in {"null", "unknown"} for shape in shapes):
                self._shown["valueless", path] = last
            if not all(map(is_empty, shapes)):
                self._shown["empty", path] = last

    def last_shown(self, fact: SilentFact, path: Path) -> int:
        """The last ordinal at which one of them contradicted that fact at a path; 0 for none."""
        return self._shown.get((fact, path), 0)

    def forget_keys(self, maps: frozenset[Path]) -> None:
        """Forget what was shown right below these paths: they were keys of maps, which are not kept."""
        self._shown = {key: last for key, last in self._shown.items() if as_map_values(key[1], maps) == key[1]}

    def release(self, count: int, last: int) -> None:
        """Take ``count`` observations up to the ordinal ``last`` out: they are learned after all."""
        index = bisect_left(self._ordinals, last)
        for later in range(index, len(self._totals)):
            self._totals[later] = max(0, self._totals[later] - count)
        if index < len(self._totals):
            self._totals[:index] = [min(total, self._totals[index]) for total in self._totals[:index]]

    def learned_until(self, ordinal: int) -> int:
        """How many of the observations up to an ordinal were learned."""
        index = bisect_right(self._ordinals, ordinal)
        return ordinal - (self._totals[index - 1] if index else 0)
