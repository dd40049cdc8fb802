from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = (
    "__main__",
    "__init__",
    "cli pytest_plugin",
    "integrations report testing",
    "_process",
    "monitor",
    "_probe",
    "watch provenance config",
    "_wrappers _toolobjects",
    "_engine _health",
    "_relay decide",
    "_track _outbox _worker _keys _settings _switch stream",
    "_lifetime",
    "_signals",
    "sinks stores",
    "live portable",
    "learned snapshot",
    "taught tally",
    "baseline",
    "events",
    "incident",
    "judge",
    "verdicts",
    "consumer",
    "expects",
    "risk",
    "patterns rates documents",
    "diff _profiles",
    "profile",
    "_fold",
    "_place",
    "shape",
    "_walk",
    "_plan",
    "_observation maps _kinds evidence",
    "_speedups",
    "unwrap _shapes",
    "_text paths",
    "canonical _files",
    "_guard",
    "_classes",
    "errors",
)
"""Which rooms there are, top floor first. A room is a module of the package, or a folder of modules."""

FREE = "__init__"
"""The one room that may import anything: it lists the public names and imports them on first use."""

FLOOR = {room: -floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}

PURE = frozenset(
    (
        "canonical paths unwrap _shapes _kinds evidence maps _observation _plan _walk shape _place _fold profile "
        "_profiles diff patterns rates documents risk expects consumer verdicts judge incident events baseline taught "
        "tally snapshot learned live portable stream _settings"
    ).split()
)
WORLD = frozenset(
    "asyncio io logging os pathlib random secrets socket sqlite3 structlog subprocess tempfile threading time".split()
)
ALLOWED = {
    "_shapes": {"threading"},  # equal shapes are one object, and two threads may make it
    "_kinds": {"pathlib"},  # its types are kinds
    "baseline": {"os", "pathlib"},  # load and save
}


def faults(files: dict[str, str]) -> list[str]:
    """What is wrong with the imports of a package's files (path below the package -> source), a sentence for each.

    Lazy imports, those under TYPE_CHECKING and ``import_module`` with a literal count as well.
    """
    modules = {_module(path): source for path, source in files.items()}
    found: set[str] = set()
    for module, source in modules.items():
        room = module.partition(".")[0]
        if room not in FLOOR:
            found.add(f"{room} is not on the plan")
            continue
        for target in _imports(ast.parse(source), _package(module, modules)):
            found.add(_fault(module, _resolved(target, modules)))
    return sorted(found - {""})


def _module(path: str) -> str:
    """``stores/sql.py`` is ``stores.sql``, ``stores/__init__.py`` is ``stores``."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _package(module: str, modules: dict[str, str]) -> str:
    """The full name of the package in which a relative import of the module starts."""
    if module == "__init__":
        return "toolpulse"
    if any(other.startswith(f"{module}.") for other in modules):
        return f"toolpulse.{module}"
    return f"toolpulse.{module}".rpartition(".")[0]


def _imports(tree: ast.AST, package: str) -> set[str]:
    """Full dotted names of all that is imported, names taken from a module included."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and _name(node.func) in {"import_module", "__import__"}:
            names |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return names


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _resolved(target: str, modules: dict[str, str]) -> str:
    """The longest part of an own name that is a module, without ``toolpulse.``; the top module of a foreign one."""
    top, _, rest = target.partition(".")
    if top != "toolpulse":
        return f"/{top}"
    parts = rest.split(".") if rest else []
    while parts and ".".join(parts) not in modules and not (len(parts) == 1 and parts[0] in FLOOR):
        parts.pop()
    return ".".join(parts) or FREE


def _fault(module: str, target: str) -> str:
    """The sentence on one import, empty where it is allowed."""
    room, to = module.partition(".")[0], target.partition(".")[0]
    if target.startswith("/"):
        foreign = target[1:]
        outside = room in PURE and foreign in WORLD and foreign not in ALLOWED.get(room, ())
        return f"{room} imports {foreign}" if outside else ""
    if room == FREE or module == target or to not in FLOOR:  # a room off the plan has a sentence of its own
        return ""
    if room == to:
        return f"{module} imports {target}" if module == f"{room}.base" else ""
    return "" if FLOOR[to] < FLOOR[room] else f"{room} imports {to}"


def _package_files() -> dict[str, str]:
    package = ROOT / "toolpulse"
    return {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}


def test_imports_go_only_downwards():
    """The floors are what keeps the kernel callable without the world; a habit that nobody checks is lost."""
    files = _package_files()
    assert "_guard.py" in files
    assert faults(files) == []


