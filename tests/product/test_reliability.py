from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def functions(file):
    """The test functions of a file, each with the source of its marks: its own and the file's."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    marks = [
        ast.unparse(one.value) for one in tree.body if isinstance(one, ast.Assign) and names(one) == ["pytestmark"]
    ]
    return {
        one.name: " ".join([*marks, *map(ast.unparse, one.decorator_list)])
        for one in tree.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def names(assignment):
    """What an assignment assigns to."""
    return [target.id for target in assignment.targets if isinstance(target, ast.Name)]


def rows():
    """The rows of the tables of promises, without their heads."""
    promises = PAGE[: PAGE.index("## Not promised")]
    return [line for line in promises.splitlines() if line.startswith("| ") and not line.endswith("| shown by |")]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_each_promise_is_shown_by_an_attack(file, name):
    """A promise whose test was renamed or lost its mark is a promise that nobody keeps."""
    assert "pytest.mark.attack" in functions(file)[name]


def test_each_promise_names_a_test():
    """A line without one is an opinion."""
    assert len(rows()) > 20
    assert [line for line in rows() if not re.search(r"`tests/[\w/]+\.py::\w+` ?[,|]", line)] == []


def test_figures_are_those_of_the_tests():
    """A list that grows or shrinks says so on the page."""
    from attack.test_hostile_responses import RESPONSES
    from attack.test_malicious_files import BASELINES, FILES, commands
    from attack.test_threads import CALLS, SHAPES, THREADS

    assert f"{len(RESPONSES)} kinds of hostile response" in PAGE
    assert f"{len(FILES)} files, each given to {len(commands(''))} commands; {len(BASELINES)} tampered" in PAGE
    assert f"{THREADS} threads, {CALLS:,} calls each, {len(SHAPES)} shapes" in PAGE
