from __future__ import annotations

import pytest

from toolpulse.errors import ConfigurationError
from toolpulse.judgement import consumer_settings as settings
from toolpulse.judgement.rules import RULE_IDS, Risk


@pytest.mark.parametrize(
    ("check", "good"),
    [
        (lambda: settings.text("name", "billing"), "billing"),
        (lambda: settings.one_of("numeric", "exact", ("exact", "strict")), "exact"),
        (lambda: settings.paths("ignore", ["a[]", "**"]), ("a[]", "**")),
        (lambda: settings.paths("ignore", ()), ()),
        (lambda: settings.flag("opaque", False), False),
        (
            lambda: settings.risks({"kind-changed": "info", "a.b": Risk.HIGH}),
            {"kind-changed": Risk.INFO, "a.b": Risk.HIGH},
        ),
    ],
    ids=["text", "word", "paths", "no paths", "flag", "risks"],
)
def test_a_good_setting_is_given_back(check, good):
    """What is shown of a consumer later is what was set."""
    assert check() == good


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: settings.text("name", ""), "name must be a string that is not empty"),
        (lambda: settings.text("name", 3), "name must be a string that is not empty, not 3"),
        (lambda: settings.one_of("numeric", "loose", ("exact", "strict")), "numeric must be one of exact, strict"),
        (lambda: settings.paths("ignore", "a.b"), "ignore takes a list of paths, not a bare string"),
        (lambda: settings.paths("ignore", {"a"}), "ignore takes a list of paths, not set"),
        (lambda: settings.paths("ignore", ["a", "b["]), "b["),
        (lambda: settings.flag("opaque", 1), "opaque must be True or False, not 1"),
        (lambda: settings.risks([("a", "high")]), "risk takes a mapping"),
        (lambda: settings.risks({"a": "huge"}), "risk of a must be one of"),
        (lambda: settings.override("a["), "which is no rule id and no path"),
        (lambda: settings.override("kind-change"), "the rule is kind-changed"),
    ],
    ids=[
        "empty", "no text", "word", "bare", "set", "no path", "flag", "no mapping", "no risk", "no glob", "misspelt",
    ],
)  # fmt: skip
def test_a_bad_setting_is_named(check, words):
    """The message is all that its author sees, and it comes from deep inside a constructor."""
    with pytest.raises(ConfigurationError) as error:
        check()
    assert words in str(error.value)


@pytest.mark.parametrize("rule", sorted(RULE_IDS))
def test_a_rule_id_with_a_letter_lost_is_never_taken_for_a_path(rule):
    """It would be a path that no response has, and the override would say nothing."""
    with pytest.raises(ConfigurationError):
        settings.override(rule[:-1])


def test_an_override_of_a_path_matches_that_path():
    """It is compiled once, and asked for each change."""
    assert settings.override("a.*").matches(("a", "b"))
    assert not settings.override("a.*").matches(("b", "b"))
