"""Checks of a consumer's settings: each gives the setting back, or raises ConfigurationError that names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from toolpulse._base.paths import Glob, glob
from toolpulse.errors import ConfigurationError
from toolpulse.judgement.rules import RULE_IDS, Risk

Word = TypeVar("Word", bound=str)


def text(setting: str, value: object) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"consumer: {setting} must be a string that is not empty, not {value!r}")
    return value


def one_of(setting: str, value: Word, known: tuple[Word, ...]) -> Word:
    """One of the words it may be."""
    if value not in known:
        raise ConfigurationError(f"consumer: {setting} must be one of {', '.join(known)}, not {value!r}")
    return value


def paths(setting: str, globs: Sequence[str]) -> tuple[str, ...]:
    """Globs of paths, as they were written."""
    if isinstance(globs, str) or not isinstance(globs, Sequence):
        what = "a bare string" if isinstance(globs, str) else type(globs).__name__
        raise ConfigurationError(f"consumer: {setting} takes a list of paths, not {what}")
    for text in globs:
        glob(text)
    return tuple(globs)


def flag(setting: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"consumer: {setting} must be True or False, not {value!r}")
    return value


def risks(overrides: Mapping[str, Risk | str]) -> dict[str, Risk]:
    """Overrides by rule id or path, with their risks."""
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


def override(key: str) -> Glob:
    """The compiled glob of an override that is no rule id."""
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