def test_contributing_shows_the_floors():
    """A newcomer reads the floors in CONTRIBUTING.md, so they are the ones that are checked."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    block = re.search(r"<!-- floors -->\n```text\n(.*?)```", text, re.DOTALL)
    assert block
    assert tuple(" ".join(line.split()) for line in block[1].splitlines()) == FLOORS


def test_every_pure_room_is_on_the_plan():
    """A pure room that is renamed must not slip out of the check."""
    assert FLOOR.keys() >= PURE
    assert ALLOWED.keys() <= PURE


CLEAN = {
    "__init__.py": "def __getattr__(name):\n    from toolpulse.monitor import Monitor\n    return Monitor\n",
    "__main__.py": "from toolpulse.cli import main\n",
    "cli/__init__.py": "from toolpulse.cli import show\n",
    "cli/show.py": "from toolpulse import monitor\nfrom . import table\n",
    "cli/table.py": "import os\n",
    "monitor.py": "import threading\nfrom toolpulse.stores.sql import Sql\nfrom toolpulse.stores import Memory\n",
    "stores/__init__.py": "from toolpulse.stores.memory import Memory\n",
    "stores/base.py": "from toolpulse.events import DriftEvent\n",
    "stores/memory.py": "from .base import Store\nfrom ..errors import StoreError\n",
    "stores/sql.py": "import sqlite3\nfrom toolpulse.stores import base, memory\n",
    "events.py": "from datetime import datetime\nfrom toolpulse.risk import Risk\n",
    "risk.py": "from .diff import Change\n",
    "diff.py": "import toolpulse.shape\n",
    "shape.py": "from toolpulse import _shapes\nfrom toolpulse import _speedups\n",
    "_shapes.py": "import threading\n",
    "baseline.py": "from pathlib import Path\n",
    "errors.py": "",
    "_guard.py": "import logging\n",
}
"""A package as it should be, with every form of import that is allowed."""


def test_a_clean_package_has_no_faults():
    """Each allowed form of import stays allowed: downward, inside a folder, lazy, the clock outside pure rooms."""
    assert faults(CLEAN) == []


@pytest.mark.parametrize(
    ("path", "planted", "sentence"),
    [
        ("risk.py", "from toolpulse.stores.base import Store", "risk imports stores"),
        ("risk.py", "import toolpulse.stores.base", "risk imports stores"),
        ("risk.py", "from toolpulse import stores", "risk imports stores"),
        ("risk.py", "from . import stores", "risk imports stores"),
        ("risk.py", "from .stores import base", "risk imports stores"),
        ("risk.py", "def f():\n    from toolpulse.stores import Memory", "risk imports stores"),
        ("risk.py", "import importlib\nimportlib.import_module('toolpulse.stores')", "risk imports stores"),
        (
            "risk.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toolpulse.stores import Memory",
            "risk imports stores",
        ),
        ("risk.py", "from toolpulse import Monitor", "risk imports __init__"),
        ("risk.py", "import toolpulse", "risk imports __init__"),
        ("risk.py", "from toolpulse.gadget import x", "risk imports __init__"),
        ("diff.py", "import time", "diff imports time"),
        ("diff.py", "def f():\n    from os.path import join", "diff imports os"),
        ("diff.py", "import threading", "diff imports threading"),
        ("baseline.py", "import tempfile", "baseline imports tempfile"),
        ("errors.py", "from toolpulse._guard import Guard", "errors imports _guard"),
        ("sinks/logs.py", "from toolpulse.stores.base import Store", "sinks imports stores"),
        ("stores/sql.py", "from ..monitor import Monitor", "stores imports monitor"),
        ("stores/base.py", "from toolpulse.stores.memory import Memory", "stores.base imports stores.memory"),
        ("stores/base.py", "from . import memory", "stores.base imports stores.memory"),
        ("stores/base.py", "from toolpulse.stores import Memory", "stores.base imports stores"),
        ("gadget.py", "", "gadget is not on the plan"),
        ("gadget.py", "from toolpulse.monitor import Monitor", "gadget is not on the plan"),
        ("gadgets/small.py", "", "gadgets is not on the plan"),
    ],
)
def test_a_planted_fault_is_named(path, planted, sentence):
    """The check itself is checked: each way around the floors gives one sentence that names both rooms."""
    files = CLEAN | {path: f"{CLEAN.get(path, '')}{planted}\n"}
    assert faults(files) == [sentence]


def test_a_room_off_the_plan_is_named_once():
    """Who imports an unplanned room is no second fault: what has to change is the plan."""
    files = CLEAN | {"gadget.py": "", "risk.py": "from toolpulse.gadget import Gadget\n"}
    assert faults(files) == ["gadget is not on the plan"]
