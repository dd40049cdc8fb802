"""Two generations side by side: every reason why comparing what came of them would mean nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from toolpulse._base.canonical import load_exact
from toolpulse.errors import InputError
from toolpulse.provenance.comparison.difference import Difference
from toolpulse.provenance.comparison.documents import compare
from toolpulse.provenance.model_calls import attributes as names
from toolpulse.provenance.readers.records import PARTIAL, TRUNCATED, Generation

MISSING: Final = "missing_fingerprint"
NO_MODEL: Final = "missing_model"
NO_TOOLS: Final = "tools_not_captured"
OTHER_KEY: Final = "key_changed"
CONTRADICTION: Final = "contradiction"

REASONS: Final = (
    MISSING,
    NO_MODEL,
    NO_TOOLS,
    TRUNCATED,
    PARTIAL,
    OTHER_KEY,
    "tools_changed",
    "tools_reordered",
    "prompt_changed",
    "prompt_or_tools",
    "model_changed",
    "params_changed",
    "required_changed",
    CONTRADICTION,
)
"""In the order in which the first one that applies names a pair."""

_HASHES: Final = (names.PROMPT_HASH, names.TOOLS_HASH, names.TEXT_HASH)
_OF_TOOLS: Final = (names.PROMPT_HASH, names.TOOLS_HASH)
_COMPARED: Final = (*_HASHES, names.MODEL, names.TEMPERATURE, names.PARAMS_HASH)

Reason: TypeAlias = tuple[str, tuple[str, ...]]
"""Its name, one of ``REASONS``, and the fields or tools it is about."""


class PairResult(NamedTuple):
    """What comparing a pair came to."""

    reasons: tuple[Reason, ...]
    changes: tuple[Difference, ...]
    unverified: tuple[str, ...]


def compared(a: Generation, b: Generation, require: tuple[str, ...], *, values: bool = False) -> PairResult:
    """Compare two generations. ``require`` names attributes that both must carry; ``values`` shows what differs.

    Without a reason the two may be compared. A tuple that differs though none of its parts does is a contradiction.
    """
    pair = _Pair(a, b, require)
    reasons = tuple(pair.reasons())
    if not reasons and pair.differ(names.TUPLE):
        reasons = ((CONTRADICTION, (names.TUPLE,)),)
    return PairResult(reasons, pair.changes(values=values), tuple(sorted(pair.unverified())))


class _Pair:
    """The attributes of two generations, and what is to be said of them."""

    def __init__(self, a: Generation, b: Generation, require: tuple[str, ...]) -> None:
        self.sides = {"A": a, "B": b}
        self.a, self.b = a.fingerprint, b.fingerprint
        self.params = a.params or {}, b.params or {}
        self.require = require
        self.other_key = self.a.get(names.KEY_ID) != self.b.get(names.KEY_ID)

    def reasons(self) -> Iterator[Reason]:
        """Every reason not to compare, in the order of ``REASONS`` but for contradictions."""
        for reason, about in (
            (MISSING, self._missing()),
            (NO_MODEL, self._without_model()),
            (NO_TOOLS, self._without_tools()),
            (TRUNCATED, self._remarked(TRUNCATED)),
            (PARTIAL, self._remarked(PARTIAL)),
        ):
            if about:
                yield reason, about
        if self.other_key:
            yield OTHER_KEY, (names.KEY_ID,)
        else:
            yield from self._tools()
            yield from self._prompt()
        if self.differ(names.MODEL):
            yield "model_changed", (names.MODEL,)
        changed = tuple(self._parameters())
        if changed:
            yield "params_changed", changed
        others = tuple(n for n in self.require if n not in {*_COMPARED, names.TUPLE} and self.differ(n))
        if others:
            yield "required_changed", others

    def both(self, name: str) -> bool:
        """Whether both sides have an attribute."""
        return name in self.a and name in self.b

    def neither(self, name: str) -> bool:
        """Whether no side has an attribute."""
        return name not in self.a and name not in self.b

    def differ(self, name: str) -> bool:
        """Whether both sides have it and it is not the same."""
        return self.both(name) and self.a[name] != self.b[name]

    def _missing(self) -> tuple[str, ...]:
        return tuple(f"{side}: {name}" for side, one in self.sides.items() for name in self._missing_of(one))

    def _missing_of(self, one: Generation) -> list[str]:
        attributes = one.fingerprint
        if not any(name in attributes for name in _HASHES):
            return [name for name in _HASHES[:2] if not _explained(one, name, nothing=True)] or list(_HASHES[:2])
        wanted = [name for name in dict.fromkeys((*self.require, *_OF_TOOLS)) if name != names.MODEL]
        return [
            name
            for name in wanted
            if name not in attributes
            and (name in self.require or not self.neither(name))
            and not _explained(one, name, nothing=False)
        ]

    def _without_model(self) -> tuple[str, ...]:
        if names.MODEL not in self.require and self.neither(names.MODEL):
            return ()
        return tuple(
            f"{side}: {names.MODEL}"
            for side, one in self.sides.items()
            if names.MODEL not in one.fingerprint or _denied(one.fingerprint)
        )

    def _without_tools(self) -> tuple[str, ...]:
        if names.TOOLS_HASH not in self.require and self.neither(names.TOOLS_HASH):
            return ()
        covered = ((side, one.fingerprint.get(names.COVERAGE, "none")) for side, one in self.sides.items())
        return tuple(f"{side}: {coverage}" for side, coverage in covered if coverage != "full")

    def _remarked(self, remark: str) -> tuple[str, ...]:
        return tuple(side for side, one in self.sides.items() if remark in one.remarks)

    def _tools(self) -> Iterator[Reason]:
        old, new = _digests_of_tools(self.a), _digests_of_tools(self.b)
        if self.differ(names.TOOLS_HASH):
            known = old is not None and new is not None
            yield _tools_changed(old or {}, new or {}) if known else ("tools_changed", ())
        elif self.both(names.TOOLS_HASH) and old != new and None not in (old, new):
            yield CONTRADICTION, (names.TOOLS_HASH, names.DIGESTS)

    def _prompt(self) -> Iterator[Reason]:
        """``prompt.hash`` covers the tools, so where they differ it does not show that the prompt does."""
        tools_differ = self.differ(names.TOOLS_HASH) or not self.both(names.TOOLS_HASH)
        if self.both(names.TEXT_HASH):
            if self.differ(names.TEXT_HASH):
                yield "prompt_changed", (names.TEXT_HASH,)
            elif self.differ(names.PROMPT_HASH) and not tools_differ:
                yield CONTRADICTION, (names.PROMPT_HASH, names.TEXT_HASH)
        elif self.differ(names.PROMPT_HASH):
            yield ("prompt_or_tools" if tools_differ else "prompt_changed"), (names.PROMPT_HASH,)

    def _parameters(self) -> Iterator[str]:
        for name in (names.TEMPERATURE, names.PARAMS_HASH):
            hashed_otherwise = name == names.PARAMS_HASH and self.other_key and self.both(name)
            if not self.neither(name) and self.a.get(name) != self.b.get(name) and not hashed_otherwise:
                yield name
        one, other = self.params
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other or compare(one[name], other[name]):
                yield names.REQUEST + name

    def changes(self, *, values: bool) -> tuple[Difference, ...]:
        """What differs in hashes, model, temperature and parameters."""
        one, other = (
            {name: side[name] for name in _COMPARED if name in side} | {names.REQUEST + k: v for k, v in params.items()}
            for side, params in zip((self.a, self.b), self.params, strict=True)
        )
        return compare(one, other, values=values)

    def unverified(self) -> Iterator[str]:
        """What neither side shows, or shows for sure."""
        if self.neither(names.TEMPERATURE):
            yield names.TEMPERATURE
        if self.neither(names.PARAMS_HASH) and not any(self.params):
            yield "sampling parameters"
        for name in (*_OF_TOOLS, names.MODEL):
            if self.neither(name) and name not in self.require:
                yield name
        if "config" in (self.a.get(names.MODEL_SOURCE), self.b.get(names.MODEL_SOURCE)):
            yield f"{names.MODEL} (declared, not observed)"
        for one in self.sides.values():
            yield from one.unverified


def _denied(attributes: Mapping[str, Any]) -> bool:
    """Whether a span with a model says itself that it has none."""
    return attributes.get(names.MISSING_MODEL) == "true" or attributes.get(names.MODEL_SOURCE) == "absent"


def _explained(one: Generation, name: str, *, nothing: bool) -> bool:
    """Whether a hash is missing for a reason that is reported anyway."""
    by_tools = name in _OF_TOOLS and one.fingerprint.get(names.COVERAGE, "none") != "full"
    cut = bool(one.remarks) and name != names.TOOLS_HASH
    return cut or (by_tools and not nothing)


def _digests_of_tools(attributes: Mapping[str, Any]) -> dict[str, tuple[str, str]] | None:
    """Digests of contract and words by tool, in order; None where the span has none that can be read."""
    try:
        rows = load_exact(attributes[names.DIGESTS])
        return {str(name): (str(contract), str(words)) for name, contract, words in rows}
    except (KeyError, InputError, TypeError, ValueError):
        return None


def _tools_changed(old: Mapping[str, tuple[str, str]], new: Mapping[str, tuple[str, str]]) -> Reason:
    tools = [f"{name} removed" for name in old if name not in new]
    tools += [f"{name} added" for name in new if name not in old]
    for name in old:
        if name in new and old[name] != new[name]:
            tools.append(name if old[name][0] != new[name][0] else f"{name} (description)")
    if not tools and list(old) != list(new):
        return "tools_reordered", ()
    return "tools_changed", tuple(sorted(tools))
