"""Consumers: what each reader of a tool's responses tolerates. One observation, a verdict for each."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolpulse._base.classes import attribute
from toolpulse._base.paths import Glob, Path, format_path, glob
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.declared import expectation, of_annotation
from toolpulse.judgement.diff import WARM, Change
from toolpulse.judgement.rules import ALWAYS_STANDS, RULE_IDS, RULES, Risk, Rule, classify

if TYPE_CHECKING:
    from toolpulse.evidence.profile import Profile

NUMERIC: Final[Mapping[str, Mapping[str, Risk]]] = {
    "lenient": {},
    "strict": {"number-widened": Risk.HIGH},
    "exact": {"number-widened": Risk.HIGH, "number-narrowed": Risk.HIGH},
}
"""What each numeric policy says of integers and numbers; what it does not name is quiet."""

ANNOTATION: Final = "annotation"

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
    def identity(self) -> tuple[str, ...]:
        """What makes it the same finding in another response; the evidence may differ."""
        return (self.path, self.rule_id, self.before, self.after, self.risk, self.consumer)

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
        numeric: str = "lenient",
        null: str = "investigate",
        ignore: Sequence[str] = (),
        requires: Sequence[str] = (),
        risk: Mapping[str, Risk | str] | None = None,
        opaque: bool = False,
        expects: Any = None,
        assertions: Mapping[str, Callable[[Any], object]] | None = None,
    ) -> None:
        self.name = _text("name", name)
        self.tools = _text("tools", tools)
        self.numeric = _one_of("numeric", numeric, tuple(NUMERIC))
        self.null = _one_of("null", null, NULL)
        self.ignore = _paths("ignore", ignore)
        self.requires = _paths("requires", requires)
        self.risk = _risks({} if risk is None else risk)
        self.opaque = _flag("opaque", opaque)
        self.expects = expects
        self.assertions = _assertions(assertions or {})
        self._expected = None if expects is None or expects == ANNOTATION else expectation(expects)
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
        absent = [p.text for p in self._requires if not any(map(p.matches, profile.paths()))]
        wrong = self._expected.disagreements(profile) if self._expected is not None else ()
        return (*wrong, *(f"{text}: required, and never seen" for text in absent))

    def broken(self, payload: object) -> tuple[str, ...]:
        """The assertions that do not hold for a payload, as ``consumer: assertion``."""
        return tuple(f"{self.name}: {name}" for name, holds in self.assertions.items() if not _holds(holds, payload))

    def risk_of(self, change: Change, rule: Rule, *, sealed: bool = True) -> Risk:
        """What a change means to this consumer. On a live baseline a path not yet taught ten times is ``info``."""
        risk = self._policy(rule)
        if rule.id in ALWAYS_STANDS:
            return self.risk.get(rule.id, risk)
        if any(_covers(pattern, change.path) for pattern in self._ignore):
            return Risk.QUIET
        expected = self._expected.risk_of(change, rule) if self._expected is not None else None
        risk = self._overridden(change, rule, risk if expected is None else expected)
        if self.requires:
            touched = any(pattern.touches(change.path) for pattern in self._requires)
            risk = max(risk, rule.risk) if touched else min(risk, Risk.INFO)
        learning = (change.cut and change.fact == "element") or (not sealed and change.taught < WARM)
        return min(risk, Risk.INFO) if self.opaque or learning else risk

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
    return worst_first(found)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they are told: worst first, then by path."""
    return tuple(sorted(findings, key=lambda f: (f.risk.rank, f.path, f.rule_id, f.after, f.consumer)))


def contract_findings(broken: tuple[str, ...], consumers: tuple[Consumer, ...]) -> tuple[Finding, ...]:
    """Findings for assertions that did not hold, given as ``consumer: assertion``."""
    rule = next(rule for rule in RULES if rule.id == "contract")
    found = []
    for consumer in consumers:
        for name in consumer.assertions:
            if f"{consumer.name}: {name}" in broken:
                risk = consumer.risk.get(rule.id, rule.risk)
                evidence = "an assertion on the payload is false, raised, or gave an awaitable"
                found.append(Finding("$", rule.id, "holds", name, risk, evidence, consumer=consumer.name))
    return tuple(found)


def _holds(assertion: Callable[[Any], object], payload: object) -> bool:
    try:
        answer = assertion(payload)
        return _drop(answer) if _is_promise(type(answer)) else bool(answer)
    except Exception:  # noqa: BLE001 - an assertion that raises does not hold
        return False


def _is_promise(kind: type) -> bool:
    """Whether values of a type stand for an answer still to come; they are all true."""
    generator = kind is types.GeneratorType or kind is types.AsyncGeneratorType
    return generator or any(attribute(kind, key) is not None for key in ("__await__", "add_done_callback"))


def _drop(promise: Any) -> bool:
    """Close what nobody will wait for, so that the interpreter does not complain of it; False."""
    if type(promise) is types.CoroutineType or type(promise) is types.GeneratorType:
        promise.close()
    return False


def _assertions(assertions: Mapping[str, Callable[[Any], object]]) -> dict[str, Callable[[Any], object]]:
    for name, predicate in assertions.items():
        if not isinstance(name, str) or not callable(predicate):
            raise ConfigurationError(f"consumer: assertions[{name!r}] must be a name and a callable")
        if any(_gives_no_answer(function) for function in (predicate, getattr(predicate, "__call__", None))):  # noqa: B004
            raise ConfigurationError(
                f"consumer: assertions[{name!r}] is an async function or a generator function; "
                "nobody waits for what it gives: take a plain function that returns true or false"
            )
    return dict(assertions)


def _gives_no_answer(function: object) -> bool:
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or inspect.isgeneratorfunction(function)
    )


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
    if isinstance(globs, str) or not isinstance(globs, Sequence):
        what = "a bare string" if isinstance(globs, str) else type(globs).__name__
        raise ConfigurationError(f"consumer: {setting} takes a list of paths, not {what}")
    for text in globs:
        glob(text)
    return tuple(globs)


def _flag(setting: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"consumer: {setting} must be True or False, not {value!r}")
    return value


def _risks(overrides: Mapping[str, Risk | str]) -> dict[str, Risk]:
    if not isinstance(overrides, Mapping):
        raise ConfigurationError(
            f"consumer: risk takes a mapping of rule ids and paths, not {type(overrides).__name__}"
        )
    return {key: _risk(key, value) for key, value in overrides.items()}


def _risk(key: str, value: Risk | str) -> Risk:
    try:
        return Risk(value)
    except ValueError:
        raise ConfigurationError(f"consumer: risk of {key} must be one of {', '.join(Risk)}, not {value!r}") from None


def _override(key: str) -> Glob:
    # rule ids are hyphenated; a path with a hyphen would be quoted, so a wrong id is not taken for a path
    _no_misspelt_rule(key)
    try:
        return glob(key)
    except ConfigurationError:
        raise ConfigurationError(f"consumer: risk names {key!r}, which is no rule id and no path") from None


def _no_misspelt_rule(key: str) -> None:
    """A rule id misspelt may still be a path; nobody would notice that it says nothing."""
    near = get_close_matches(key, sorted(RULE_IDS), 1, 0.8) if isinstance(key, str) else []
    if near and key not in RULE_IDS:
        raise ConfigurationError(f"consumer: risk names {key!r}; the rule is {near[0]}")


DEFAULT: Final = Consumer("default")
