"""The recipes of CONTRIBUTING, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recipes import AFTERWARDS, RECIPES, Step

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
FOLDERS = ("toolpulse", "tests", "docs", "examples")
FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml")

LEFT_OUT = [
    pytest.param(heading, step, id=f"{heading}, {step.file}, step {number}")
    for heading, recipe in RECIPES.items()
    for number, step in enumerate(recipe.steps, 1)
    if step.complaint
]


def _sections() -> dict[str, str]:
    how = CONTRIBUTING.partition("\n## How to add\n")[2].partition("\n## ")[0]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in how.split("\n### ")[1:]}


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of what the recipes change and what their tests read."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def _do(folder: Path, step: Step) -> None:
    path = folder / step.file
    if not step.before:
        assert not path.exists(), f"{step.file} is there already"
        path.write_text(step.text, "utf-8")
        return
    text = path.read_text("utf-8")
    assert text.count(step.before) == 1, f"{step.file}: {text.count(step.before)} times {step.before!r}"
    path.write_text(text.replace(step.before, step.text + step.before), "utf-8")


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the copy's package, which comes before the one that is installed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _tested(folder: Path, heading: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *RECIPES[heading].tests)


def test_every_recipe_is_followed_here():
    """A recipe that nobody follows is out of date within a month."""
    assert _sections().keys() == RECIPES.keys()


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_names_every_file_that_it_takes(heading):
    """A newcomer has only the recipe; a file it does not name is found by failing."""
    text = _sections()[heading]
    for step in RECIPES[heading].steps:
        name = step.file.removeprefix("toolpulse/")
        name = name if step.before else re.sub(r"[^/]+\.py$", "<name>.py", name)
        assert f"`{name}`" in text, f"{heading}: {name}"
    for test in RECIPES[heading].tests:
        file = test.partition("::")[0]
        assert not file.startswith("tests/") or f"{file}" in text, f"{heading}: {file}"


@pytest.mark.parametrize("heading", RECIPES)
def test_who_follows_a_recipe_is_done(copy, heading):
    """Following it, and nothing else, adds the thing and leaves the tests green."""
    for step in RECIPES[heading].steps:
        _do(copy, step)
    done = _tested(copy, heading)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    after = _run(copy, "-c", AFTERWARDS.get(heading, ""))
    assert after.returncode == 0, after.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("heading", "left_out"), LEFT_OUT)
def test_a_step_that_is_left_out_is_missed(copy, heading, left_out):
    """Whoever forgets a step hears which one from a test, and not from a user."""
    for step in RECIPES[heading].steps:
        if step is not left_out:
            _do(copy, step)
    done = _tested(copy, heading)
    assert done.returncode != 0, "nothing missed the step"
    assert left_out.complaint in done.stdout
