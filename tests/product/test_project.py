from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")
CI = (ROOT / ".ci" / "run").read_text("utf-8")

# where the project was written is no concern of whoever reads it
TALES = (
    "/work/",
    "/farm/",
    "/tmp/tp",
    "DESIGN.md",
    "BRIEF.md",
    "shared/notes",
    "notes/boundary",
    "notes/peers",
    "notes/provenance",
    "notes/style",
    "../shared",
)
NOT_READ = {".so", ".pyd", ".pyc", ".c"}
LEFT_BY_TOOLS = re.compile(r"(__pycache__|build|dist|mutants|node_modules|.*\.egg-info|\.(?!ci$|github$).*)")


def _files(folder=ROOT):
    """The project's files; what tools leave behind is not among them."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if not LEFT_BY_TOOLS.fullmatch(path.name):
                yield from _files(path)
        elif path.suffix not in NOT_READ and path.name != ".git":  # a file in a worktree
            yield path


def _tales(text: str) -> list[str]:
    return [tale for tale in TALES if tale.lower() in text.lower()]


def _commands(marker: str) -> list[str]:
    """The lines of the fenced block below a marker in the README."""
    block = re.search(rf"^<!-- command: {marker} -->\n```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block, marker
    return block[1].splitlines()


def test_the_repository_tells_no_tales():
    """A file that points to where it was written points nowhere for everybody else."""
    files = list(_files())
    assert {ROOT / "README.md", ROOT / ".ci" / "run", ROOT / "toolpulse" / "errors.py"} <= set(files)
    told = {
        path.relative_to(ROOT).as_posix(): tales
        for path in files
        if path != Path(__file__).resolve() and (tales := _tales(path.read_text("utf-8", errors="replace")))
    }
    assert told == {}


def test_a_tale_is_found():
    """The search for tales must be able to find one."""
    assert _tales("see Design.md, part 3") == ["DESIGN.md"]


@pytest.mark.parametrize("marker", ["demo", "test"])
def test_set_up_is_one_command(marker):
    """One line takes a clone to something that runs; its extra and its program have to exist."""
    (command,) = _commands(marker)
    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")
    (extra,) = re.findall(r"'\.\[(\w+)\]'", command)
    assert extra in PROJECT["optional-dependencies"]
    program = command.rpartition(".venv/bin/")[2].split()[0]
    assert program in {*PROJECT["scripts"], *_named(PROJECT["optional-dependencies"][extra])}


def test_ci_runs_the_readme_s_command():
    """CI takes the test command from the README, so what a newcomer types is what was checked."""
    done = subprocess.run(["bash", ROOT / ".ci" / "run", "--command"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == _commands("test")


def _subcommands() -> set[str]:
    fenced = re.findall(r"^```(?:sh|console)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    lines = [line for block in fenced for line in block.splitlines()]
    return {word for line in lines for word in re.findall(r"(?:^|[\s/])toolpulse ([a-z][a-z-]*)", line)}


def test_the_readme_s_commands_exist():
    """A command that the README shows and the program does not know costs a newcomer's trust."""
    assert "demo" in _subcommands()
    for word in sorted(_subcommands()):
        done = subprocess.run(
            [sys.executable, "-m", "toolpulse", word, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"toolpulse {word}: {done.stderr}"


def test_the_changelog_has_the_version():
    """A version nobody wrote about must not be shipped."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## \[{re.escape(PROJECT['version'])}\]", changelog, re.MULTILINE)


def test_supported_pythons_are_the_same_everywhere():
    """A user believes the classifiers and the lowest version; CI is what proves them."""
    prefix = "Programming Language :: Python :: 3."
    claimed = [
        c.removeprefix("Programming Language :: Python :: ") for c in PROJECT["classifiers"] if c.startswith(prefix)
    ]
    (checked,) = re.findall(r'^pythons="(.*)"$', CI, re.MULTILINE)
    assert checked.split() == claimed
    assert PROJECT["requires-python"] == f">={claimed[0]}"


def _named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", requirement)[0] for requirement in requirements}


def test_run_time_needs_three_packages():
    """A monitor that drags packages into its host is removed from it; upper bounds would do harm there too."""
    assert _named(PROJECT["dependencies"]) == {"wrapt", "msgspec", "structlog"}
    assert not any("<" in requirement for requirement in PROJECT["dependencies"])
