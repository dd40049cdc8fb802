from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "toolpulse"

pytestmark = [
    pytest.mark.timeout(600),  # building and installing take what the package index takes
    pytest.mark.xdist_group("wheel"),  # one process builds and installs it, and the whole file uses it
]

NOT_IMPORTED = {
    "toolpulse.__main__": "importing it runs the command",
    "toolpulse.pytest_plugin": "pytest is there when pytest loads it",
}
IMPORT_ALONE = """
import importlib, os, sys, traceback
import msgspec, structlog, wrapt  # half a second that would else be spent for each module again
failed = []
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(f"cannot be imported alone: {failed}" if failed else 0)
"""

COMPILED_OR_CACHED = {".pyc", ".pyx", ".pxd", ".c", ".so", ".pyd"}


def _run(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command away from the checkout, without what could lead back to it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TOOLPULSE_", "VIRTUAL_ENV"))}
    return subprocess.run([str(a) for a in args], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def _must(*args: str | Path, cwd: Path) -> None:
    done = _run(*args, cwd=cwd)
    assert done.returncode == 0, f"{args}\n{done.stdout}\n{done.stderr}"


def _environment(path: Path, *requirements: str | Path) -> Path:
    """A fresh environment with nothing but the requirements; gives its folder of programs."""
    _must(sys.executable, "-m", "venv", "--without-pip", path, cwd=path.parent)
    _must(sys.executable, "-m", "pip", "--python", path, "install", "-q", *requirements, cwd=path.parent)
    return path / ("Scripts" if os.name == "nt" else "bin")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy: a build leaves folders behind, and old ones leak deleted files into the next."""
    tmp = tmp_path_factory.mktemp("wheel")
    probe = _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp / "probe", "rich", cwd=tmp)
    if probe.returncode:
        pytest.skip("no package index can be reached")
    source = tmp / "source"
    shutil.copytree(PACKAGE, source / "toolpulse", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py", "MANIFEST.in"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    _must(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp / "dist", source, cwd=tmp)
    (built,) = (tmp / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def without_extra(wheel, tmp_path_factory):
    """An environment as ``pip install toolpulse`` gives it."""
    return _environment(tmp_path_factory.mktemp("plain") / "env", wheel)


@pytest.fixture(scope="module")
def with_extra(wheel, tmp_path_factory):
    """An environment as ``pip install 'toolpulse[cli]'`` gives it."""
    return _environment(tmp_path_factory.mktemp("extra") / "env", f"{wheel}[cli]")


def _modules(*, cli: bool) -> list[str]:
    names = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(n for n in names - NOT_IMPORTED.keys() if cli or not n.startswith("toolpulse.cli."))


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    """A file forgotten by the packaging is found here and not by a user."""
    inside = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    inside = {n for n in inside if Path(n).suffix not in COMPILED_OR_CACHED}
    files = {p for p in PACKAGE.rglob("*") if p.is_file() and p.suffix not in COMPILED_OR_CACHED}
    assert "toolpulse/py.typed" in inside
    assert inside == {p.relative_to(ROOT).as_posix() for p in files}


def test_every_module_imports_with_the_run_time_dependencies(without_extra, tmp_path):
    """Each alone, so in any order. Three packages are all; only parts of the command line may need its extra."""
    _must(without_extra / "python", "-c", IMPORT_ALONE, *_modules(cli=False), cwd=tmp_path)


def test_every_module_imports_with_the_extra(with_extra, tmp_path):
    """The extra brings all that the command line needs."""
    lines = "\n".join(f"import {name}" for name in _modules(cli=True))
    _must(with_extra / "python", "-c", lines, cwd=tmp_path)


def test_the_command_without_its_extra_says_one_line(without_extra, tmp_path):
    """Whoever forgets the extra is told what to install, and sees no traceback."""
    done = _run(without_extra / "toolpulse", "demo", "--fast", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    (line,) = done.stderr.splitlines()
    assert "toolpulse[cli]" in line


@pytest.mark.parametrize("program", [["toolpulse"], ["python", "-m", "toolpulse"]], ids=" ".join)
def test_the_demo_runs_from_the_wheel(with_extra, tmp_path, program):
    """What is shipped works away from the checkout, by both of its names."""
    done = _run(with_extra / program[0], *program[1:], "demo", "--fast", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
