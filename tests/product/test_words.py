"""One word for one thing: the glossary is true, and words that were given up do not come back as names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "toolpulse"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")

GIVEN_UP = {
    "arrived": "acknowledged",
    "Book": "IncidentLog",
    "Flight": "InFlightBatch",
    "HeldBack": "Quarantine",
    "Place": "PathStats",
    "Relay": "Dispatcher",
    "Ruling": "Comparison",
    "Taught": "learned",
    "Track": "ToolChannel",
    "Turn": "NonReentrantLock",
    "book": "incident_log",
    "born": "created_nonce",
    "flight": "in_flight",
    "give": "release",
    "held_back": "quarantined",
    "lacking": "last_absent",
    "lapse": "drop_unconfirmed",
    "life": "generation",
    "relay": "dispatcher",
    "taught": "learned",
    "teach": "learn",
    "teaches": "learns",
    "tell": "report",
    "tellings": "report_count",
    "track": "channel",
    "turn": "lock",
}
"""Names that nothing in the package has any more, and what each thing is called."""


def named(source: str) -> set[str]:
    """The functions, classes, parameters and attributes that a module defines, without their leading underscores."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name.lstrip("_") for name in names}


def _modules() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize("word", GIVEN_UP)
def test_a_word_that_was_given_up_does_not_come_back(word):
    """Two words for one thing make a reader look for the difference."""
    back = [path for path, source in _modules().items() if word in named(source)]
    assert back == [], f"call it {GIVEN_UP[word]}"


def test_a_name_is_found_wherever_it_is_defined():
    """The search must be able to find a class, a function, a parameter and an attribute."""
    source = "class Book:\n    told: int\n    def take(self, held):\n        self._taught = held\n"
    assert named(source) == {"Book", "told", "take", "self", "held", "taught"}


def _places(text: str) -> set[str]:
    """The files and folders below the package that a page names."""
    return set(re.findall(r"(?<![\w./(\[-])((?:[a-z_]+/)+(?:[a-z_]+\.py)?|[a-z_]+\.py)(?![\w(])", text))


@pytest.mark.parametrize("page", [GLOSSARY, ARCHITECTURE], ids=["glossary", "architecture"])
def test_every_file_that_a_page_names_exists(page):
    """Who looks a word up goes to the file next."""
    places = _places(page)
    assert {"judgement/rules.py", "stores/"} & places
    places.discard("toolpulse/")
    assert [place for place in sorted(places) if not (PACKAGE / place).exists()] == []


def test_every_room_is_in_the_architecture():
    """A room that the page leaves out is one that a newcomer does not understand."""
    rooms = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.name for path in PACKAGE.glob("*.py")} - {"__main__.py"}
    table = ARCHITECTURE.partition("## What a room may do")[2].partition("\n## ")[0]
    assert [room for room in sorted(rooms) if f"`{room}`" not in table] == []


def test_words_are_in_the_glossary_once():
    """A word with two rows would be two things again."""
    words = re.findall(r"^\| ([^|]+?) \|", GLOSSARY, re.MULTILINE)
    rows = [word for word in words if word != "word" and not word.startswith("---")]
    assert len(rows) == len(set(rows)) > 40
