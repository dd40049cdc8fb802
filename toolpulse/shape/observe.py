"""From a response to its shape: bounded, pure, and the same for every order of keys and elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import Path, glob
from toolpulse.errors import ConfigurationError
from toolpulse.shape.budget import TooManyCuts
from toolpulse.shape.envelopes import MODES, NATIVE, OK, Payload
from toolpulse.shape.envelopes import unwrap as unwrap_response
from toolpulse.shape.kinds import register
from toolpulse.shape.map_keys import DATA_LIKE, RECORD
from toolpulse.shape.nodes import UNKNOWN
from toolpulse.shape.observation import DEFAULT_LIMITS, Limits, Observation, Truncation
from toolpulse.shape.plans import Plan, Plans
from toolpulse.shape.walk import MAP, Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_LIMITS", "Limits", "Observation", "Truncation", "Walker", "fingerprint", "register", "shape_of"]

_MOST_TOLD: Final = 4096


class Walker:
    """The walk under one configuration. Safe to share between threads.

    ``maps`` and ``records`` are globs of paths whose objects are (are not) maps; ``learned`` are paths decided to be
    maps, ``beside`` paths where a map was met, so that an object whose keys all look like data is one too.
    Raises ConfigurationError for a bad glob or one named on both sides.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        maps: Sequence[str] = (),
        records: Sequence[str] = (),
        learned: frozenset[Path] = frozenset(),
        beside: frozenset[Path] = frozenset(),
    ) -> None:
        if not isinstance(limits, Limits):
            raise ConfigurationError(f"limits must be Limits(...), not {type(limits).__name__}")
        self.limits = limits
        for name, globs in (("maps", maps), ("records", records)):
            if isinstance(globs, str):
                raise ConfigurationError(f"{name} takes a list of paths, not a bare string")
        both = set(maps) & set(records)
        if both:
            raise ConfigurationError(f"maps and records both name {min(both)}")
        self.maps = tuple(maps)
        self.records = tuple(records)
        self._maps = tuple(map(glob, maps))
        self._records = tuple(map(glob, records))
        self._learned = learned
        self._beside = beside
        self._told: dict[Path, str | None] = {}
        self._tells = bool(maps or records or learned or beside)
        self._plans = Plans(limits)
        # whether a record of scalars met before has its shape by a look-up, as it is no envelope either
        self._at_once = not self._tells and limits.depth > 0 and limits.nodes > 0

    def with_maps(self, learned: frozenset[Path], beside: frozenset[Path]) -> Walker:
        """The same configuration told which paths were found to be maps."""
        return Walker(self.limits, self.maps, self.records, learned, beside)

    def observe(self, response: object, unwrap: str = "none") -> Observation:
        """Reduce a response to its shape. Recursion, size and cycles are bounded by the limits."""
        if type(response) is dict and self._at_once and unwrap in MODES:
            plan = self._known(response)
            if plan is not None and plan.shape is not None and not plan.has_content:
                return Observation(plan.shape, (), NATIVE, OK)
        return self.reduce(unwrap_response(response, unwrap, text=self.limits.text))

    def reduce(self, payload: Payload) -> Observation:
        """What ``observe`` gives, of a response whose envelopes are off."""
        value, encoding, outcome = payload
        if type(value) is dict and self._at_once:
            plan = self._known(value)
            if plan is not None and plan.shape is not None:
                return Observation(plan.shape, (), encoding, outcome)
        self._plans.refresh()
        walk = Walk(self._plans, self.reading if self._tells else None)
        try:
            shape = walk.visit(value)
        except TooManyCuts:
            return Observation(UNKNOWN, (Truncation("$", "work", 0, 1),), encoding, outcome)
        except Exception:  # noqa: BLE001 - keys and classes that cannot be hashed or compared
            return Observation(UNKNOWN, (Truncation("$", "unreadable", 0, 1),), encoding, outcome)
        return Observation(shape, walk.truncations, encoding, outcome)

    def _known(self, value: dict[Any, Any]) -> Plan | None:
        """The plan of a record met before, where nothing else is to be asked of it."""
        self._plans.refresh()
        return self._plans.find(value)[2]

    def forget(self) -> None:
        """Drop the plans of records met so far; they are made again as records are met."""
        self._plans.forget()

    def is_record(self, path: Path) -> bool:
        """Whether ``records`` names the path."""
        return any(pattern.matches(path) for pattern in self._records)

    def reading(self, path: Path) -> str | None:
        """What is told of objects at a path: ``map``, ``record``, ``data-like``, or nothing."""
        told = self._told
        if path not in told:
            if len(told) >= _MOST_TOLD:
                told.clear()
            told[path] = self._reading(path)
        return told.get(path)

    def _reading(self, path: Path) -> str | None:
        if self.is_record(path):
            return RECORD
        if path in self._learned or any(pattern.matches(path) for pattern in self._maps):
            return MAP
        return DATA_LIKE if path in self._beside else None


_default = Walker()


def shape_of(
    value: object,
    limits: Limits = DEFAULT_LIMITS,
    *,
    maps: Sequence[str] = (),
    records: Sequence[str] = (),
    unwrap: str = "none",
) -> Observation:
    """Reduce a value to its shape, fingerprint and truncations.

    ``maps`` and ``records`` are globs of paths whose objects are (are not) maps. ``unwrap="auto"`` looks through
    envelopes: JSON text, MCP results, framework messages. Raises ConfigurationError for a bad setting, and nothing
    for a value, however large, deep or cyclic.
    """
    if limits is DEFAULT_LIMITS and not maps and not records:
        return _default.observe(value, unwrap)
    return Walker(limits, maps, records).observe(value, unwrap)


def fingerprint(value: object) -> str:
    """SHA-256 (64 hex digits) of the shape of ``value``, taken as it is: nothing is unwrapped.

    For plain JSON within the limits and without maps it is
    ``sha256(json.dumps(normal_form, sort_keys=True, separators=(",", ":")))``; see ``docs/fingerprint.md``.
    """
    return _default.observe(value).fingerprint
