from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

from toolpulse import provenance

MODULES = [module.name for module in walk_packages(provenance.__path__, f"{provenance.__name__}.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_are_true(module):
    """An example that no longer holds misleads whoever learns from it."""
    assert doctest.testmod(import_module(module)).failed == 0


def test_there_are_examples():
    """Without any the test above would check nothing."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for module in MODULES for test in finder.find(import_module(module)) if test.examples]
    assert len(examples) > 5
