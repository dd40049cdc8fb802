from __future__ import annotations

import argparse

import pytest

from toolpulse.cli._kit import arguments
from toolpulse.judgement.rules import Risk

LONE = "\udcff"
"""What Python makes of a byte of the command line that is no UTF-8."""


@pytest.mark.parametrize(
    ("check", "typed", "value"),
    [
        ("strict_text", " x ", " x "),
        ("words", "a reason", "a reason"),
        ("file_name", "-", "-"),
        ("new_file", "./-", "./-"),
        ("one_path", '$.results[]["a.b"]', 'results[]["a.b"]'),
        ("one_glob", "results[].*", "results[].*"),
        ("risks", "high", frozenset({Risk.HIGH})),
        ("risks", "high, availability", frozenset({Risk.HIGH, Risk.AVAILABILITY})),
    ],
)
def test_what_may_be_typed(check, typed, value):
    """The value is what the command works with: a path in the spelling in which it is printed."""
    assert getattr(arguments, check)(typed) == value


@pytest.mark.parametrize(
    ("check", "typed", "words"),
    [
        ("strict_text", LONE, "it must be text"),
        ("words", LONE, "it must be text, and not blank"),
        ("words", " \t", "it must be text, and not blank"),
        ("file_name", "", "'' is no file name"),
        ("file_name", "a\0b", "is no file name"),
        ("new_file", "-", "- is standard output"),
        ("new_file", "", "is no file name"),
        ("one_path", "a[", "a["),
        ("one_glob", "a[", "a["),
        ("risks", "quiet", "'quiet' is no risk; known are high"),
        ("risks", "high,", "'' is no risk"),
        ("risks", "HIGH", "'HIGH' is no risk"),
    ],
    ids=[
        "no text", "no words", "blank", "no name", "nul", "standard output", "empty", "no path", "no glob",
        "quiet", "nothing behind the comma", "capitals",
    ],
)  # fmt: skip
def test_what_may_not_be_typed_is_said(check, typed, words):
    """argparse puts the argument's name in front; what is wrong with it is said here."""
    with pytest.raises(argparse.ArgumentTypeError) as error:
        getattr(arguments, check)(typed)
    assert words in str(error.value)


def test_a_file_to_write_may_be_required():
    """Where a command has nothing else to do, it is wrong use to leave it out."""
    for required in (True, False):
        parser = argparse.ArgumentParser(exit_on_error=False)
        arguments.output_argument(parser, "the file", required=required)
        assert parser.parse_args(["-o", "x.json"]).output == "x.json"
        if required:
            with pytest.raises((argparse.ArgumentError, SystemExit)):
                parser.parse_args([])
        else:
            assert parser.parse_args([]).output is None
