"""Consumers: what each reader of a tool's responses tolerates. One observation, a verdict for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from toolpulse.diff import WARM, Change
from toolpulse.errors import ConfigurationError
from toolpulse.paths import Glob, Path, format_path, glob
from toolpulse.risk import ALWAYS_STANDS, RULE_IDS, Risk, Rule, classify

NUMERIC: Final[Mapping[str, Mapping[str, Risk]]] = {
    "lenient": {},
    "strict": {"number-widened": Risk.HIGH},
    "exact": {"number-widened": Risk.HIGH, "number-narrowed": Risk.HIGH},
}
"""What each numeric policy says of integers and numbers; what it does not name is quiet."""

NULL: Final = ("quiet", "investigate", "high")


class Finding(msgspec.Struct, frozen=True):
    """A change, judged for one consumer."""

    path: str
    rule_id: str
    before: str
    after: str
    risk: Risk
    evidence: str
    pattern: str | None = None
    counterpart: str | None = None
    consumer: str = "default"

    @property
    def change(self) -> str:
        """What happened, as logs print it: ``number -> string``, or ``new element shape``."""
        return self.after if self.rule_id == "element-shape-new" else f"{self.before} -> {self.after}"


class Consumer:
    """One reader of a tool's responses and what it tolerates.

    ``tools``: a glob of tool names it reads. ``numeric``: ``lenient`` takes integers and numbers as one, ``strict`` is
    broken by a number where only integers were known, ``exact`` by either way. ``null``: the risk of a first null.
    ``ignore``: globs that give no finding, what is below them included. ``requires``: the paths it reads; a change at,
    above or below one keeps at least the table's risk, one elsewhere is ``info`` at most. ``risk``: overrides by rule
    id or path glob; a path's goes before a rule's. ``opaque``: it hands the response on untouched, so that structure is
    ``info`` at most. The availability of the whole response always stands.

    Raises ConfigurationError naming the setting: a policy or rule id that does not exist, a bad glob, a contradiction.
    """

    __slots__ = (
        "_ignore", "_overrides", "_requires", "ignore", "name", "null", "numeric", "opaque", "requires", "risk", "tools",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        tools: str = "*",
        numeric: str = "lenient",
        null: str = "investigate",
        ignore: Sequence[str] = (),
        requires: Sequence[str] = (),
        risk: Mapping[str, Risk | str] | None = None,
        opaque: bool = False,
    ) -> None:
        self.name = _text("name", name)
        self.tools = _text("tools", tools)
        self.numeric = _one_of("numeric", numeric, tuple(NUMERIC))
        self.null = _one_of("null", null, NULL)
        self.ignore = _paths("ignore", ignore)
        self.requires = _paths("requires", requires)
        self.risk = {key: _risk(key, value) for key, value in (risk or {}).items()}
        self.opaque = opaque
        self._ignore = tuple(map(glob, self.ignore))
        self._requires = tuple(map(glob, self.requires))
        self._overrides = tuple((_override(key), value) for key, value in self.risk.items() if key not in RULE_IDS)
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
        """Whether the tool is one of its ``tools``."""
        return fnmatchcase(tool, self.tools)

    def risk_of(self, change: Change, rule: Rule, *, sealed: bool = True) -> Risk:
        """What a change means to this consumer. On a live baseline a path not yet taught ten times is ``info``."""
        risk = self._policy(rule)
        if rule.id in ALWAYS_STANDS:
            return self.risk.get(rule.id, risk)
        if any(_covers(pattern, change.path) for pattern in self._ignore):
            return Risk.QUIET
        risk = self._overridden(change, rule, risk)
        if self.requires:
            touched = any(pattern.touches(change.path) for pattern in self._requires)
            risk = min(risk, rule.risk) if touched else max(risk, Risk.INFO)
        learning = (change.cut and change.fact == "element") or (not sealed and change.taught < WARM)
        return max(risk, Risk.INFO) if self.opaque or learning else risk

    def _policy(self, rule: Rule) -> Risk:
        if rule.policy == "numeric":
            return NUMERIC[self.numeric].get(rule.id, Risk.QUIET)
        return Risk(self.null) if rule.policy == "null" else rule.risk

    def _overridden(self, change: Change, rule: Rule, risk: Risk) -> Risk:
        for pattern, value in self._overrides:
            if pattern.matches(change.path):
                return value
        return self.risk.get(rule.id, risk)

    def plain(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain data."""
        default = Consumer(self.name)
        found: dict[str, Any] = {"name": self.name}
        for setting in ("tools", "numeric", "null", "ignore", "requires", "risk", "opaque"):
            value = getattr(self, setting)
            if value != getattr(default, setting):
                found[setting] = list(value) if isinstance(value, tuple) else value
        return found

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.plain().items() if key != "name")
        return f"Consumer({self.name!r}{', ' if settings else ''}{settings})"


def findings(
    changes: tuple[Change, ...], consumers: tuple[Consumer, ...], *, sealed: bool = True
) -> tuple[Finding, ...]:
    """What the changes mean to each consumer; nothing quiet among it. Worst first, then by path."""
    found = []
    for change in changes:
        rule = classify(change)
        for consumer in consumers:
            risk = consumer.risk_of(change, rule, sealed=sealed)
            if risk is not Risk.QUIET:
                found.append(_finding(change, rule, risk, consumer))
    return tuple(sorted(found, key=lambda f: (f.risk, f.path, f.rule_id, f.after, f.consumer)))


def _finding(change: Change, rule: Rule, risk: Risk, consumer: Consumer) -> Finding:
    return Finding(
        format_path(change.path),
        rule.id,
        change.before,
        change.after,
        risk,
        change.evidence,
        change.pattern,
        change.counterpart,
        consumer.name,
    )


def _covers(pattern: Glob, path: Path) -> bool:
    return any(pattern.matches(path[:end]) for end in range(1, len(path) + 1)) or pattern.matches(path)


def _text(setting: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"consumer: {setting} must be a string that is not empty, not {value!r}")
    return value


def _one_of(setting: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigurationError(f"consumer: {setting} must be one of {', '.join(known)}, not {value!r}")
    return value


def _paths(setting: str, globs: Sequence[str]) -> tuple[str, ...]:
    if isinstance(globs, str):
        raise ConfigurationError(f"consumer: {setting} takes a list of paths, not a bare string")
    for text in globs:
        glob(text)
    return tuple(globs)


def _risk(key: str, value: Risk | str) -> Risk:
    try:
        return Risk(value)
    except ValueError:
        raise ConfigurationError(f"consumer: risk of {key} must be one of {', '.join(Risk)}, not {value!r}") from None


def _override(key: str) -> Glob:
    # rule ids are hyphenated; a path with a hyphen would be quoted, so a wrong id is not taken for a path
    try:
        return glob(key)
    except ConfigurationError:
        raise ConfigurationError(f"consumer: risk names {key!r}, which is no rule id and no path") from None


DEFAULT: Final = Consumer("default")
