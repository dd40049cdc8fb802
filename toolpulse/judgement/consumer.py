"""Consumers: what each reader of a tool's responses tolerates.

A consumer is a view: the facts are the same for all, and it says what each means to it (``risk_of``). It is checked
when it is made, and never asks a response but by its assertions. ``findings`` asks it for every change.
"""

from __future__ import annotations

from copy import copy
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from toolpulse._base.paths import Glob, Path, glob
from toolpulse.errors import ConfigurationError
from toolpulse.judgement import consumer_settings as settings
from toolpulse.judgement.assertions import checked_assertions, holds
from toolpulse.judgement.changes import WARM_UP, Change
from toolpulse.judgement.declared import expectation, of_annotation
from toolpulse.judgement.rules import (
    ALWAYS_STANDS,
    NULL,
    NUMERIC,
    NUMERIC_RISKS,
    RULE_IDS,
    NullPolicy,
    NumericPolicy,
    Risk,
    Rule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolpulse.evidence.profile import Profile

ANNOTATION: Final = "annotation"
"""The value of ``expects`` that means the tool's own return annotation."""


class Consumer:
    """One reader of a tool's responses and what it tolerates.

    ``tools``: a glob of tool names it reads. ``numeric``: ``lenient`` takes integers and numbers as one, ``strict`` is
    broken by a number where only integers were known, ``exact`` by either way. ``null``: the risk of a first null.
    ``ignore``: globs that give no finding, what is below them included. ``requires``: the paths it reads; a change at,
    above or below one keeps at least the table's risk, one elsewhere is ``info`` at most. ``risk``: overrides by rule
    id or path glob; a path's goes before a rule's. ``opaque``: it hands the response on untouched, so that structure is
    ``info`` at most. ``expects``: the type it reads the response into (a pydantic model, a dataclass, a TypedDict, a
    msgspec.Struct, a JSON Schema as a dict, or ``"annotation"`` for the tool's own return annotation); what the type
    does not need or does take is ``info`` at most. ``assertions``: named predicates on the live payload, called in the
    tool's thread; one that is false or raises is a ``contract`` finding, and the payload is not kept. Nobody waits for
    what one returns: an awaitable or a generator is no answer, and counts as false. The availability of the whole
    response always stands.

    Raises ConfigurationError naming the setting: a policy or rule id that does not exist, a bad glob, a contradiction,
    an assertion that is an ``async`` function or a generator function.
    """

    __slots__ = (
        "_expected", "_ignore", "_overrides", "_requires", "assertions", "expects", "ignore", "name", "null", "numeric",
        "opaque", "requires", "risk", "tools",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        tools: str = "*",
        numeric: NumericPolicy = "lenient",
        null: NullPolicy = "investigate",
        ignore: Sequence[str] = (),
        requires: Sequence[str] = (),
        risk: Mapping[str, Risk | str] | None = None,
        opaque: bool = False,
        expects: Any = None,
        assertions: Mapping[str, Callable[[Any], object]] | None = None,
    ) -> None:
        self.name = settings.text("name", name)
        self.tools = settings.text("tools", tools)
        self.numeric = settings.one_of("numeric", numeric, NUMERIC)
        self.null = settings.one_of("null", null, NULL)
        self.ignore = settings.paths("ignore", ignore)
        self.requires = settings.paths("requires", requires)
        self.risk = settings.risks({} if risk is None else risk)
        self.opaque = settings.flag("opaque", opaque)
        self.expects = expects
        self.assertions = checked_assertions(assertions or {})
        self._expected = None if expects is None or expects == ANNOTATION else expectation(expects)
        self._ignore = tuple(map(glob, self.ignore))
        self._requires = tuple(map(glob, self.requires))
        self._overrides = tuple(
            (settings.override(key), value) for key, value in self.risk.items() if key not in RULE_IDS
        )
        self._contradictions()

    def _contradictions(self) -> None:
        both = sorted(set(self.ignore) & set(self.requires))
        if both:
            raise ConfigurationError(f"consumer {self.name}: ignore and requires both name {both[0]}")
        if self.opaque and self.requires:
            raise ConfigurationError(
                f"consumer {self.name}: opaque reads nothing, but requires names {self.requires[0]}"
            )

    def reads(self, tool: str) -> bool:
        """Whether a tool, by its name, is one of its ``tools``."""
        return fnmatchcase(tool, self.tools)

    def for_function(self, function: Any) -> Consumer:
        """This consumer beside a tool: with ``expects="annotation"`` it reads the function's return annotation.

        Raises ConfigurationError where the annotation cannot be read.
        """
        if self.expects != ANNOTATION or function is None:
            return self
        bound = copy(self)
        bound._expected = of_annotation(function)  # noqa: SLF001 - its own kind
        return bound

    def disagreements(self, profile: Profile) -> tuple[str, ...]:
        """Where what was learned is not what ``expects`` says, or lacks what is required; a sentence for each place."""
        never_seen = [p.text for p in self._requires if not any(map(p.matches, profile.paths()))]
        wrong = self._expected.disagreements(profile) if self._expected is not None else ()
        return (*wrong, *(f"{text}: required, and never seen" for text in never_seen))

    def broken(self, payload: object) -> tuple[str, ...]:
        """The assertions that do not hold for a payload, as ``consumer: assertion``."""
        return tuple(
            f"{self.name}: {name}" for name, assertion in self.assertions.items() if not holds(assertion, payload)
        )

    def risk_of(self, change: Change, rule: Rule, *, sealed: bool = True) -> Risk:
        """What a change means to this consumer, ``rule`` being the row of the table that names it.

        In this order: its policies, ``ignore``, ``expects``, ``risk``, ``requires``, and then ``info`` at most where it
        is ``opaque`` or a path of a live baseline was not yet seen ten times.
        """
        risk = self._by_policy(rule)
        if rule.id in ALWAYS_STANDS:
            return self.risk.get(rule.id, risk)
        if any(_covers(pattern, change.path) for pattern in self._ignore):
            return Risk.QUIET
        expected = self._expected.risk_of(change, rule) if self._expected is not None else None
        risk = self._overridden(change, rule, risk if expected is None else expected)
        if self.requires:
            touched = any(pattern.touches(change.path) for pattern in self._requires)
            risk = max(risk, rule.risk) if touched else min(risk, Risk.INFO)
        # an element may have been there all along where some were left out
        uncertain = (change.truncated and change.fact == "element") or (not sealed and change.learned_from < WARM_UP)
        return min(risk, Risk.INFO) if self.opaque or uncertain else risk

    def _by_policy(self, rule: Rule) -> Risk:
        if rule.policy == "numeric":
            return NUMERIC_RISKS[self.numeric].get(rule.id, Risk.QUIET)
        return Risk(self.null) if rule.policy == "null" else rule.risk

    def _overridden(self, change: Change, rule: Rule, risk: Risk) -> Risk:
        for pattern, value in self._overrides:
            if pattern.matches(change.path):
                return value
        return self.risk.get(rule.id, risk)

    def plain(self) -> dict[str, Any]:
        """Its name and the settings that differ from the defaults, as plain data; no ``expects``, no ``assertions``."""
        default = Consumer(self.name)
        plain: dict[str, Any] = {"name": self.name}
        for setting in ("tools", "numeric", "null", "ignore", "requires", "risk", "opaque"):
            value = getattr(self, setting)
            if value != getattr(default, setting):
                plain[setting] = list(value) if isinstance(value, tuple) else value
        return plain

    def __repr__(self) -> str:
        differing = "".join(f", {key}={value!r}" for key, value in self.plain().items() if key != "name")
        return f"Consumer({self.name!r}{differing})"


def _covers(pattern: Glob, path: Path) -> bool:
    return any(pattern.matches(path[:end]) for end in range(1, len(path) + 1)) or pattern.matches(path)


DEFAULT: Final = Consumer("default")
