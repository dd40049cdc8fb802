"""What a user may import is a list, and it is the list that the pages and examples keep to."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PUBLIC = re.findall(r"^\| `(toolpulse[\w.]*)` \|", ARCHITECTURE, re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.py"))]
IMPORT = re.compile(r"^[ \t]*(?:from (toolpulse[\w.]*) import ([\w, ()]+)|import (toolpulse[\w.]*))", re.MULTILINE)


def _imported(text: str) -> set[str]:
    """The modules of the package that a page or program imports from."""
    modules = set()
    for origin, names, module in IMPORT.findall(text):
        modules.add(module or origin)
        below = {f"{origin}.{name.strip(' ()')}" for name in names.split(",")} if origin else set()
        modules = (modules - {origin}) | (below & set(PUBLIC) or {origin}) if origin else modules
    return modules


def test_the_list_is_there():
    """A table that lost its form would make the tests below pass without looking at anything."""
    assert len(PUBLIC) == len(set(PUBLIC)) > 10
    assert {"toolpulse", "toolpulse.errors", "toolpulse.sinks.base", "toolpulse.stores.base"} <= set(PUBLIC)


@pytest.mark.parametrize("module", PUBLIC)
def test_each_can_be_imported(module):
    """A path that is promised and does not work breaks whoever wrote it down."""
    assert importlib.import_module(module).__doc__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_and_examples_import_nothing_else(page):
    """What an example imports is what users copy, and then it has to stay."""
    assert _imported(page.read_text("utf-8")) - set(PUBLIC) == set()


def test_an_import_is_found():
    """The search must be able to find one, on a line of its own or indented."""
    text = (
        "import toolpulse\n    from toolpulse.runtime.worker import Worker\nfrom toolpulse.provenance import context\n"
    )
    assert _imported(text) == {"toolpulse", "toolpulse.runtime.worker", "toolpulse.provenance.context"}


@pytest.mark.parametrize("entry", ["toolpulse.cli:main", "toolpulse.pytest_plugin"])
def test_entry_points_work_and_are_on_the_page(entry):
    """Installed programs find the package by these names."""
    module, _, name = entry.partition(":")
    assert f"`{entry}`" in ARCHITECTURE
    assert entry in (ROOT / "pyproject.toml").read_text("utf-8")
    assert not name or callable(getattr(importlib.import_module(module), name))
