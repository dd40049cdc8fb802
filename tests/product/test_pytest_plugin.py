from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from scripts import ROOT, environment, run

TESTS = """
import os
import toolpulse

@toolpulse.watch(tool="t")
def tool(value):
    return {"value": value}

def test_store():
    assert os.environ["TOOLPULSE_DB"] == "STORE"

def test_records(toolpulse_monitor):
    for n in range(12):
        tool(n)
    tool("x")
    assert [event.status for event in toolpulse_monitor.events] == ["learned", "open"]

def test_records_alone(toolpulse_monitor):
    assert toolpulse_monitor.events == []
    assert toolpulse_monitor.health().tools == {}
"""


def _pytest(folder, **env):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "toolpulse.pytest_plugin", "-p", "no:cacheprovider", "test_it.py"],
        cwd=folder,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **env),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("given", [None, "sqlite:///mine.db"])
def test_the_plugin_records_and_keeps_mocks_out_of_the_baseline(given, tmp_path):
    """What a mock returns must not teach what production is compared with, unless somebody names a store."""
    (tmp_path / "test_it.py").write_text(TESTS.replace("STORE", given or "memory:"), "utf-8")
    done = _pytest(tmp_path, **({"TOOLPULSE_DB": given} if given else {}))
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    assert list(tmp_path.glob(".toolpulse")) == []


def test_the_environment_is_left_as_it_was(tmp_path):
    """pytest may run inside a program."""
    (tmp_path / "test_it.py").write_text("def test_it(): pass", "utf-8")
    code = """
import os, sys, pytest
assert pytest.main(["-q", "-p", "toolpulse.pytest_plugin", "-p", "no:cacheprovider"]) == 0
print(os.environ.get("TOOLPULSE_DB"), file=sys.stderr)
"""
    done = run(code, tmp_path, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert (done.returncode, done.stderr) == (0, "None\n")


def test_the_plugin_is_registered():
    """pytest finds it by its entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"toolpulse": "toolpulse.pytest_plugin"}


def test_the_plugin_loads_little(tmp_path):
    """It is loaded in every test run of whoever has ToolPulse installed."""
    code = """
import sys
import pytest, toolpulse
before = set(sys.modules)
import toolpulse.pytest_plugin
print(*set(sys.modules) - before)
"""
    done = run(code, tmp_path)
    assert done.stdout.split() == ["toolpulse.pytest_plugin"], done.stderr
